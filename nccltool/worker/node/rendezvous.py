"""How node agents find each other: a torch elastic rendezvous of fixed membership on the bus of the run.

torchrun's own c10d rendezvous compares wall clocks: a node whose clock is some 15 s behind is dropped
without a word, and the others measure a smaller world. Here the nodes are numbered and counted; no clock is
read, nobody polls, and who is missing has a name. The bus is also the one that ranks use afterwards, so
one port is enough.
"""

import contextlib
import json
import socket
import time
from dataclasses import dataclass
from datetime import timedelta

from torch.distributed import DistError, DistStoreError, PrefixStore, Store, TCPStore
from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousInfo, RendezvousStoreInfo

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.launch.finding_kinds import NODE_MISSING, NODE_RANK_TWICE, RDZV_SECRET, RDZV_UNREACHABLE
from nccltool.launch.inside import RankPlace
from nccltool.launch.job import Job, node_name
from nccltool.worker.bus import store
from nccltool.worker.bus.client import RETRY_S, BusAddress, SecretDiffers
from nccltool.worker.bus.seal import RunSecret

BACKEND = "nccltool"
CONNECTION_ERRORS = (DistError, DistStoreError, RuntimeError, OSError)
_NAME_S = 1.0
"""A node takes its number in the store, and says a moment later who it is."""
_SHOWN = 8
"""Nodes in a sentence."""


@dataclass(frozen=True, slots=True)
class HostedStore:
    """The store of a torchrun agent. It authenticates nobody."""

    host: str
    port: int


StoreAddress = BusAddress | HostedStore


class CannotStart(Exception):
    """The nodes do not meet; says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def secret_of(job: Job) -> RunSecret:
    """The secret, for this run only. Commands that were started one by one do not know each other's run id."""
    return RunSecret(bytes.fromhex(job.secret), job.run_id if job.is_of_one_command else "joined")


def of_place(job: Job, place: RankPlace) -> StoreAddress:
    """Where a rank finds the store."""
    if place.store_is_hosted and not job.node_ranks:
        return HostedStore(place.store_host, place.store_port)
    return BusAddress(place.store_host, place.store_port, secret_of(job))


def connect(address: StoreAddress, timeout_s: float) -> Store:
    """A client of the store; retries until the time is up. Raises what CONNECTION_ERRORS has."""
    if isinstance(address, BusAddress):
        return store.connect(address, timeout_s)
    _await_listener(address, timeout_s)
    timeout = timedelta(seconds=timeout_s)
    return TCPStore(address.host, address.port, is_master=False, wait_for_workers=False, timeout=timeout)


def _await_listener(address: HostedStore, timeout_s: float) -> None:
    """TCPStore's own retries come ever later, so that it could miss much of a run. Raises OSError."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            left = max(end - time.monotonic(), RETRY_S)
            socket.create_connection((address.host, address.port), timeout=left).close()
        except OSError:
            if time.monotonic() > end - RETRY_S:
                raise
            time.sleep(RETRY_S)
        else:
            return


def secret_differs(address: StoreAddress, error: SecretDiffers) -> Finding:
    """The finding for a node 0 that another secret opens."""
    return RDZV_SECRET.finding(
        subject=Subject(kind="host", name=socket.gethostname()),
        message=f"{socket.gethostname()} and node 0 at {address.host}:{address.port} have different secrets",
        evidence=(f"at {address.host}:{address.port}: {error}",),
        remedy="give every command the same --rdzv-secret-file; check that no other run uses this port",
    )


class FixedRendezvous(RendezvousHandler):
    """Meets exactly `nodes` numbered nodes in the store."""

    def __init__(self, address: BusAddress, node_rank: int, nodes: int, run_id: str, timeout_s: float) -> None:
        self._address, self._node_rank, self._nodes = address, node_rank, nodes
        self._run_id, self._timeout_s = run_id, timeout_s

    def get_backend(self) -> str:
        return BACKEND

    @property
    def use_agent_store(self) -> bool:
        """Ranks may use the store too."""
        return True

    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for all nodes. Raises CannotStart."""
        store = self._connect()
        me = json.dumps({"host": socket.gethostname()})  # other versions of nccltool read it
        if store.add(f"nodes/claimed/{self._node_rank}", 1) > 1:
            raise CannotStart(self._twice(store))
        store.set(f"nodes/{self._node_rank}", me)
        everyone = [f"nodes/{node}" for node in range(self._nodes)]
        try:
            store.wait(everyone, timedelta(seconds=self._timeout_s))
        except CONNECTION_ERRORS as error:
            raise CannotStart(self._missing(store)) from error
        agents = PrefixStore("agents", store)
        info = RendezvousStoreInfo(self._address.host, self._address.port)
        return RendezvousInfo(agents, self._node_rank, self._nodes, info)

    def _connect(self) -> PrefixStore:
        try:
            return PrefixStore(f"nccltool/{self._run_id}", connect(self._address, self._timeout_s))
        except SecretDiffers as error:
            raise CannotStart(secret_differs(self._address, error)) from error
        except CONNECTION_ERRORS as error:
            where = f"{self._address.host}:{self._address.port}"
            raise CannotStart(
                RDZV_UNREACHABLE.finding(
                    subject=Subject(kind="host", name=self._address.host),
                    message=f"node {self._node_rank} ({socket.gethostname()}) got no answer at {where}",
                    evidence=(str(error).splitlines()[0][:300],),
                    remedy="start node 0 there; check the name, the port, and the firewall",
                )
            ) from error

    def _missing(self, store: PrefixStore) -> Finding:
        there = {node: store.check([f"nodes/{node}"]) for node in range(self._nodes)}
        absent = [node for node, came in there.items() if not came]
        hosts = [json.loads(store.get(f"nodes/{node}"))["host"] for node, came in there.items() if came]
        names = named(map(str, absent), _SHOWN)
        return NODE_MISSING.finding(
            subject=Subject(kind="host", name=node_name(absent[0]) if absent else "node ?"),
            message=f"node{'s' if len(absent) > 1 else ''} {names} of {self._nodes} did not join within "
            f"{self._timeout_s:.0f} s",
            evidence=(f"joined: {named(hosts, _SHOWN)}",),
            remedy="start the same command there with its own --node-rank; to wait longer, raise --join-timeout",
        )

    def _twice(self, store: PrefixStore) -> Finding:
        key = f"nodes/{self._node_rank}"
        with contextlib.suppress(*CONNECTION_ERRORS):
            store.wait([key], timedelta(seconds=_NAME_S))
        other = json.loads(store.get(key))["host"] if store.check([key]) else "another host"
        return NODE_RANK_TWICE.finding(
            subject=Subject(kind="host", name=socket.gethostname()),
            message=f"two nodes have --node-rank {self._node_rank}: {other} and {socket.gethostname()}",
            remedy="give every node its own --node-rank, starting at 0",
        )

    def is_closed(self) -> bool:
        """Never: there is one rendezvous in a run."""
        return False

    def set_closed(self) -> None:
        """Nothing to close."""

    def num_nodes_waiting(self) -> int:
        """Nobody can join later."""
        return 0

    def get_run_id(self) -> str:
        return self._run_id

    def shutdown(self) -> bool:
        """Nothing is held."""
        return True
