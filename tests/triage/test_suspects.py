"""Whom the lines of a cause name where the cause finds nobody."""

import pytest

from nccltool.triage import suspects
from nccltool.triage.causes.base import Clue, Clues
from nccltool.triage.incident import Offender
from nccltool.triage.logs.base import LogEvent
from tests.triage.test_judge import diagnosis, timeline_of

LINES = [
    (
        "fd-limit",
        "OSError: [Errno 24] Too many open files: '/tmp/pymp-x0a91kcd'",
        ("limit", "Too many open files"),
    ),
    ("ib-memlock", "Please set max locked memory (ulimit -l) to 'unlimited'", ("limit", "ulimit -l")),
    ("fd-limit", "accept4: 10.24.112.105:2584: too many open files", ("address", "10.24.112.105:2584")),
    (
        "version-mismatch",
        "ImportError: /opt/lib/python3/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        ("library", "libtorch_cuda.so"),
    ),
    ("slow-path", "NET/IB : Using [0]mlx5_bond_1:1/RoCE", ("device", "mlx5_bond_1")),
    ("ib-link", "mlx5_core 0000:18:00.0: link down", None),
    ("out-of-memory", "Warning Evicted node/gke-n1-7lpz the node was low on memory", ("host", "gke-n1-7lpz")),
    ("gpu-fault", "failed on device ordinal 3", ("gpu", "3")),
    ("app-error", "rank 3 raised", None),
]


@pytest.mark.parametrize(("label", "text", "name"), LINES)
def test_the_strongest_line_names_somebody(label: str, text: str, name: tuple[str, str] | None) -> None:
    event = LogEvent(kind="k", role="failure", text=text, file="log0", line=1)
    found = suspects.named(label, timeline_of("a line\n"), Clues([Clue(0.9, "", event)]))
    assert found == (Offender(*name) if name else None)


def test_the_only_host_of_a_log_is_named_and_no_host_of_several() -> None:
    line = "h{}:10:20 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    one, two = timeline_of(line.format(1)), timeline_of(line.format(1) + line.format(2))
    assert suspects.named("topology", one, Clues()) == Offender("host", "h1")
    assert suspects.named("topology", two, Clues()) is None
    assert suspects.named("app-error", one, Clues()) is None


@pytest.mark.parametrize(
    "line",
    [
        "Node:\t\tgke-pool-7f1c/10.0.0.3\n",
        "Exec host:  gke-pool-7f1c/5\n",
        "[root@gke-pool-7f1c ~]# kubectl logs train-0\n",
        "user@gke-pool-7f1c:~/work$ python train.py\n",
    ],
)
def test_the_host_that_a_tool_or_a_prompt_shows_is_the_only_one(line: str) -> None:
    assert suspects.named("preempted", timeline_of(line), Clues()) == Offender("host", "gke-pool-7f1c")


@pytest.mark.parametrize(
    ("label", "lines", "name"),
    [
        ("gpu-fault", ["alert gpu_smi_unhealthy node=b200-n07 gpu=6"], ("host", "b200-n07")),
        ("env-invalid", ["cannot read NCCL_BUFFSIZE = 4M"], ("variable", "NCCL_BUFFSIZE")),
        ("net-interface", ["no address on ens5f0"], ("interface", "ens5f0")),
        ("data-corruption", ["rank 3 has other weights"], ("rank", "3")),
        ("data-corruption", ["rank 3 has other weights", "rank 4 has other weights"], None),
        ("gpu-fault", ["a GPU is gone"], None),
    ],
)
def test_what_the_lines_of_a_cause_mention_is_told_where_it_is_one(
    label: str, lines: list[str], name: tuple[str, str] | None
) -> None:
    events = [
        LogEvent(kind="log.complaint", role="doubt", text=text, file="a.log", line=number)
        for number, text in enumerate(lines, 1)
    ]
    clues = Clues(Clue(0.4, "", event) for event in events)
    assert suspects.mentioned(label, timeline_of("a line\n"), clues) == (Offender(*name) if name else None)


MEMORY = "[rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("".join(MEMORY.format(rank) for rank in (5, 2, 5)), ["5", "2"]),
        (MEMORY.format(1), ["1"]),
        ("".join(MEMORY.format(rank) for rank in range(9)), ["0"]),  # of so many, none stands out
        ("[rank1]: KeyError: 'a'\n[rank2]: KeyError: 'a'\n", ["1"]),
    ],
)
def test_all_of_whom_the_log_says_the_same_are_suspects(log: str, names: list[str]) -> None:
    found = diagnosis(log)
    assert [one.name for one in found.suspects] == names
    assert found.offender == found.suspects[0]


def test_where_nobody_is_named_ranks_meet_at_the_endpoint() -> None:
    for told in (
        "INFO:torch.distributed.elastic.rendezvous: endpoint m-0:29400, min_nodes 2\n",
        "MASTER_ADDR=m-0 sh a.sh\n",
    ):
        found = diagnosis(told + "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n")
        assert (found.root_cause, found.offender) == ("rdzv-store", Offender("host", "m-0"))


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("slurmstepd: error: *** STEP 7.0 ON h1 CANCELLED AT 2026-01-01T01:00:00 DUE TO TIME LIMIT ***\n", "7"),
        (
            "h1:1:2 [0] NCCL INFO NET/Plugin: Failed to find ncclNet_v11 symbol in /opt/gib/libnccl-net.so\n"
            "h1:1:2 [0] plugin/net.cc:360 NCCL WARN Failed to initialize any NET plugin\n",
            "/opt/gib/libnccl-net.so",
        ),
        (
            "ray.exceptions.RayTaskError(ValueError): ray::Runner.run() (pid=11, ip=10.0.0.1)\n"
            "ray.exceptions.RayTaskError(ValueError): ray::Worker.step() (pid=12, ip=10.0.0.1)\n"
            "ValueError: no such group\n",
            "12",
        ),
        (
            "[W509 07:20:14.881 socket.cpp:767] [c10d] The IPv6 network addresses of (10.0.0.4 10.0.0.4, 29500)"
            " cannot be retrieved (gai error: -2 - Name or service not known).\n"
            "[rank8]: torch.distributed.DistNetworkError: The client socket has failed to connect to any network"
            " address of (10.0.0.4 10.0.0.4, 29500).\n",
            "10.0.0.4 10.0.0.4",
        ),
    ],
)
def test_the_suspect_is_what_failed_and_not_who_told_it(log: str, name: str) -> None:
    found = diagnosis(log)
    assert found.offender and found.offender.name == name
