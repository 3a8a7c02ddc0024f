"""DeepSpeed's ZeRO: ranks share the optimizer's state, with stage 2 gradients too, with stage 3 parameters too."""

import contextlib
import importlib.util
import itertools
import logging
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

from torch import Tensor, nn

from nccltool.train.strategies.deepspeed import Options
from nccltool.worker.rank import swap_files
from nccltool.worker.train import transformer
from nccltool.worker.train.arrivals import BETWEEN_PASSES
from nccltool.worker.train.strategies.base import CannotTrain, DataParallel, Setup

_REDUCE_OP = "deepspeed_shm_comm"
"""Its reduction in shared memory, which it would compile for a minute or two on a host without a GPU."""
_COMPILED_S = 900.0
"""How long it may compile async_io on first use: on two busy cores, that took more than 8 minutes."""
_LONGEST_REASON = 200
_MEETINGS = itertools.count()
"""Each engine of a run has a number, the same on all ranks."""


class Training(DataParallel):
    COLLECTIVES: ClassVar = {
        "forward": "all_gather of the parameters (stage 3)",
        "backward": "reduce or reduce_scatter of the gradients",
        "updating": "all_gather of the parameters",
        "comparing": "all_gather of the shards",
    }

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        spec = setup.spec
        if importlib.util.find_spec("deepspeed") is None:
            raise CannotTrain("DeepSpeed is not installed here (pip install 'nccltool[deepspeed]')", applies=False)
        if spec.dtype != "float32":
            raise CannotTrain(f"DeepSpeed has its own settings for -d {spec.dtype}; here it trains in float32")
        if spec.checkpoint:
            raise CannotTrain("it cannot be checkpointed here: DeepSpeed has its own format")
        self.model = self.whole_model()
        self.optimizer = self.sgd()
        self._see_where_it_is()
        self._swap = self._swap_folder(spec.of(Options).offload_dir)
        with _quiet():
            self._engine = self._made()
        if self._swap and not swap_files.has_files(self._swap):
            raise CannotTrain(
                "DeepSpeed writes no file to --offload-dir: each rank's part of this model is below 1 MiB; "
                "choose a larger --size or --width"
            )
        self._held: dict[str, nn.Parameter] | None = None
        self._has_gradients = False

    def _see_where_it_is(self) -> None:
        """Tell DeepSpeed its device, before anything imports it."""
        if self.setup.device.type != "cuda":
            os.environ.setdefault("DS_ACCELERATOR", "cpu")
        os.environ["LOCAL_RANK"] = str(self.setup.device.index or 0)  # which it takes for the number of the device

    def _swap_folder(self, user_folder: str | None) -> str:
        """A folder for the files of this rank, which is removed at the end of the run; empty = none was asked for.
        Raises CannotTrain on all ranks where one cannot write: the engine communicates when it is made."""
        if user_folder is None:
            return ""
        setup, folder, why = self.setup, "", None
        setup.slot.phase("building", allowance_s=_COMPILED_S)
        with contextlib.ExitStack() as until_all_have_room:
            try:
                with _quiet():
                    _load_async_io()
                folder = swap_files.made(user_folder, setup.tools.large_files, setup.rank)
                until_all_have_room.enter_context(swap_files.reserved(user_folder, folder, self._swapped_bytes()))
            except swap_files.CannotSwap as cannot:
                why = CannotTrain(str(cannot))
            failed, _ = setup.group.count_failed(f"offload/{next(_MEETINGS)}", why is not None, _COMPILED_S)
        setup.waiting("building")
        if failed:
            raise why or CannotTrain("")
        return folder

    def _swapped_bytes(self) -> int:
        """Of this rank, at most: its part of the parameters, of their gradients, and of the momentum."""
        parts: int = sum(-(-p.numel() // self.setup.world) * p.element_size() for p in self.model.parameters())
        return parts * (3 if self.setup.spec.momentum else 2)

    def _made(self) -> Any:
        import deepspeed

        logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
        deepspeed.ops.__compatible_ops__[_REDUCE_OP] = False
        engine, *_ = deepspeed.initialize(
            model=self.model, optimizer=self.optimizer, config=self._config(), dist_init_required=False
        )
        return engine

    def _config(self) -> dict[str, Any]:
        spec, options = self.setup.spec, self.setup.spec.of(Options)
        zero: dict[str, Any] = {"stage": options.zero, "memory_efficient_linear": False}
        if options.other_overlap:
            zero["overlap_comm"] = options.overlaps
        if options.bucket_numbers:
            zero |= dict.fromkeys(("reduce_bucket_size", "allgather_bucket_size"), options.bucket_numbers)
        if options.offload:
            zero["offload_optimizer"] = {"device": "cpu"}
            if options.zero == 3:
                zero["offload_param"] = {"device": "cpu"}
        if self._swap:  # not parameters: DeepSpeed would write them to files in bfloat16
            zero["offload_optimizer"] = {"device": "nvme", "nvme_path": self._swap}
        return {
            "train_micro_batch_size_per_gpu": spec.batch // self.accumulate,
            "gradient_accumulation_steps": self.accumulate,
            "gradient_clipping": spec.clip_norm or 0.0,
            "zero_optimization": zero,
            "zero_allow_untested_optimizer": True,  # plain SGD
            "zero_force_ds_cpu_optimizer": False,  # which would be Adam, and compiled first
            "steps_per_print": sys.maxsize,
        }

    def clear(self) -> None:
        """The engine does it after each update."""

    def forward_backward(self, tokens: Tensor) -> dict[int, Tensor]:
        """The engine counts micro-batches, and reduces in the last one's backward pass."""
        with _quiet():
            losses = super().forward_backward(tokens)
        self._held, self._has_gradients = None, True
        return losses

    def one_pass(self, tokens: Tensor, of: int = 1, is_last: bool = True) -> Tensor:
        setup = self.setup
        with setup.communicating("forward"):
            loss = transformer.loss_of(self._engine(tokens[:, :-1]), tokens[:, 1:])
        if is_last:
            setup.computing(BETWEEN_PASSES)
        with setup.communicating("backward"):
            self._engine.backward(loss)
            if not is_last:
                self._engine.step()  # which only counts
        return loss.detach()

    def update(self) -> None:
        """The engine clips too, and forgets the gradients."""
        with self.setup.communicating("updating"), _quiet():
            self._engine.step()
        if self._swap:
            swap_files.see_that_it_is_not_full(self._swap)
        self._held, self._has_gradients = None, False

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Copies, for which all ranks give what they hold."""
        if self._held is None:
            self._hold()
        yield from (self._held or {}).items()

    def _hold(self) -> None:
        from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_grad

        held = {}
        with self.setup.communicating("comparing"), _quiet():
            for name, parameter in self._engine.module.named_parameters():
                copy = nn.Parameter(safe_get_full_fp32_param(parameter).detach().clone())
                gradient = safe_get_full_grad(parameter) if self._has_gradients else None
                copy.grad = None if gradient is None else gradient.detach().clone().view_as(copy)
                held[name] = copy
        self._held = held


def _load_async_io() -> None:
    """Compile it on first use. Raises CannotSwap."""
    from deepspeed.ops.op_builder import AsyncIOBuilder

    builder = AsyncIOBuilder()
    try:
        builder.load(verbose=False)
    except Exception as error:  # whatever a compiler, a linker, or a full home folder makes of it
        reason = (str(error).splitlines() or [type(error).__name__])[0][:_LONGEST_REASON]
        if not builder.is_compatible():  # which needs a compiler: one that was compiled elsewhere does not
            reason = "a program with libaio cannot be compiled (install gcc and libaio-dev)"
        where = f"DeepSpeed's async_io cannot be loaded on {socket.gethostname()}"
        raise swap_files.CannotSwap(f"{where}: {reason}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """DeepSpeed prints to standard output, and calls torch by names that newer ones warn of."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        for category in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.simplefilter("ignore", category)
        yield
