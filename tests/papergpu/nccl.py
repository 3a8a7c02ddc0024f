"""A process group that is called nccl: calls are queued on the device, and Gloo does them there.

What cannot be done because a peer is gone is never done: NCCL's kernels spin, and its watchdog ends that.
"""

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor

from tests.papergpu import faults
from tests.papergpu.communicator import Communicator, Work
from tests.papergpu.driver import Driver
from tests.papergpu.gloo_calls import all_reduce, exchanged, reduce_scatter, wire, wires
from tests.papergpu.pace import begun_by_all, takes_ns
from tests.papergpu.streams import Executor, Point, Task
from tests.papergpu.tensors import put_on
from tests.papergpu.watchdog import Call, Watchdog

_GONE = ("Connection", "Broken pipe", "connection", "reset by peer", "Timed out")
_NEVER = threading.Event()


def _numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _called_by_torch_in_python() -> bool:
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals.get("__name__") == "torch.distributed.distributed_c10d"


class Device:
    """What all groups of a process share."""

    driver: ClassVar[Driver]
    watchdog: ClassVar[Watchdog]
    lost: ClassVar[faults.Loss | None] = None
    calls: ClassVar[int] = 0
    slow_s: ClassVar[float] = 0.0
    groups: ClassVar[int] = 0

    @classmethod
    def install(cls, driver: Driver) -> None:
        cls.driver = driver
        cls.watchdog = Watchdog(lambda: cls.lost.said if cls.lost else None)
        cls.slow_s = driver.machine.slow_call_s

    @classmethod
    def fault(cls) -> str | None:
        """What happens to the call that is about to be queued. Raises what that one raises."""
        number, cls.calls = cls.calls, cls.calls + 1
        rank = int(os.environ.get("RANK", "0"))
        found = next((one for one in cls.driver.machine.faults if (one.rank, one.call) == (rank, number)), None)
        if found is None:
            return None
        assert found.kind in faults.KINDS, found
        if found.kind in faults.RAISED:
            raise faults.RAISED[found.kind](cls.driver)
        if found.kind == "slow":
            cls.slow_s = found.seconds
            return None
        if found.kind in faults.LOSSES:
            loss = faults.LOSSES[found.kind](found, cls.driver)
            cls.lost, cls.driver.failed = loss, loss.raised
        return found.kind


@dataclass(frozen=True)
class Amount:
    """What a call moves."""

    op: str
    numel_in: int
    numel_out: int
    bytes: int
    """The size, as nccl-tests counts it: of the larger side."""
    is_of_all: bool
    """Whether every rank of the group makes this call."""


class _Coalesced:
    """Sends and receives between _start_coalescing and _end_coalescing."""

    def __init__(self) -> None:
        self.calls: list[tuple[bool, Tensor, int]] = []


class PaperNccl(dist.ProcessGroup):  # type: ignore[misc]
    """What torch makes when it is asked for nccl."""

    supports_coalescing = True
    supports_splitting = False

    class Options:
        """As far as torch sets them."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self._timeout = timedelta(minutes=10)
            self.global_ranks_in_group: list[int] = []
            self.group_name = ""

    def __init__(self, store: Any, rank: int, size: int, options: "PaperNccl.Options") -> None:
        super().__init__(rank, size)
        self._rank, self._size, self._store, self.options = rank, size, store, options
        self._number, Device.groups = Device.groups, Device.groups + 1
        self._name = ""
        self._sequence = 0
        self._main = Communicator(store, rank, size, Device.driver, options._timeout)
        self._pairs: dict[int, Communicator] = {}
        self._executors: dict[str, Executor] = {}
        self._batch: _Coalesced | None = None

    # what torch asks of a group

    def getBackendName(self) -> str:
        return "nccl"

    def name(self) -> str:
        return "nccl"

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def _set_group_name(self, name: str) -> None:
        self._name = name
        super()._set_group_name(name)

    @property
    def group_name(self) -> str:
        return self._name

    def _set_sequence_number_for_group(self) -> None:
        """They begin at 0."""

    def _get_backend(self, device: Any) -> "PaperNccl":
        return self

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self.options._timeout = timeout

    set_timeout = _set_default_timeout

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device("cuda")]

    def eager_connect_single_device(self, device: Any) -> None:
        assert self._main.gloo

    def abort(self) -> None:
        """Whatever waits ends with the process."""

    def shutdown(self) -> None:
        """The same."""

    # queueing

    def _executor(self, name: str) -> Executor:
        return self._executors.setdefault(name, Executor(f"nccl {self._name} {name}"))

    def _queued(
        self,
        op: str,
        does: Callable[[Any], Any],
        into: Sequence[Tensor],
        out_of: Sequence[Tensor],
        options: Any = None,
        comm: Communicator | None = None,
        lane: str = "all",
        is_of_all: bool = True,
    ) -> Work:
        """`does` gets Gloo's group in a thread of the device."""
        driver = Device.driver
        driver.checked(None)
        for tensor in (*into, *out_of):
            if not tensor.is_cuda:
                if _called_by_torch_in_python():
                    raise RuntimeError("No backend type associated with device type cpu")
                put_on(tensor, driver.current, driver)  # made inside of torch, where no mark is set
            if not tensor.is_contiguous():
                raise ValueError("Tensors must be contiguous")
        gloo = (comm or self._main).gloo
        is_async = bool(getattr(options, "asyncOp", True)) if options is not None else True
        amount = Amount(op, _numel(out_of), _numel(into), max(_bytes(out_of), _bytes(into)), is_of_all)

        def launch() -> Point:
            return self._launched(amount, does, gloo, is_async, lane)

        if driver.nodes is not None:
            driver.nodes.append(lambda: driver.stream().join(launch()))
            return Work(Point(time.perf_counter_ns()), list(into), driver)
        return Work(launch(), list(into), driver)

    def _launched(self, amount: Amount, does: Callable[[Any], Any], gloo: Any, is_async: bool, lane: str) -> Point:
        driver, point, fault = Device.driver, Point(), Device.fault()
        self._sequence += 1
        stream = driver.stream()
        if driver.machine.watchdog:
            Device.watchdog.add(self._call(amount, point))
        takes = takes_ns(amount.op, amount.bytes, self._size, driver.machine) if lane == "all" else None
        work = self._work(does, gloo, fault, takes, amount)
        self._executor(lane).put(stream.tail, work, point, at=0 if driver.machine.instant_launch else None)
        if not is_async:
            stream.tail = point
        return point

    def _call(self, amount: Amount, point: Point) -> Call:
        return Call(
            number=self._sequence,
            op=amount.op,
            numel_in=amount.numel_in,
            numel_out=amount.numel_out,
            group=f"{self._name or 0}({'default_pg' if not self._number else 'undefined'})",
            group_number=self._number,
            rank=self._rank,
            timeout_s=Device.driver.machine.watchdog_s or self.options._timeout.total_seconds(),
            done=point,
        )

    def _work(
        self, does: Callable[[Any], Any], gloo: Any, fault: str | None, takes_ns: int | None, amount: Amount
    ) -> Task:
        def work(begin: int) -> int | None:
            since, own = time.monotonic(), begin
            if fault == "hang":
                _NEVER.wait()
            if fault is not None:
                return None
            try:
                begin = begun_by_all(gloo, begin) if amount.is_of_all and takes_ns is not None else begin
                does(gloo)
            except RuntimeError as error:
                if any(word in str(error) for word in _GONE):
                    _NEVER.wait()
                _broken()
            except BaseException:  # noqa: BLE001
                _broken()
            time.sleep(max(0.0, Device.slow_s - (time.monotonic() - since)))
            if takes_ns is None:
                return None
            call = amount.op.lower()
            Device.driver.note(f"ncclDevKernel_{call}", own, begin + takes_ns, call)
            return begin + takes_ns

        return work

    # collectives

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.AllreduceOptions()
        return self._queued("ALLREDUCE", lambda gloo: all_reduce(gloo, tensors, opts), tensors, tensors, opts)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.AllreduceCoalescedOptions()

        def does(gloo: Any) -> None:
            for tensor in tensors:
                all_reduce(gloo, [tensor], opts)

        return self._queued("ALLREDUCE_COALESCED", does, tensors, tensors, opts)

    def broadcast(self, tensors: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.BroadcastOptions()
        return self._queued(
            "BROADCAST", lambda gloo: gloo.broadcast(wires(tensors), opts).wait(), tensors, tensors, opts
        )

    def reduce(self, tensors: list[Tensor], opts: Any) -> Work:
        def does(gloo: Any) -> None:
            copy = tensors[0].detach().clone()  # Gloo uses those of the other ranks for its sums
            plain = dist.AllreduceOptions()
            plain.reduceOp = opts.reduceOp
            all_reduce(gloo, [copy], plain)
            if self._rank == opts.rootRank:
                tensors[0].detach().copy_(copy)

        return self._queued("REDUCE", does, tensors, tensors, opts)

    def allgather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.AllgatherOptions()

        def does(gloo: Any) -> None:
            gloo.allgather([wires(outputs[0])], wires(inputs), opts).wait()

        return self._queued("ALLGATHER", does, outputs[0], inputs, opts)

    def allgather_coalesced(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.AllgatherOptions()

        def does(gloo: Any) -> None:
            for index, tensor in enumerate(inputs):
                gloo.allgather([wires(one[index] for one in outputs)], [wire(tensor)], opts).wait()

        return self._queued("COALESCED", does, [tensor for one in outputs for tensor in one], inputs, opts)

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        return self._gathered("_ALLGATHER_BASE", [output], [tensor], opts)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        return self._gathered("_ALLGATHER_BASE" if len(inputs) == 1 else "COALESCED", outputs, inputs, opts)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def _gathered(self, op: str, outputs: list[Tensor], inputs: list[Tensor], opts: Any) -> Work:
        opts = opts or dist.AllgatherOptions()

        def does(gloo: Any) -> None:
            for output, tensor in zip(outputs, inputs, strict=True):
                gloo._allgather_base(wire(output).view(-1), wire(tensor).reshape(-1), opts).wait()

        return self._queued(op, does, outputs, inputs, opts)

    def reduce_scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any = None) -> Work:
        opts = opts or dist.ReduceScatterOptions()

        def does(gloo: Any) -> None:
            together = torch.cat([tensor.detach().reshape(-1) for tensor in inputs[0]])
            reduce_scatter(gloo, outputs[0], together, opts)

        return self._queued("REDUCE_SCATTER", does, outputs, inputs[0], opts)

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        return self._scattered("_REDUCE_SCATTER_BASE", [output], [tensor], opts)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Work:
        return self._scattered("_REDUCE_SCATTER_BASE" if len(inputs) == 1 else "COALESCED", outputs, inputs, opts)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _scattered(self, op: str, outputs: list[Tensor], inputs: list[Tensor], opts: Any) -> Work:
        opts = opts or dist.ReduceScatterOptions()

        def does(gloo: Any) -> None:
            for output, tensor in zip(outputs, inputs, strict=True):
                reduce_scatter(gloo, output, tensor.detach().reshape(-1), opts)

        return self._queued(op, does, outputs, inputs, opts)

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, output_sizes: list[int], input_sizes: list[int], opts: Any = None
    ) -> Work:
        opts = opts or dist.AllToAllOptions()

        def does(gloo: Any) -> None:
            gloo.alltoall_base(wire(output), wire(tensor), output_sizes or [], input_sizes or [], opts).wait()

        return self._queued("ALLTOALL_BASE", does, [output], [tensor], opts)

    alltoall_base = all_to_all_single

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        opts = opts or dist.AllToAllOptions()
        return self._queued(
            "ALLTOALL",
            lambda gloo: gloo.alltoall(wires(outputs), wires(inputs), opts).wait(),
            outputs,
            inputs,
            opts,
        )

    def gather(self, outputs: list[list[Tensor]], inputs: list[Tensor], opts: Any) -> Work:
        def does(gloo: Any) -> None:
            gloo.gather([wires(one) for one in outputs], wires(inputs), opts).wait()

        return self._queued("GATHER", does, [tensor for one in outputs for tensor in one], inputs, opts)

    def scatter(self, outputs: list[Tensor], inputs: list[list[Tensor]], opts: Any) -> Work:
        def does(gloo: Any) -> None:
            gloo.scatter(wires(outputs), [wires(one) for one in inputs], opts).wait()

        return self._queued("SCATTER", does, outputs, [tensor for one in inputs for tensor in one], opts)

    def barrier(self, opts: Any = None) -> Work:
        """The host waits here."""
        tensor = torch.zeros(1, device=torch.device("cuda", Device.driver.current))
        work = self.allreduce([tensor])
        work._point.wait()
        return work

    # from one rank to another

    def send(self, tensors: list[Tensor], to: int, tag: int) -> Work | None:
        return self._between(True, tensors, to)

    def recv(self, tensors: list[Tensor], source: int, tag: int) -> Work | None:
        return self._between(False, tensors, source)

    def _between(self, is_send: bool, tensors: list[Tensor], peer: int) -> Work | None:
        if self._batch is not None:
            self._batch.calls.append((is_send, tensors[0], peer))
            return None
        low = min(self._rank, peer)
        mine, theirs = (0, 1) if self._rank == low else (1, 0)
        if peer not in self._pairs:
            store = dist.PrefixStore(f"pair/{low}:{max(self._rank, peer)}", self._store)
            self._pairs[peer] = Communicator(store, mine, 2, Device.driver, self.options._timeout)
        return self._queued(
            "SEND" if is_send else "RECV",
            lambda gloo: exchanged(gloo, [(is_send, tensors[0], theirs)]),
            [] if is_send else tensors,
            tensors if is_send else [],
            comm=self._pairs[peer],
            lane=f"{peer}",
            is_of_all=False,
        )

    def _start_coalescing(self, device: Any = None) -> None:
        self._batch = _Coalesced()

    def _end_coalescing(self, device: Any = None) -> Work:
        assert self._batch is not None
        calls, self._batch = self._batch.calls, None
        into = [tensor for is_send, tensor, _ in calls if not is_send]
        out_of = [tensor for is_send, tensor, _ in calls if is_send]
        return self._queued("COALESCED", lambda gloo: exchanged(gloo, calls), into, out_of, is_of_all=False)


def _broken() -> None:
    """The paper GPU itself has a defect: nothing may look like a result."""
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(70)


def batch_isend_irecv(calls: list[Any], otherwise: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """torch groups these for its own class of group alone."""
    group = calls[0].group or dist.group.WORLD
    if not isinstance(group, PaperNccl):
        return otherwise(calls)
    group._start_coalescing()
    for call in calls:
        group._between(call.op is dist.isend, [call.tensor], call.group_peer)
    return [group._end_coalescing()]


def install(driver: Driver) -> None:
    """NCCL's group in torch.distributed."""
    module: Any = dist.distributed_c10d
    Device.install(driver)
    module.ProcessGroupNCCL = PaperNccl
    module._NCCL_AVAILABLE = True
    dist.ProcessGroupNCCL = PaperNccl
    for space in (dist, module):
        original = space.batch_isend_irecv
        space.batch_isend_irecv = lambda calls, original=original: batch_isend_irecv(calls, original)
