"""Tensors on a device that is not there: their numbers are in the memory of the host, a mark says where they are.

The mark is on the storage, so views, gradients and parameters of the same memory have it too.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.papergpu.driver import Driver

_CPU = torch.device("cpu")
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_MARK = "_paper_device"
_INNER = ("_local_tensor", "elem")
"""Where subclasses keep the tensor that they are about."""
_QUEUED = ("c10d::", "_c10d_functional::wait_tensor", "_c10d_functional_autograd::wait_tensor")
"""What does not compute on the host, but is queued."""
_ALLOCATING = ("aten::empty", "aten::new_empty", "aten::detach", "aten::alias", "aten::lift_fresh", "aten::set_")
_READING = ("aten::_local_scalar_dense", "aten::equal")
"""What tells the host a number."""
_device_of = torch._C.TensorBase.device
_to = torch._C.TensorBase.to


def mark_of(tensor: Any) -> int | None:
    """The device that a tensor is on; None = the host."""
    try:
        mark: int | None = getattr(tensor.untyped_storage(), _MARK, None)
    except (RuntimeError, NotImplementedError):  # one without a storage
        return None
    return mark


def put_on(tensor: torch.Tensor, index: int | None, driver: Driver) -> None:
    """Say where the memory of a tensor is, and count it there."""
    try:
        storage = tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return
    if getattr(storage, _MARK, None) == index:
        return
    if index is not None and (size := storage.nbytes()):
        driver.allocate(index, size)
        weakref.finalize(storage, driver.release, index, size)
    setattr(storage, _MARK, index)


class _Trait:
    """What is to be done for one operator."""

    __slots__ = ("computes", "reads")

    def __init__(self, operator: Any) -> None:
        name = operator._schema.name
        self.computes = not (operator.is_view or name.startswith((*_QUEUED, *_ALLOCATING)))
        self.reads = name in _READING


class Mode(TorchDispatchMode):  # type: ignore[misc]
    """Each operator: devices become the host's, results are marked; what is queued is done before it computes."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else each rank imports a compiler, a second of it."""
        return False

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver
        self._traits: dict[Any, _Trait] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(each not in _PLAIN for each in types):  # a subclass takes itself apart, and its parts come here
            is_fake = any(each.__name__ == "FakeTensor" for each in types)  # shapes alone, of no device
            return func(*args, **(kwargs or {})) if is_fake else NotImplemented
        kwargs, driver = dict(kwargs or {}), self._driver
        trait = self._traits.get(func) or self._traits.setdefault(func, _Trait(func))
        where, told = None, kwargs.get("device")
        if told is not None and told.type == "cuda":
            where, kwargs["device"] = driver.checked(told.index), _CPU
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if where is None and (told is None or func._schema.is_mutable):
            where = _first_mark(args)
        if trait.computes and where is not None:
            if driver.nodes is not None:
                return self._captured(func, args, kwargs, where)
            driver.pass_by() if trait.reads else driver.drain()
        elif trait.computes and driver.initialised and _first_mark(args) is not None:
            driver.pass_by()  # a copy to the host
        result = self._marked(func(*args, **kwargs), where)
        if trait.computes and where is not None:
            driver.launch(str(func))  # only now: what it takes here is the launch
        return result

    def _marked(self, result: Any, where: int | None) -> Any:
        if where is None:
            return result
        if isinstance(result, torch.Tensor):
            put_on(result, where, self._driver)
        elif isinstance(result, (list, tuple)):
            for each in result:
                if isinstance(each, torch.Tensor):
                    put_on(each, where, self._driver)
        return result

    def _captured(self, func: Any, args: Any, kwargs: Any, where: int) -> Any:
        """Done once for its result, and at each replay into the same memory."""
        result = self._marked(func(*args, **kwargs), where)
        assert self._driver.nodes is not None

        def again(begin: int) -> None:
            new = func(*args, **kwargs)
            if isinstance(new, torch.Tensor) and new.data_ptr() != result.data_ptr():
                result.copy_(new)

        self._driver.nodes.append(lambda: self._driver.stream().put(again))
        return result


def _first_mark(args: Any) -> int | None:
    for each in args:
        mark = None
        if isinstance(each, torch.Tensor):
            mark = mark_of(each)
        elif isinstance(each, (list, tuple)) and each and isinstance(each[0], torch.Tensor):
            mark = _first_mark(each)
        if mark is not None:
            return mark
    return None


def _inner(tensor: Any) -> Any:
    if type(tensor) in _PLAIN:
        return None
    return next((getattr(tensor, name) for name in _INNER if hasattr(tensor, name)), None)


def device_of(tensor: Any) -> torch.device:
    """What a program is told."""
    real: torch.device = _device_of.__get__(tensor)
    if real.type != "cpu":
        return real
    inner = _inner(tensor)
    if inner is not None:
        return device_of(inner)
    mark = mark_of(tensor)
    return real if mark is None else torch.device("cuda", mark)


def install(driver: Driver) -> None:
    """What of torch.Tensor tells or changes a device."""
    tensor: Any = torch.Tensor
    tensor.device = property(device_of)
    tensor.is_cuda = property(lambda self: device_of(self).type == "cuda")
    tensor.is_cpu = property(lambda self: device_of(self).type == "cpu")
    tensor.get_device = lambda self: -1 if mark_of(self) is None else mark_of(self)
    tensor.to = _mover(driver)
    tensor.cpu = lambda self, **options: self.to("cpu", **options)
    tensor.cuda = lambda self, device=None, **options: self.to(_named(device), **options)
    tensor.pin_memory = lambda self, *_: self
    tensor.record_stream = lambda self, stream: None
    for name in ("tolist", "numpy", "__array__"):
        setattr(tensor, name, _after_all(getattr(torch.Tensor, name), driver))
    tensor._make_wrapper_subclass = _wrapper_of(torch.Tensor._make_wrapper_subclass)
    module: Any = torch
    for name in ("tensor", "as_tensor"):
        numbered = _numbered(getattr(torch, name), driver)
        setattr(module, name, numbered)
        torch.jit._builtins._register_builtin(numbered, f"aten::{name}")  # scripts find it by its identity
    torch._C._set_only_lift_cpu_tensors(True)
    driver.on_start.append(lambda: _enter(driver))


def _wrapper_of(original: Callable[..., Any]) -> Callable[..., Any]:
    """Autograd asks the device of a wrapper for its streams, in C++."""

    def make(*args: Any, device: Any = None, **options: Any) -> Any:
        real = _CPU if device is not None and torch.device(device).type == "cuda" else device
        return original(*args, device=real, **options)

    return make


def _numbered(original: Callable[..., Any], driver: Driver) -> Callable[..., Any]:
    """They ask for the number of the current device in C++."""

    def make(*args: Any, device: Any = None, **options: Any) -> Any:
        if device is not None and (named := _named(device)).type == "cuda":
            device = torch.device("cuda", driver.checked(named.index))
        return original(*args, device=device, **options)

    return make


def _enter(driver: Driver) -> None:
    Mode(driver).__enter__()


def _named(device: Any) -> torch.device:
    if device is None:
        return torch.device("cuda")
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)


def _after_all(method: Callable[..., Any], driver: Driver) -> Callable[..., Any]:
    """These read memory without an operator."""

    def read(self: Any, *args: Any, **options: Any) -> Any:
        if mark_of(self) is not None:
            driver.pass_by()
        return method(self, *args, **options)

    return read


def _mover(driver: Driver) -> Callable[..., Any]:
    def to(self: Any, *args: Any, **options: Any) -> Any:
        device, args, options = _target(args, options)
        if device is None:
            return _to(self, *args, **options)
        index = driver.checked(device.index) if device.type == "cuda" else None
        real = _CPU if device.type == "cuda" else device
        here = device_of(self)
        if _inner(self) is not None or real.type != "cpu":
            return _to(self, device=real, **options)
        if here.type == device.type and mark_of(self) == index:
            return _to(self, device=real, **options)
        if here.type == "cuda":
            driver.pass_by()
        moved = _to(self, device=real, **{**options, "copy": True})
        put_on(moved, index, driver)
        return moved

    return to


def _target(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[torch.device | None, Any, dict[str, Any]]:
    """(where to, the other words, which are all named then); None = where it is."""
    first: tuple[Any, ...] = ()
    device: Any = None
    if "device" in options:
        device = options["device"]
    elif args and (isinstance(args[0], torch.Tensor) or "other" in options):
        other = options.get("other", args[0])
        device, first, args = other.device, (other.dtype,), args[1:]
    elif args and args[0] is not None and not isinstance(args[0], (torch.dtype, bool)):
        device, args = args[0], args[1:]
    if device is None:
        return None, args, options
    named = {name: word for name, word in options.items() if name not in ("device", "other")}
    words = [*first, *args]
    if words and not isinstance(words[0], bool):
        dtype = words.pop(0)
        named |= {} if dtype is None else {"dtype": dtype}
    named |= dict(zip(("non_blocking", "copy"), words, strict=False))
    return _named(device), (), named
