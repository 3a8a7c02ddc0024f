"""Software: packages, and libraries that the loader would find. Files are read, nothing is imported or loaded."""

import mmap
import os
import platform
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Library, Plugin, Rdma, Setting, Text, Versions
from nccltool.hosts.facts.leaves import Flag, NotKnown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree, within

_PACKAGES = re.compile(
    r"(torch|triton|vllm|megatron[_-]core|nvidia[_-][A-Za-z0-9_.-]+?|nccltool)-([^-]+)\.dist-info"
)
_MAGIC = b"glibc-ld.so.cache1.1"
_DEFAULT = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu")
_VENDOR = (
    "/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64", "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/install/lib", "/usr/local/gib/lib64", "/usr/local/nvidia/lib64",
    "/usr/local/fastrak/lib64", "/var/lib/tcpxo/lib64", "/usr/local/tcpx/lib64",
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
)  # fmt: skip
"""Where vendors put plugins; the loader only searches them when LD_LIBRARY_PATH or ld.so.conf says so."""
_PLUGIN = re.compile(
    r"lib[nr]ccl-(net|tuner|profiler|env|gin|collnet)\b.*\.so[.\d]*|libnccl-ofi-tuner\.so[.\d]*|lib[nr]ccl-\w+\.so"
)
_SYMBOL = re.compile(rb"nccl(?:Net|CollNet|Tuner|Profiler|Env|Gin)(?:Plugin)?_v\d+\b|nccl\w*Plugin_v\d+\b")
_OPEN_MPI = {"20": "4.0", "30": "4.1", "40": "5.0"}
"""Second number of libmpi.so.40 -> series: Spack, packages/openmpi/package.py, which lists it for each release."""
_RCCL = re.compile(rb"RCCL version\s*:?\s*(\d+\.\d+\.\d+)")
_VERSIONS = (re.compile(rb"NCCL version (\d+\.\d+\.\d+)"), re.compile(rb"aws-ofi-nccl[ -]v?(\d+\.\d+\.\d+)"))


def versions(tree: Tree, env: Mapping[str, str], seconds: float) -> Versions:
    folders = tuple(_package_folders(tree, env))
    packages = (*_packages(tree, folders), *_openmpi(tree, env, seconds))
    found = {one.name: one.value for one in packages}
    return Versions(
        nccltool=or_none(found.get("nccltool", "")) or "",
        python=platform.python_version() if tree.live else Unknown(CAPTURED),
        torch=found.get("torch", "" if folders else Unknown("no Python package directory found")),
        torch_cuda=_built_for(tree, folders, "cuda"),
        torch_hip=_built_for(tree, folders, "hip"),
        rccl=_rccl(tree, folders),
        packages=packages,
        ofed=_ofed(tree),
        glibc=_glibc() if tree.live else Unknown(CAPTURED),
        os=then(tree.row("/etc/os-release", "PRETTY_NAME", "="), lambda name: name.strip("\"'")),
    )


def _package_folders(tree: Tree, env: Mapping[str, str]) -> Iterator[str]:
    """Of Python packages: those of this interpreter; in a captured tree the usual ones."""
    if tree.live:
        return (path for path in dict.fromkeys(sys.path) if os.path.isdir(path))
    usual = (env.get("VIRTUAL_ENV"), env.get("CONDA_PREFIX"), "/usr", "/usr/local", "/opt/conda", "/opt/venv")
    return (folder for folder in _python_folders(tree, usual) if tree.exists(folder) is True)


def _python_folders(tree: Tree, homes: Iterable[str | None]) -> Iterator[str]:
    """Where the interpreters under these folders have their packages, there or not."""
    for library in (f"{home}/lib" for home in homes if home):
        for python in or_none(tree.names(library)) or ():
            if python.startswith("python3"):
                yield from (f"{library}/{python}/{kind}" for kind in ("site-packages", "dist-packages"))


def _packages(tree: Tree, folders: tuple[str, ...]) -> Iterator[Setting]:
    """The first of each name counts, as when it is imported."""
    seen = set()
    for entry in (entry for folder in folders for entry in or_none(tree.names(folder)) or ()):
        match = _PACKAGES.fullmatch(entry)
        if match and match[1] not in seen:
            seen.add(match[1])
            yield Setting(name=match[1].replace("_", "-"), value=match[2])


def _openmpi(tree: Tree, env: Mapping[str, str], seconds: float) -> Iterator[Setting]:
    """The series of the Open MPI that the loader finds: the number of its library tells, 40.40.7 is one of 5.0."""
    (path,) = _found(tree, env, seconds, "libmpi.so.40")
    name = tree.real(path) if path else ""
    number = re.search(r"libmpi\.so\.40\.(\d+)\.\d+$", name) if isinstance(name, str) else None
    if number and (series := _OPEN_MPI.get(number[1])):
        yield Setting(name="openmpi", value=series)


def _built_for(tree: Tree, folders: tuple[str, ...], what: str) -> Text:
    for folder in folders:
        text = tree.exact(f"{folder}/torch/version.py")
        if isinstance(text, str):
            match = re.search(rf"^{what}\b[^=]*=\s*(?:'([^']*)'|None)", text, re.MULTILINE)
            return (
                (match[1] or "") if match else Unknown(f"{folder}/torch/version.py has no {what.upper()} version")
            )
    return Unknown("torch is not installed")


def _rccl(tree: Tree, folders: tuple[str, ...]) -> Text:
    """torch brings its own, in its folder; the text stands among the read-only data, as in NCCL."""
    for folder in (*(f"{packages}/torch/lib" for packages in folders), "/opt/rocm/lib"):
        for name in ("librccl.so.1", "librccl.so"):
            if tree.exists(f"{folder}/{name}") is True:
                found = then(tree.real(f"{folder}/{name}"), lambda path: _section(tree, path, b".rodata"))
                match = None if isinstance(found, Unknown) else _RCCL.search(found)
                why = Unknown(f"{folder}/{name} contains no version string")
                return match[1].decode() if match else why
    return ""


def _ofed(tree: Tree) -> Text:
    if tree.exists("/sys/module") is not True:
        return Unknown("/sys/module cannot be read")
    return or_none(tree.text("/sys/module/mlx5_core/version")) or ""


def _glibc() -> Text:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (ValueError, OSError):
        return Unknown("the C library is not glibc")


def verbs(tree: Tree, env: Mapping[str, str], seconds: float) -> Rdma:
    if hidden := _uncaptured(tree):
        return Rdma(ibverbs=hidden, ibverbs_iova2=hidden, gdrapi=hidden, gdrapi_link=hidden)
    verbs, gdrapi, link = _found(tree, env, seconds, "libibverbs.so.1", "libgdrapi.so.2", "libgdrapi.so")
    exported = _exports(tree, verbs, b"ibv_reg_mr_iova2") if verbs else Unknown("libibverbs.so.1 not found")
    return Rdma(ibverbs=verbs, ibverbs_iova2=exported, gdrapi=gdrapi, gdrapi_link=link)


def libnccl(tree: Tree, env: Mapping[str, str], seconds: float) -> Versions:
    """Every libnccl.so.2 that can be reached, and the one that torch here would load."""
    folders = [(folder, origin) for folder, origin in _folders(tree, env) if origin != "vendor"]
    places = [*_preloaded(env), *_wheels(tree, env)]
    places += [(f"{folder}/libnccl.so.2", origin) for folder, origin in folders]
    places += [(path, "ldconfig") for name, path in _cache(tree).items() if name == "libnccl.so.2"]
    order = ("LD_PRELOAD", "wheel", "LD_LIBRARY_PATH", "conda", "ldconfig", "system")
    places.sort(key=lambda place: order.index(place[1]))
    looked = within(seconds, [(path, partial(_library, tree, path, origin)) for path, origin in places])
    found = tuple({one.path: one for one in looked if isinstance(one, Library)}.values())
    if not found and (hidden := _uncaptured(tree)):
        return Versions(nccl=hidden, nccl_source="", libnccl=hidden, libfabric=hidden)
    (fabric,) = _found(tree, env, seconds, "libfabric.so.1")
    return Versions(
        nccl=found[0].version if found else "",
        nccl_source=f"{found[0].path} ({found[0].origin})" if found else "",
        libnccl=found,
        libfabric=fabric,
    )


def _uncaptured(tree: Tree) -> Unknown | None:
    """Why libraries that are not there say nothing: a captured tree without any folder of the loader."""
    folders = (*_DEFAULT, *_VENDOR, "/etc/ld.so.cache")
    there = tree.live or any(tree.exists(folder) is True for folder in folders)
    return None if there else Unknown("the captured tree has no library directory")


def plugins(tree: Tree, env: Mapping[str, str], seconds: float) -> tuple[Plugin, ...] | Unknown:
    """What NCCL could load as a plugin."""
    if hidden := _uncaptured(tree):
        return hidden
    named = [env.get(f"NCCL_{kind}_PLUGIN", "") for kind in ("NET", "TUNER", "PROFILER", "ENV", "GIN")]
    places = [(path, "variable") for path in named if path.startswith("/")]
    folders = _folders(tree, env)
    listed = within(seconds, [(folder, partial(tree.names, folder)) for folder, _ in folders])
    for (folder, origin), names in zip(folders, listed, strict=True):
        places += [(f"{folder}/{name}", origin) for name in or_none(names) or () if _PLUGIN.fullmatch(name)]
    places += [(path, "ldconfig") for name, path in _cache(tree).items() if _PLUGIN.fullmatch(name)]
    places.sort(key=lambda place: place[1] == "vendor")  # a vendor's folder may also be in ld.so.conf
    first: dict[str, str] = {}
    for path, origin in places:
        first.setdefault(path, origin)
    looked = within(seconds, [(path, partial(_plugin, tree, path, origin)) for path, origin in first.items()])
    return tuple(one for one in looked if isinstance(one, Plugin))


def _found(tree: Tree, env: Mapping[str, str], seconds: float, *names: str) -> Iterator[str]:
    """Where the loader finds each of these, in its order: LD_LIBRARY_PATH, ldconfig, the default folders."""
    cached = _cache(tree)
    folders = [folder for folder, origin in _folders(tree, env) if origin == "LD_LIBRARY_PATH"]
    for name in names:
        asked = [f"{folder}/{name}" for folder in folders]
        asked += [path for cached_name, path in cached.items() if cached_name == name]
        asked += [f"{folder}/{name}" for folder in _DEFAULT]
        there = within(seconds, [(path, partial(tree.exists, path)) for path in asked])
        yield next((path for path, is_there in zip(asked, there, strict=True) if is_there is True), "")


def _folders(tree: Tree, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """(folder, origin) in the loader's order, each once."""
    paths = [path for path in re.split("[:;]", env.get("LD_LIBRARY_PATH", "")) if path.startswith("/")]
    conda = [f"{env['CONDA_PREFIX']}/lib"] if env.get("CONDA_PREFIX", "").startswith("/") else []
    named = [
        *((path.rstrip("/") or "/", "LD_LIBRARY_PATH") for path in paths),
        *((path, "conda") for path in conda),
        *((path, "system") for path in _DEFAULT),
        *((path, "vendor") for path in _VENDOR),
    ]
    folders: dict[str, tuple[str, str]] = {}
    for path, origin in named:
        real = tree.real(path) if origin == "system" else path  # /lib is /usr/lib on most
        if isinstance(real, str):
            folders.setdefault(real, (path, origin))
    return list(folders.values())


def _preloaded(env: Mapping[str, str]) -> list[tuple[str, str]]:
    words = re.split("[: ]", env.get("LD_PRELOAD", ""))
    return [(word, "LD_PRELOAD") for word in words if word.startswith("/") and "libnccl.so" in word]


def _wheels(tree: Tree, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """torch looks here first: the run path of its own libraries names this folder."""
    homes = (env.get("VIRTUAL_ENV"), env.get("CONDA_PREFIX"), "/usr/local", "/usr", "/opt/conda", "/opt/venv")
    for folder in dict.fromkeys(sys.path) if tree.live else _python_folders(tree, homes):
        yield f"{folder}/nvidia/nccl/lib/libnccl.so.2", "wheel"


def _library(tree: Tree, path: str, origin: str) -> Library | None:
    real = tree.real(path)
    state = then(real, tree.stat)
    if isinstance(state, Unknown) or isinstance(real, Unknown):
        return None
    return Library(
        path=path, real_path=real, origin=origin, version=_version(tree, real), size_bytes=state.st_size
    )


def _plugin(tree: Tree, path: str, origin: str) -> Plugin | None:
    library = _library(tree, path, origin)
    if library is None or isinstance(library.real_path, Unknown):
        return None
    names = _section(tree, library.real_path, b".dynstr")
    symbols = then(names, lambda data: tuple(sorted({match[0].decode() for match in _SYMBOL.finditer(data)})))
    return Plugin(library=library, name=path.rpartition("/")[2], symbols=symbols)


@or_unknown
def _version(tree: Tree, path: str) -> str:
    """Of the file name libnccl.so.2.27.3, or a text in the read-only data; the GPU code is not read."""
    named = re.search(r"libnccl\.so\.(\d+\.\d+\.\d+)$", path)
    if named:
        return named[1]
    data = known(_section(tree, path, b".rodata"))
    for pattern in _VERSIONS:
        if match := pattern.search(data):
            return match[1].decode()
    raise NotKnown(f"{path} contains no version string")


def _exports(tree: Tree, path: str, symbol: bytes) -> Flag:
    return then(_section(tree, path, b".dynstr"), lambda names: b"\0" + symbol + b"\0" in names)


def _section(tree: Tree, path: str, wanted: bytes) -> bytes | Unknown:
    """The bytes of one section of an ELF file, up to 16 MiB."""
    try:
        with open(tree.root + path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for name, offset, size in _sections(data):
                if name == wanted:
                    return data[offset : offset + min(size, 16 << 20)]
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        return tree.why(path, error)
    except (struct.error, IndexError):
        return Unknown(f"{path} is not a complete ELF file")
    return Unknown(f"{path} is not an ELF file with a section {wanted.decode()}")


def _sections(data: mmap.mmap) -> Iterator[tuple[bytes, int, int]]:
    """(name, offset, size) of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    table, entry, count, names = (*struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<HHH", data, 0x3A))
    _, _, _, _, strings, _ = struct.unpack_from("<IIQQQQ", data, table + names * entry)
    for number in range(count):
        name, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", data, table + number * entry)
        end = data.find(b"\0", strings + name)
        if kind != 8:  # SHT_NOBITS has no bytes in the file
            yield data[strings + name : end], offset, size


def _cache(tree: Tree) -> dict[str, str]:
    """Name -> path of ld.so.cache; the first entry of a name is the one that ldconfig prefers."""
    raw = or_none(tree.raw("/etc/ld.so.cache")) or b""
    start = raw.find(_MAGIC)
    if start < 0 or len(raw) < start + 48:  # it has another form
        return {}
    (count,) = struct.unpack_from("<I", raw, start + len(_MAGIC))
    found: dict[str, str] = {}
    for at in range(start + 48, min(start + 48 + 24 * count, len(raw) - 23), 24):
        _, key, value = struct.unpack_from("<iII", raw, at)
        name, path = _string(raw, start + key), _string(raw, start + value)
        if name.startswith(("libnccl", "libibverbs", "libgdrapi", "libfabric")):
            found.setdefault(name, path)
    return found


def _string(raw: bytes, at: int) -> str:
    return os.fsdecode(raw[at : raw.find(b"\0", at)])


SOURCES = (
    Source("versions", "versions", versions),
    Source("verbs", "rdma", verbs),
    Source("libnccl", "versions", libnccl),
    Source("plugins", "plugins", plugins),
)
