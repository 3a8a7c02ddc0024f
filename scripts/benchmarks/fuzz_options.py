"""Every option and argument of every command with values that somebody may give it, by mistake or not."""

from collections.abc import Mapping
from functools import cache
from random import Random

import click

from benchmarks import fuzz_mutations as mutations
from benchmarks.fuzz_trial import FuzzInput

_ARGUMENTS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("train",): ("ddp",),
    ("preflight",): ("--suite", "smoke"),
    ("doctor",): ("--root", "trees/tcp"),
    ("checks",): ("validate",),
    ("triage",): ("job.log",),
    ("explain",): ("rank-died",),
    ("facts",): ("--root", "trees/tcp"),
    ("compare",): ("good.json", "good.json"),
    ("baseline", "save"): ("good", "good.json"),
    ("baseline", "show"): ("good",),
    ("baseline", "export"): ("good",),
    ("baseline", "import"): ("good.baseline.json",),
    ("baseline", "remove"): ("good",),
    ("import",): ("results.txt",),
    ("collect",): ("pods.log",),
    ("export",): ("good.json",),
    ("sbatch",): ("probe",),
    ("manifest",): ("probe",),
    ("completion",): ("bash",),
}
"""What a command needs besides its options."""
_LAST = {"--follow": ("--for", "0.1"), "--pushgateway": ("--push-timeout", "0.1")}
"""These wait as long as they are told to."""
_VALID: Mapping[str, tuple[str, ...]] = {
    "SIZE": ("8", "64K", "1MiB", "1.5G"),
    "SIZE,...": ("8,64K", "1MiB"),
    "OP,...": ("all_reduce", "all_gather,broadcast", "all"),
    "OP": ("all_reduce",),
    "HOSTS": ("n[01-04],user@x3:2222", "localhost", "n1,n2", "[2001:db8::1]:22"),
    "HOST:PORT": ("127.0.0.1:0", ":9400", "[::1]:9400", "localhost:1"),
    "SECONDS": ("0.5", "10"),
    "TIME": ("12h", "30d", "2min", "2026-01-31", "01:00:00"),
    "INTERVAL": ("60s", "5min"),
    "N|auto": ("2", "auto"),
    "N": ("1", "2", "8"),
    "NAME|FILE": ("smoke", "good", "good.baseline.json", "h100-sxm-8"),
    "STAGE,...": ("doctor", "pairs,train"),
    "PREFIX,...": ("ENV", "NET001,ib", "unknown-variable"),
    "VERSION": ("2.27.3", "2.19"),
    "COMMAND": ("ssh -p 22 -o 'X=Y Z'", "python3 -m nccltool"),
    "NAME=VALUE": ("instance=a", "NCCL_DEBUG=INFO"),
    "LABEL=VALUE": ("kubernetes.io/os=linux",),
    "NAME=COUNT": ("rdma/hca=8",),
    "NAME=QUANTITY": ("vpc.amazonaws.com/efa=32", "memory=64Gi"),
    "KEY[=VALUE][:EFFECT]": ("nvidia.com/gpu=present:NoSchedule", "a"),
    "KIND,...": ("probe", "train,preflight"),
    "KEY": ("versions", "unknown"),
    "URL": ("http://gateway:9091", "https://u:p@[::1]:9091/x?y#z"),
    "FILE": ("good.json", "hosts", "out.txt", "out.svg", "out.png", "out.prom", "job.log"),
    "DIR": ("folder", "new/folder", "trees/ib"),
    "TARGET": ("out.prom", "http://gateway:9091"),
    "TYPE": ("float32", "bfloat16"),
    "IMAGE": ("registry:5000/a/b@sha256:00",),
}


@cache
def _commands() -> tuple[tuple[tuple[str, ...], click.Command], ...]:
    from nccltool.cli.root import cli
    from nccltool.cli.tree import leaves

    return tuple(leaves(cli))


@cache
def files() -> dict[str, bytes]:
    """What the arguments name."""
    from benchmarks import fuzz_samples as samples

    document, store = samples.baseline()
    return {
        "job.log": samples.logs()[0],
        "results.txt": samples.results()[0],
        "pods.log": samples.streams()[0],
        "good.baseline.json": document,
        "state/nccltool/baselines.sqlite": store,
    }


def draw(random: Random) -> FuzzInput:
    """A command with one to three options, on the command line, in the environment or in a configuration file."""
    path, command = random.choice(_commands())
    words, last = [*_ARGUMENTS.get(path, ())], list[str]()
    env: dict[str, str] = {}
    content = dict(files())
    for _ in range(random.choice((1, 1, 2, 3))):
        parameter = random.choice(command.params or [click.Argument(["none"])])
        value = _value(parameter, random)
        if isinstance(parameter, click.Argument):
            place = random.randrange(len(words) + 1)
            words[place : place + random.randrange(2)] = [value]
            continue
        name = random.choice(parameter.opts)
        last += _LAST.get(name, ())
        where = random.random()
        if where < 0.15 and isinstance(parameter.envvar, str) and not last:
            env[parameter.envvar] = value
        elif where < 0.25 and not last:
            key = parameter.opts[-1].lstrip("-")
            content["config/nccltool/config.toml"] = f"{key} = {_toml(value)}\n".encode()
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(name)
        elif name.startswith("--"):
            words.append(f"{name}={value}")
        else:
            words += [name, value]
    random_end = random.choice(((), (), (), ("--",), ("-h",), ("extra",), ("--unknown",)))
    target = f"options of {' '.join(path)}"
    return FuzzInput(target=target, words=(*path, *words, *last, *random_end), env=env, files=content)


def _value(parameter: click.Parameter, random: Random) -> str:
    if isinstance(parameter.type, click.Choice) and random.random() < 0.7:
        return str(random.choice(list(parameter.type.choices)))
    if isinstance(parameter.type, click.IntRange) and random.random() < 0.3:
        return str(random.choice((0, 1, 2, 3, 10**6, 10**9, 2**31, 2**63, 10**18)))
    default = parameter.default
    valid = _VALID.get(parameter.metavar or "", ())
    if isinstance(parameter.type, click.Path):
        valid = _VALID["FILE"] if parameter.type.file_okay else _VALID["DIR"]
    return mutations.word(random, (*valid, *([str(default)] if isinstance(default, str | float) else [])))


def _toml(value: str) -> str:
    escaped = "".join(
        letter if letter.isascii() and letter.isprintable() and letter not in '"\\' else f"\\U{ord(letter):08x}"
        for letter in value
        if not 0xD800 <= ord(letter) < 0xE000
    )
    return f'"{escaped}\\u0000"' if len(value) % 7 == 3 else f'"{escaped}"'
