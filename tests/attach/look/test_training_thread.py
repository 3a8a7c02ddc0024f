"""Which thread of a rank trains: stacks of workers of Ray Train 2.60, as py-spy shows them."""

import pytest

from nccltool.attach.look import training_thread
from nccltool.attach.seen.process import StackFrame, ThreadStack

_RAY = "/venv/lib/python3.11/site-packages/ray"
_RUNNER = f"{_RAY}/train/v2/_internal/execution/worker_group/thread_runner.py"
_THREAD = ("/usr/lib/python3.11/threading.py", "/usr/lib/python3.11/threading.py")
_MAIN = (f"{_RAY}/_private/worker.py", f"{_RAY}/_private/workers/default_worker.py")
_TRAINS = ("/srv/ray/job.py", f"{_RAY}/train/v2/_internal/util.py", _RUNNER, *_THREAD)
_REPORTS = (f"{_RAY}/train/v2/api/train_fn_utils.py", *_TRAINS)
_IN_TORCH = ("/venv/lib/python3.11/site-packages/torch/autograd/graph.py", *_TRAINS)
_MONITORS = (_RUNNER, *_THREAD)
_COLLECTS = ("/usr/lib/python3.11/threading.py", f"{_RAY}/_private/gc_collect_manager.py", *_THREAD)
_OF_USER = ("/srv/job/log.py", *_THREAD)


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        ((_MAIN, _COLLECTS, _MONITORS, _TRAINS), 3),
        ((_MAIN, _REPORTS, _COLLECTS), 1),
        ((_MAIN, _IN_TORCH, _OF_USER), 1),
        ((_MAIN, _COLLECTS), None),
        ((_MAIN, _MONITORS), None),
        ((_MAIN, _OF_USER), None),
        ((_MAIN, _TRAINS, _TRAINS), None),
        ((("/srv/job/train.py", *_MAIN), _OF_USER), 0),
        ((("/srv/job/train.py",), _TRAINS), 0),
        (((), _TRAINS), 0),
    ],
    ids=[
        *("trains", "reports", "calls torch", "not begun", "has returned", "thread of the user"),
        *("two", "an actor's own code", "not a worker", "no frames"),
    ],
)
def test_it_is_the_thread_that_ray_train_starts(
    threads: tuple[tuple[str, ...], ...], expected: int | None
) -> None:
    stacks = [
        ThreadStack(pid=1, name=f"{number}", frames=tuple(StackFrame(name="f", file=file) for file in files))
        for number, files in enumerate(threads)
    ]
    found = training_thread.chosen(stacks, stacks[0])
    assert found is (None if expected is None else stacks[expected])


def test_without_a_main_thread_none_is_known() -> None:
    assert training_thread.chosen([], None) is None
