"""Inputs by seed: a reader with a sample that was changed, or a command with options."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from benchmarks import fuzz_mutations as mutations
from benchmarks import fuzz_options, fuzz_results, fuzz_samples
from benchmarks.fuzz_samples import RUN_ID, RUNS
from benchmarks.fuzz_trial import FuzzInput

_RUN = f"{RUNS}/{RUN_ID}"
_FORMATS = ("table", "json", "csv", "junit", "nccl-tests", "nccl-tests-json")
_CLEAN: Mapping[str, tuple[str, ...]] = {
    "torchrun": (
        *("RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0", "MASTER_ADDR=n1"),
        *("MASTER_PORT=29500", "TORCHELASTIC_RUN_ID=x", "TORCHELASTIC_USE_AGENT_STORE=True"),
    ),
    "srun": (
        *("SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=4", "SLURM_LOCALID=1"),
        *("SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=1", "SLURM_STEP_NODELIST=n[1-2]"),
    ),
    "salloc": (
        *("SLURM_JOB_ID=7", "SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=n[1-2],gpu[07-09]", "SLURM_NNODES=2"),
        *("SLURM_GPUS_ON_NODE=8", "SLURM_TASKS_PER_NODE=8(x2)", "SLURM_CPUS_ON_NODE=64", "SLURM_NTASKS=16"),
    ),
    "mpirun": (
        *("OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=0"),
        *("OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_MCA_orte_local_daemon_uri=923926528.1;tcp://192.0.2.1:4000"),
        *("OMPI_MCA_orte_hnp_uri=923926528.0;tcp://192.0.2.1,10.0.0.1:4000", "PMIX_NAMESPACE=prterun-n1-1@1"),
    ),
    "mpiexec": ("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_JOBID=a"),
    "kubeflow": (
        *("PET_NODE_RANK=1", "PET_MASTER_ADDR=job-0", "PET_MASTER_PORT=29500", "PET_NNODES=2"),
        *("PET_NPROC_PER_NODE=gpu", "JOB_COMPLETION_INDEX=1"),
    ),
    "own": (
        *("NCCLTOOL_FAULT=kill:rank=1", "NCCLTOOL_TIMEOUT=5", "NCCLTOOL_RUN_DIR=folder", "COLUMNS=40"),
        *("LINES=10", "TERM=xterm", "NO_COLOR=1", "CUDA_VISIBLE_DEVICES=0,1", "NCCL_DEBUG=INFO"),
        *("XDG_STATE_HOME=state", "HOME=.", "TMPDIR=folder", "LANG=C", "LC_ALL=de_DE.ISO-8859-1"),
    ),
}
"""What launchers set."""


def draw(seed: int, only: str = "") -> FuzzInput:
    """The input of a seed; of one target where one is named."""
    random = Random(seed)
    names = [name for name in TARGETS if only in name] or ["options"]
    return TARGETS[random.choice(names)](random)


def _form(random: Random, formats: Sequence[str] = _FORMATS) -> tuple[str, ...]:
    return random.choice(((), ("--format", random.choice(formats)), ("--verbose",), ("--color", "always")))


def _document(random: Random) -> bytes:
    return mutations.data(random.choice(fuzz_samples.documents()), random)


def _run_document(random: Random) -> FuzzInput:
    words = random.choice(
        (
            ("runs", "run.json", *_form(random)),
            ("runs", "run.json", "--plot", random.choice(("x.svg", "x.png"))),
            ("compare", "run.json", "good.json", *_form(random, ("table", "json", "junit"))),
            ("compare", "good.json", "run.json"),
            ("export", "run.json"),
            ("export", "run.json", "good.json", "--textfile", "x.prom"),
            ("baseline", "save", "x", "run.json"),
            ("triage", "run.json"),
        )
    )
    return FuzzInput(target="run.json", words=words, files={"run.json": _document(random)})


def _run_folder(random: Random) -> FuzzInput:
    """A run among the saved ones: any of its files is changed."""
    name = random.choice(("run.json", "run.json", "job.json", "events.jsonl", "log.txt", "collected.txt"))
    sample = {
        "run.json": random.choice(fuzz_samples.documents()),
        "job.json": fuzz_samples.job(),
        "events.jsonl": b"".join(fuzz_samples.said()),
    }.get(name, fuzz_samples.logs()[0])
    words = random.choice(
        (
            ("runs", *_form(random, ("table", "json", "csv"))),
            ("runs", "latest", *_form(random)),
            ("runs", "--kind", "probe", "--since", "2020-01-01"),
            ("runs", "rm", "--dry-run", "--older-than", "1d"),
            ("runs", "rm", "latest"),
            ("triage", "latest", *_form(random, ("table", "json", "junit"))),
            ("bundle", "latest", "--output", "x.tar.gz"),
            ("compare", "latest", "latest~1"),
            ("export", "latest"),
        )
    )
    return FuzzInput(target="run folder", words=words, files={f"{_RUN}/{name}": mutations.data(sample, random)})


def _run_cache(random: Random) -> FuzzInput:
    """What `serve` makes of the saved runs."""
    name = random.choice(("run.json", "job.json"))
    sample = random.choice(fuzz_samples.documents()) if name == "run.json" else fuzz_samples.job()
    files = {f"{_RUN}/{name}": mutations.data(sample, random)}

    def look() -> None:
        from nccltool.monitor import exposition, run_cache
        from nccltool.monitor.export import without_baseline

        seen = run_cache.RunCache(Path(RUNS), 1e12, without_baseline).look()
        exposition.text(seen.samples())
        exposition.text(seen.samples(), "openmetrics")

    return FuzzInput(target="serve", call=look, files=files)


def _snapshot(random: Random) -> FuzzInput:
    samples = fuzz_samples.snapshots()
    files = {"facts.json": mutations.data(random.choice(samples), random), "other.json": random.choice(samples)}
    words = ("doctor", "--facts", "facts.json", *random.choice(((), ("--facts", "other.json"), ("--fix",))))
    form = _form(random, ("table", "json", "junit", "sarif"))
    return FuzzInput(target="snapshot", words=(*words, *form), files=files)


def _suite(random: Random) -> FuzzInput:
    kind = random.choice(("suite", "platform"))
    sample = random.choice(fuzz_samples.suites() if kind == "suite" else fuzz_samples.platforms())
    words = random.choice(
        (
            ("checks", "validate", "x.toml", *_form(random, ("table", "json"))),
            ("checks", "show", "x.toml"),
            ("preflight", f"--{kind}", "x.toml", "--dry-run"),
            ("preflight", f"--{kind}", "x.toml", "--only", "inventory", "--hosts", "localhost"),
        )
    )
    return FuzzInput(target=kind, words=words, files={"x.toml": mutations.data(sample, random)})


def _config(random: Random) -> FuzzInput:
    words = random.choice((("probe",), ("runs",), ("doctor", "--facts", "good.json"), ("baseline", "list")))
    place = random.choice(("config/nccltool/config.toml", ".nccltool.toml"))
    content = mutations.data(fuzz_samples.CONFIG, random)
    return FuzzInput(target="configuration", words=words, files={place: content})


def _hostfile(random: Random) -> FuzzInput:
    command = random.choice((("probe",), ("preflight", "--suite", "smoke"), ("doctor",), ("train", "ddp")))
    content = mutations.data(fuzz_samples.HOSTFILE, random)
    return FuzzInput(target="hostfile", words=(*command, "--hostfile", "list"), files={"list": content})


def _hosts(random: Random) -> FuzzInput:
    valid = ("n[01-04],user@x3:2222", "n1,n2", "rack[1-3]-n[1-9]", "[2001:db8::1]:22", "a,b,c@d:1")
    command = random.choice((("probe",), ("preflight",), ("train", "ddp"), ("sbatch", "--nodelist"), ("doctor",)))
    hosts = mutations.word(random, valid)
    if command[0] == "sbatch":
        return FuzzInput(target="hosts", words=(*command, hosts, "probe"))
    return FuzzInput(target="hosts", words=(*command, f"--hosts={hosts}"))


def _env_file(random: Random) -> FuzzInput:
    words = ("doctor", "--env-file", "env", "--root", f"trees/{random.choice(fuzz_samples.TREES)}")
    form = random.choice((("--fix",), ("--show-settings",), _form(random, ("table", "json", "junit", "sarif"))))
    content = mutations.data(random.choice((fuzz_samples.ENV_FILE, *fuzz_samples.JOB_FILES)), random)
    return FuzzInput(target="env file", words=(*words, *form), files={"env": content})


def _nccl_conf(random: Random) -> FuzzInput:
    tree = f"trees/{random.choice(fuzz_samples.TREES)}"
    content = mutations.data(fuzz_samples.NCCL_CONF, random)
    words = ("doctor", "--root", tree, *_form(random, ("table", "json")))
    return FuzzInput(target="nccl.conf", words=words, files={f"{tree}/etc/nccl.conf": content})


def _captured(random: Random) -> FuzzInput:
    """Files of /proc, /sys, /dev and /etc."""
    tree = random.choice(fuzz_samples.TREES)
    paths = random.sample(fuzz_samples.tree_files(tree), 3)
    files = {f"trees/{tree}/{path}": mutations.data(fuzz_samples.tree_file(tree, path), random) for path in paths}
    command = random.choice((("facts",), ("facts", "--verbose"), ("facts", "--format", "json"), ("doctor",)))
    return FuzzInput(target="captured files", words=(*command, "--root", f"trees/{tree}"), files=files)


def _web_config(random: Random) -> FuzzInput:
    content = mutations.data(fuzz_samples.WEB_CONFIG, random)
    words = ("serve", "--listen", "127.0.0.1:0", "--web-config", "web.yml")
    return FuzzInput(target="web configuration", words=words, files={"web.yml": content})


def _baseline(random: Random) -> FuzzInput:
    document, _ = fuzz_samples.baseline()
    words = random.choice(
        (
            ("baseline", "import", "b.json", *random.choice(((), ("--as", "x"), ("--replace",)))),
            ("compare", "b.json", "good.json"),
            ("export", "good.json", "--baseline", "b.json"),
            ("preflight", "--baseline", "b.json", "--dry-run"),
        )
    )
    return FuzzInput(target="baseline", words=words, files={"b.json": mutations.data(document, random)})


def _store(random: Random) -> FuzzInput:
    _, store = fuzz_samples.baseline()
    words = random.choice(
        (
            *(("baseline", action, *name) for action, name in (("list", ()), ("show", ("good",)))),
            *(("baseline", action, "good") for action in ("export", "remove")),
            ("baseline", "save", "good", "good.json", "--add"),
            ("compare", "baseline:good", "good.json"),
            ("export", "good.json", "--baseline", "good"),
        )
    )
    changed = mutations.data(store, random)
    return FuzzInput(target="store", words=(*words, "--store", "s.sqlite"), files={"s.sqlite": changed})


def _results(random: Random) -> FuzzInput:
    content = mutations.data(random.choice(fuzz_samples.results()), random)
    more = random.choice(((), ("--op", "all_reduce"), ("--ranks", "8"), ("--keep",), ("r.txt",)))
    words = ("import", "r.txt", *more, *_form(random))
    if random.random() < 0.2:
        return FuzzInput(target="results", words=("import", "-", *more[:2]), stdin=content)
    return FuzzInput(target="results", words=words, files={"r.txt": content})


def _stream(random: Random) -> FuzzInput:
    """The events that commands print: damaged as logs are, or by who prints them, and then with a good stamp."""
    content = random.choice(fuzz_samples.streams())
    content = mutations.data(content, random) if random.random() < 0.4 else b"".join(_stamped(content, random))
    words = ("collect", random.choice(("pods.log", "-")), *_form(random))
    return FuzzInput(target="event stream", words=words, files={"pods.log": content}, stdin=content)


def _stamped(content: bytes, random: Random) -> list[bytes]:
    lines = content.splitlines(keepends=True)
    for number in random.sample(range(len(lines)), min(len(lines), random.choice((1, 1, 3)))):
        head, found, rest = lines[number].partition(b'{"event":')
        body, stamp, tail = rest.partition(b',"run":"')
        if found and stamp:
            event = mutations.structure(found + body + b"}", random).rstrip()[:-1]
            signed = event + stamp + tail.rpartition(b',"crc":')[0]
            lines[number] = head + signed + b',"crc":%d}\n' % zlib.crc32(signed)
    return lines


def _said(random: Random) -> FuzzInput:
    """What far ends say to the runner, and it to them."""
    lines = list(fuzz_samples.said())
    for _ in range(random.choice((1, 3))):
        number = random.randrange(len(lines))
        change = random.choice((mutations.structure, mutations.structure, mutations.data))
        lines[number] = change(lines[number].rstrip(), random) + b"\n"
    instruction = mutations.data(random.choice(fuzz_samples.instructions()), random)

    def take() -> None:
        import msgspec

        from nccltool.interop.collect import _READER
        from nccltool.launch import instructions
        from nccltool.launch.run_state import RunState
        from nccltool.launch.runner import LaunchOutcome
        from nccltool.probe.run import judged
        from tests.support.streams import begun, job_of

        state = RunState(job_of(0), 4, now=0.0)
        for number, line in enumerate(lines):
            event = _READER.decode(b"\x1e" + line)
            if event is not None:
                state.apply(event, float(number))
        judged(LaunchOutcome(state, (), interrupted=False), begun(0))
        with suppress(msgspec.DecodeError):
            instructions.decode(instruction)

    return FuzzInput(target="far end", call=take)


def _logs(random: Random) -> FuzzInput:
    content = random.choice(fuzz_samples.logs())
    if random.random() < 0.5:
        content += random.choice(fuzz_samples.logs())
    packing = random.randrange(10)
    content = mutations.data(content, random)
    if packing < 5:
        content = fuzz_samples.packed(content, packing)
        content = mutations.data(content, random) if random.random() < 0.5 else content
    name = random.choice(("job.log", "job.log.gz", "logs/n01.out", "slurm-7.out"))
    path = "logs" if name.startswith("logs") else name
    more = random.choice(((), ("--summary",), ("--follow", "--for", "0.1"), _form(random, ("table", "json"))))
    if random.random() < 0.1:
        return FuzzInput(target="logs", words=("triage", "-"), stdin=content)
    return FuzzInput(target="logs", words=("triage", path, *more), files={name: content})


def _recording(random: Random) -> FuzzInput:
    first, second = fuzz_samples.recordings()
    content = mutations.data(random.choice((first, second)), random)
    name = "trace_0.json"
    if random.random() < 0.4:
        name = "nccl_trace_rank_0"
        content = mutations.data(fuzz_samples.pickled(first), random)
    words = ("triage", "dumps", "--trust-pickle", *_form(random, ("table", "json", "junit")))
    files = {f"dumps/{name}": content, "dumps/trace_1.json": second}
    return FuzzInput(target="recording", words=words, files=files)


def _trace(random: Random) -> FuzzInput:
    samples = fuzz_samples.traces()
    content = mutations.data(random.choice(samples), random)
    name = "t/rank1.json"
    if random.random() < 0.4:
        name, content = "t/rank1.json.gz", fuzz_samples.packed(content, random.randrange(3))
        content = mutations.data(content, random) if random.random() < 0.5 else content
    place = random.choice(("t", "t", name))
    words = ("trace", place, *random.choice(((), ("-v",))), *_form(random, ("table", "json")))
    return FuzzInput(target="trace", words=words, files={"t/rank0.json": samples[0], name: content})


def _checkpoint(random: Random) -> FuzzInput:
    content = mutations.data(fuzz_samples.mark(), random)

    def read() -> None:
        from nccltool.train import checkpoints

        checkpoints.newest(Path("ddp"), lambda: None)

    from nccltool.train.checkpoints import MARK

    files = {f"ddp/step-4/{MARK}": content, f"ddp/step-00000004/{MARK}": content, "ddp/step-x/y": content}
    return FuzzInput(target="checkpoint", call=read, files=files)


def _launcher(random: Random) -> FuzzInput:
    chosen = [random.choice(list(_CLEAN.values())), *random.sample(list(_CLEAN.values()), random.randrange(2))]
    env = dict(one.split("=", 1) for part in chosen for one in part)
    for name in random.sample(list(env), random.choice((1, 1, 2))):
        if random.random() < 0.2:
            del env[name]
        else:
            env[name] = mutations.word(random, (env[name],))
    env["HOME"] = env.get("HOME", ".")
    commands = (("probe",), ("train", "ddp"), ("preflight",), ("runs",), ("facts", "--root", "trees/tcp"))
    return FuzzInput(target="variables", words=random.choice(commands), env=env)


def _words(random: Random) -> FuzzInput:
    """Words that are looked up, and what a shell asks to complete."""
    word = mutations.word(random, ("rank-died", "ENV001", "NCCL_IB_HCA", "exit 3", "probe", "latest", RUN_ID[:10]))
    if random.random() < 0.4:
        command = random.choice(("runs", "explain", "probe --op", "help", "baseline show", "checks show"))
        env = {"_NCCLTOOL_COMPLETE": f"{random.choice(('bash', 'zsh', 'fish'))}_complete"}
        env |= {"COMP_WORDS": f"nccltool {command} {word}"[:2000], "COMP_CWORD": random.choice(("2", "1", "9"))}
        return FuzzInput(target="completion", env=env)
    words = random.choice((("explain",), ("runs",), ("help",), ("checks", "show"), ("compare", "good.json"), ()))
    return FuzzInput(target="words", words=(*words, word))


TARGETS: Mapping[str, Callable[[Random], FuzzInput]] = {
    "run.json": _run_document,
    "run folder": _run_folder,
    "serve": _run_cache,
    "snapshot": _snapshot,
    "suite": _suite,
    "configuration": _config,
    "hostfile": _hostfile,
    "hosts": _hosts,
    "env file": _env_file,
    "nccl.conf": _nccl_conf,
    "captured files": _captured,
    "web configuration": _web_config,
    "baseline": _baseline,
    "store": _store,
    "results": _results,
    "event stream": _stream,
    "far end": _said,
    "logs": _logs,
    "recording": _recording,
    "trace": _trace,
    "checkpoint": _checkpoint,
    "other results": fuzz_results.other_results,
    "pairs": fuzz_results.pairs,
    "report": fuzz_results.report,
    "history": fuzz_results.history,
    "Prometheus": fuzz_results.prometheus,
    "assistant": fuzz_results.assistant,
    "nccl-tests": fuzz_results.nccl_tests,
    "variables": _launcher,
    "words": _words,
    "options": fuzz_options.draw,
    "options of ranks": fuzz_options.draw,
    "options again": fuzz_options.draw,
}
"""Options have more places than any reader, and more of the inputs."""
