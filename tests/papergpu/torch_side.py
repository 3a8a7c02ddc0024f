"""torch is made to believe in GPUs when it has been imported, and torch.distributed in NCCL."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tests.papergpu.machine import PaperMachine


class _After(importlib.abc.MetaPathFinder):
    """Calls something when a module has been executed for the first time."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name, self._call = name, call

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        loader: Any = spec.loader
        executed = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            executed(module)
            self._call()

        loader.exec_module = exec_module
        return spec


def after_import(name: str, call: Callable[[], None]) -> None:
    sys.meta_path.insert(0, _After(name, call))


def install(machine: PaperMachine) -> None:
    """Nothing for a machine whose torch is one for CPUs."""
    if machine.torch_usable is False:
        return

    def torch_is_here() -> None:
        from tests.papergpu import cuda, profiler, several, tensors
        from tests.papergpu.driver import Driver

        driver = Driver(machine)
        cuda.install(driver)
        tensors.install(driver)
        profiler.install(driver)
        several.install()

        def distributed_is_here() -> None:
            from tests.papergpu import nccl

            nccl.install(driver)

        after_import("torch.distributed.fsdp._init_utils", lambda: cuda.patch_fsdp1(driver))
        if "torch.distributed" in sys.modules:
            distributed_is_here()
        else:
            after_import("torch.distributed", distributed_is_here)

    if "torch" in sys.modules:
        torch_is_here()
    else:
        after_import("torch", torch_is_here)
