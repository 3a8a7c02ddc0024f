"""What DeepSpeed is told, and what is found out before it is asked; by a module of its name that only listens."""

import errno
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nccltool.train.job import TrainSpec
from nccltool.train.strategies.base import OptionValue
from nccltool.worker.train.strategies.base import CannotTrain, Setup
from nccltool.worker.train.strategies.deepspeed import Training

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

SPEC = TrainSpec(strategies=("deepspeed",), layers=1, width=16, context=8, vocabulary=32)
HERE = socket.gethostname()


class Listener:
    """In the place of DeepSpeed."""

    def __init__(self) -> None:
        self.zero: dict[str, Any] = {}
        self.has_libaio, self.writes = True, True
        self.load: Callable[[], object] = object

    def initialize(self, config: dict[str, Any], **_: Any) -> tuple[object]:
        self.zero = config["zero_optimization"]
        if self.writes and (path := self.zero.get("offload_optimizer", {}).get("nvme_path")):
            (Path(path) / "state.swp").write_bytes(b"0")
        return (self,)

    def step(self) -> None:
        """Of the engine."""

    def builder(self) -> Any:
        builder: Any = ModuleType("builder")
        builder.is_compatible, builder.load = lambda: self.has_libaio, lambda verbose: self.load()
        return builder


@pytest.fixture
def deepspeed(monkeypatch: pytest.MonkeyPatch) -> Listener:
    listener = Listener()
    whole: Any = ModuleType("deepspeed")
    whole.__spec__ = ModuleSpec("deepspeed", None)
    whole.initialize, whole.ops = listener.initialize, ModuleType("deepspeed.ops")
    whole.ops.__compatible_ops__ = {}
    builders: Any = ModuleType("deepspeed.ops.op_builder")
    builders.AsyncIOBuilder = listener.builder
    for module in (whole, whole.ops, builders):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("DS_ACCELERATOR", "LOCAL_RANK"):
        monkeypatch.setenv(name, "")
    return listener


@pytest.fixture
def name(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of the folder that the node gives to its ranks."""
    monkeypatch.setattr(setup.tools, "large_files", str(tmp_path / "nccltool-1"))
    yield tmp_path / "nccltool-1"
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "nccltool-1"])


def trained(setup: Setup, name: Path, **options: OptionValue) -> Training:
    own = {"zero": 3, "offload_dir": str(name.parent), **options}
    return Training(Setup("deepspeed", replace(SPEC, options=own), setup.tools))


@pytest.mark.parametrize(
    ("options", "in_memory"),
    [
        ({"zero": 1}, {"stage": 1}),
        ({"zero": 2, "offload": True}, {"stage": 2, "offload_optimizer": {"device": "cpu"}}),
        (
            {"zero": 3, "offload": True},
            {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}},
        ),
    ],
)
def test_state_in_memory(
    setup: Setup, deepspeed: Listener, name: Path, options: dict[str, OptionValue], in_memory: dict[str, Any]
) -> None:
    trained(setup, name, offload_dir=None, **options)
    assert deepspeed.zero == {"memory_efficient_linear": False, **in_memory}
    assert not name.exists()


@pytest.mark.parametrize("offload", [False, True])
def test_state_in_files_and_parameters_in_memory(
    setup: Setup, deepspeed: Listener, name: Path, offload: bool
) -> None:
    engines = [trained(setup, name, offload=offload) for _ in range(2)]
    (*_, path) = sorted(name.iterdir())
    assert len({engine._swap for engine in engines}) == 2  # --tune has several at once
    assert deepspeed.zero.pop("offload_optimizer") == {"device": "nvme", "nvme_path": engines[-1]._swap}
    assert deepspeed.zero == {
        "memory_efficient_linear": False,
        "stage": 3,
        **({"offload_param": {"device": "cpu"}} if offload else {}),
    }
    assert [file.name for file in path.iterdir()] == ["state.swp"]


def refused(setup: Setup, name: Path) -> str:
    with pytest.raises(CannotTrain) as error:
        trained(setup, name)
    assert error.value.applies
    return str(error.value)


def test_the_folder_is_missing_on_this_host(setup: Setup, deepspeed: Listener, name: Path) -> None:
    name.parent.rmdir()
    where = f"--offload-dir {name.parent} cannot be used on {HERE}"
    assert refused(setup, name) == f"{where}: No such file or directory"
    assert deepspeed.zero == {}
    name.parent.mkdir()


def test_there_is_no_room_for_the_state(
    setup: Setup, deepspeed: Listener, name: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 0))
    where = f"--offload-dir {name.parent} cannot be used on {HERE}"
    assert refused(setup, name) == f"{where}: No space left on device (1 MiB needed per rank)"
    assert deepspeed.zero == {}


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_room_is_asked_for_parameters_gradients_and_momentum(
    setup: Setup, deepspeed: Listener, name: Path, momentum: float
) -> None:
    training = trained(setup, name)
    training.setup.spec = replace(training.setup.spec, momentum=momentum)
    parameters = sum(one.numel() for one in training.model.parameters())
    assert training._swapped_bytes() == (12 if momentum else 8) * parameters


def test_libaio_is_not_installed(setup: Setup, deepspeed: Listener, name: Path) -> None:
    deepspeed.has_libaio = False
    trained(setup, name)  # it was compiled elsewhere

    def load() -> object:
        raise RuntimeError("Unable to JIT load the async_io op due to it not being compatible")

    deepspeed.load, deepspeed.zero = load, {}
    reason = "a program with libaio cannot be compiled (install gcc and libaio-dev)"
    assert refused(setup, name) == f"DeepSpeed's async_io cannot be loaded on {HERE}: {reason}"
    assert deepspeed.zero == {}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            RuntimeError("Error building extension 'async_io':\n[1/12] c++ -MMD"),
            "Error building extension 'async_io':",
        ),
        (RuntimeError(), "RuntimeError"),
        (
            OSError(errno.EROFS, "Read-only file system", "/root/.cache"),
            "[Errno 30] Read-only file system: '/root/.cache'",
        ),
    ],
)
def test_async_io_cannot_be_compiled(
    setup: Setup, deepspeed: Listener, name: Path, error: Exception, reason: str
) -> None:
    def load() -> object:
        raise error

    deepspeed.load = load
    assert refused(setup, name) == f"DeepSpeed's async_io cannot be loaded on {HERE}: {reason}"


def test_a_model_too_small_for_files_is_no_test_of_them(setup: Setup, deepspeed: Listener, name: Path) -> None:
    deepspeed.writes = False
    assert refused(setup, name) == (
        "DeepSpeed writes no file to --offload-dir: each rank's part of this model is below 1 MiB; "
        "choose a larger --size or --width"
    )


def test_others_fill_the_disk(
    setup: Setup, deepspeed: Listener, name: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = trained(setup, name)
    training.update()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**30, 2**30, 0))
    with pytest.raises(OSError, match="No space left on device"):
        training.update()
