"""What py-spy prints."""

import json

import pytest

from nccltool.attach.look import pyspy_output
from nccltool.attach.seen.process import StackFrame, ThreadStack

_FRAME = {
    "name": "all_reduce",
    "filename": "/venv/torch/distributed/distributed_c10d.py",
    "module": None,
    "short_filename": "distributed_c10d.py",
    "line": 3252,
    "locals": None,
    "is_entry": False,
    "is_shim_entry": True,
}
_NATIVE = {"name": "pthread_cond_wait", "filename": "", "module": "/lib/libc.so.6", "line": 0}
_TEXT = json.dumps(
    [
        {"pid": 7, "thread_id": 1, "thread_name": "loader", "os_thread_id": 8, "frames": [], "active": True},
        {
            "pid": 7,
            "thread_id": 2,
            "thread_name": None,
            "os_thread_id": 7,
            "owns_gil": False,
            "frames": [_NATIVE, _FRAME],
        },
    ]
)


def test_the_main_thread_is_first() -> None:
    main, other = pyspy_output.stacks(_TEXT, 7)
    assert main == ThreadStack(
        pid=7,
        name="",
        os_thread_id=7,
        trains=True,
        owns_gil=False,
        frames=(
            StackFrame(name="pthread_cond_wait", file="/lib/libc.so.6"),
            StackFrame(name="all_reduce", file="/venv/torch/distributed/distributed_c10d.py", line=3252),
        ),
    )
    assert (other.name, other.trains, other.active) == ("loader", False, True)


def test_in_a_pid_namespace_the_thread_has_its_inner_number() -> None:
    assert [one.trains for one in pyspy_output.stacks(_TEXT, 4711, (4711, 8))] == [True, False]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"frames": [{"name": 3}]}]', "Error: no such process"])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        pyspy_output.stacks(text, 7)
