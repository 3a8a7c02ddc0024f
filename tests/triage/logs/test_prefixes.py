"""What launchers put before a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.logs.prefixes import line, time_of, unlabelled


@pytest.mark.parametrize(
    ("text", "message", "known"),
    [
        ("[1,3]<stdout>:n1:7:7 [0] NCCL INFO x", "n1:7:7 [0] NCCL INFO x", {"rank": 3}),
        (" 7: n1:7:7 [0] NCCL INFO x", "n1:7:7 [0] NCCL INFO x", {"task": 7}),
        ("[default3]:[E ProcessGroupNCCL.cpp:1] x", "[E ProcessGroupNCCL.cpp:1] x", {}),
        ("[rank12]:[E418 09:42:11.6 P.cpp:6] x", "[E418 09:42:11.6 P.cpp:6] x", {"rank": 12}),
        ("[rank12]: Traceback", "Traceback", {"rank": 12}),
        ("rank 2: done", "done", {"rank": 2}),
        ("[pod/w-0/main] hello", "hello", {"host": "w-0"}),
        ("trainer-1 | hello", "hello", {"host": "trainer-1"}),
        ("vllm-head  | (Worker_TP0 pid=9) hello", "hello", {"host": "vllm-head", "rank": 0, "pid": 9}),
        ("train-loss | 2.31", "train-loss | 2.31", {}),
        ("(Worker_TP5 pid=31205) hello", "hello", {"pid": 31205, "rank": 5}),
        ("(VllmWorker rank=3 pid=77) hello", "hello", {"pid": 77, "rank": 3}),
        ("(Worker_DP1_TP0 pid=77) hello", "hello", {"pid": 77}),
        ("[2026-09-05 21:14:20 TP24] hello", "hello", {"rank": 24}),
        ("[2026-09-05 21:14:20 DP1 TP0] hello", "[2026-09-05 21:14:20 DP1 TP0] hello", {}),
        ("(RayActor pid=12, ip=10.0.0.3) hello", "hello", {"pid": 12, "address": "10.0.0.3"}),
        ("n3: hello", "hello", {"host": "n3"}),
        ("2024-11-22T10:00:00.5Z stdout F hello", "hello", {}),
        ("(W_TP0 pid=9) ERROR 05-06 17:21:36 [executor.py:8] Traceback", "Traceback", {"pid": 9}),
        ("1: [rank9]:[W1015 x", "[W1015 x", {"task": 1, "rank": 9}),
        ("Mar 03 11:11:11 epyc3 kernel: oops", "kernel: oops", {"host": "epyc3"}),
        ("mlx5_0: not a host", "mlx5_0: not a host", {}),
        ("node-b: [rank4]: OSError: gone", "OSError: gone", {"host": "node-b", "rank": 4}),
        ("2025-10-11 09:52:28.380 ERROR:    OSError: full", "OSError: full", {}),
        ('2025-10-31 03:11:02,477 - Tuner - INFO - [rank0]:   File "a.py"', '  File "a.py"', {"rank": 0}),
        ("2025-10-31 03:11:02,477 - Tuner - INFO - step 3", "2025-10-31 03:11:02,477 - Tuner - INFO - step 3", {}),
        ("E1016 17:14:42.006647171   33721 tcp_server.cc:213]    Failed", "Failed", {"pid": 33721}),
        ("    134217728   33554432   float", "    134217728   33554432   float", {}),
    ],
)
def test_the_message_and_who_wrote_it(text: str, message: str, known: dict[str, object]) -> None:
    made = line("f", 1, text)
    assert made.text == message
    about = {"host": made.host, "rank": made.rank, "task": made.task, "pid": made.pid, "address": made.address}
    assert {name: value for name, value in about.items() if value is not None} == known


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("[rank 3/16] ", {"rank": 3}),
        ("(rank=3) ", {"rank": 3}),
        ("rank=13 ", {"rank": 13}),
        ("[global rank 3] ", {"rank": 3}),
        ("[2026-11-25 02:11:09,123][train][ERROR][rank3] - ", {"rank": 3}),
        ("[2026-11-25 02:11:09] [rank 3] ", {"rank": 3}),
        ("2026-11-25 02:11:09,123 - ERROR - rank 3 - ", {"rank": 3}),
        ("2026-11-25 02:11:09 | ERROR | rank3 | train:main:12 - ", {"rank": 3}),
        ("[NeMo E 2026-11-25 02:11:09 nemo_logging:393 rank:3] ", {"rank": 3}),
        ("ERROR:root:[rank3] ", {"rank": 3}),
        ("(RayTrainWorker pid=4411, ip=10.0.3.12) [rank=11] ", {"rank": 11, "pid": 4411, "address": "10.0.3.12"}),
        ("[host=gpu-7 rank=11] ", {"host": "gpu-7", "rank": 11}),
        ("[gpu-7|rank3] ", {"host": "gpu-7", "rank": 3}),
        ("[rank3@gpu-7] ", {"host": "gpu-7", "rank": 3}),
        ("10.0.3.12: [rank11]: ", {"address": "10.0.3.12", "rank": 11}),
        ("[10.0.3.12] ", {"address": "10.0.3.12"}),
    ],
)
def test_names_of_ranks_and_hosts(before: str, known: dict[str, object]) -> None:
    made = line("f", 1, f"{before}OSError: gone")
    assert made.text == "OSError: gone"
    about = {"host": made.host, "rank": made.rank, "pid": made.pid, "address": made.address}
    assert {name: value for name, value in about.items() if value is not None} == known


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("2026-11-25T02:11:09.123456+00:00 gpu-7 kernel: x", "gpu-7"),
        ("Nov 25 02:11:09 gpu-7 torchrun[44]: x", "gpu-7"),
        ("2026-11-25T02:11:09.5Z stderr F hello", None),
        ("rank 3 is late", None),
        ("[rank 3 of gpu-7] hello", None),
    ],
)
def test_the_host_of_a_line_of_a_system(text: str, host: str | None) -> None:
    assert line("f", 1, text).host == host


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[2025-08-04 02:17:33] n:1:1 x", "2025-08-04 02:17:33"),
        ("[2025-04-18 07:24:31,011] x", "2025-04-18 07:24:31.011"),
        ("2025-03-14T02:11:09Z x", "2025-03-14 02:11:09"),
        ("[rank9]:[E418 09:42:11.650547221 P.cpp] x", "04-18 09:42:11.650547221"),
        ("W0903 07:21:33.904000 51133 torch/x.py:1] x", "09-03 07:21:33.904000"),
        ("[E1102 03:44:10.067788136 P.cpp] x", "11-02 03:44:10.067788136"),
        ("[Wed Feb 12 07:45:19 2025] oom", "2025-02-12 07:45:19"),
        ("Mar  3 11:11:11 h kernel: x", "03-03 11:11:11"),
        ("06/21/2025 06:58:10 - INFO", "2025-06-21 06:58:10"),
        ("INFO 04-02 19:21:50 [x.py:1]", "04-02 19:21:50"),
        ("nothing at 5 o'clock", None),
    ],
)
def test_the_time_of_a_line(text: str, expected: str | None) -> None:
    assert time_of(text) == expected


@given(st.text(max_size=200))
def test_labels_are_cut_and_nothing_is_lost(text: str) -> None:
    message, parts = unlabelled(text)
    assert text.endswith(message)
    assert all(part in text.removesuffix(message) for part in parts.values())


def test_a_rank_of_thousands_of_digits_is_none() -> None:
    assert line("log", 1, f"[rank {'9' * 5000}] step 1 loss 2.0").rank is None
    assert line("log", 1, "[rank 9] step 1 loss 2.0").rank == 9
