"""nccltool manifest."""

from typing import TYPE_CHECKING, Any

import click

from nccltool.cli.command import ToolCommand
from nccltool.cli.options import Number, given, group, option, refuse, words_of
from nccltool.cli.tree import section
from nccltool.core.errors import BadInput
from nccltool.core.text import nearest, shortened
from nccltool.interop import manifests

if TYPE_CHECKING:
    from nccltool.interop.manifest_options import PodCommand

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # click 8.1 has no type parameter here

MEASURED, PATCHED = "probe", "preflight"
"""What pods of a job run, and what is added before the containers of another job."""
_LONGEST = 80
"""Characters of a word that are shown."""
_NOT_KINDS = {
    "volcano": ("Volcano calls its jobs vcjob", "--kind vcjob"),
    "kueue": ("Kueue is a queue for jobs of any kind", "--queue NAME"),
}
"""What people write instead, and what to write."""


class _Kind(_Choice):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if str(value).lower() in _NOT_KINDS:
            why, remedy = _NOT_KINDS[str(value).lower()]
            raise BadInput(f"--kind {value}: {why}", f"use {remedy}")
        return super().convert(value, param, ctx)


class _Manifest(ToolCommand):
    """Knows the options of probe, which belong behind it."""

    def unknown_option(self, name: str, ctx: click.Context) -> BadInput:
        from nccltool.cli.commands.probe import command as probe

        if any(name in parameter.opts for parameter in probe.params):
            return BadInput(f"{name} is an option of probe", f"write it after probe: {_SHOWN} probe {name} ...")
        return super().unknown_option(name, ctx)


_SHOWN = "nccltool manifest --image IMAGE"
_KINDS = _Kind(manifests.KINDS, case_sensitive=False)  # an object says kind: MPIJob


@click.command(
    "manifest",
    cls=_Manifest,
    short_help="Print Kubernetes objects that run probe or preflight",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="probe|preflight [OPTIONS]...")
@section(
    "Objects",
    option("--kind", type=_KINDS, default="job", help="Object that runs the pods, or a patch."),
    option("--name", default="nccltool-probe", metavar="NAME", help="Name of the objects."),
    option("--namespace", metavar="NAME", help="Namespace of the objects.  [default: from kubectl]"),
    option(
        "--annotation",
        multiple=True,
        metavar="KEY=VALUE",
        help="Pod annotation, such as its networks. Repeatable.",
    ),
    option("--label", multiple=True, metavar="KEY=VALUE", help="Label of the objects and pods. Repeatable."),
    option("--service-account", metavar="NAME", help="Service account of the pods; no token is mounted."),
)
@section(
    "Container",
    option("--image", metavar="IMAGE", help="Container image with nccltool. Required."),
    option("--image-pull-secret", metavar="NAME", help="Secret for pulling the image."),
    option(
        "--env", multiple=True, metavar="NAME=VALUE", help="Environment variable: NCCL_DEBUG=INFO. Repeatable."
    ),
    option(
        "--user", type=click.IntRange(0, 2**31 - 1), default=1000, metavar="UID", help="Run as this user; 0: root."
    ),
    option("--ipc-lock", is_flag=True, help="Allow locked memory for RDMA (IPC_LOCK); runs as root."),
    option(
        "--host-path",
        multiple=True,
        metavar="HOST:CONTAINER[:ro]",
        help="Mount a file or folder of the host. Repeatable.",
    ),
)
@section(
    "Resources of a pod",
    option("--gpus", type=click.IntRange(0, 64), default=0, help="GPUs (nvidia.com/gpu)."),
    option("--rdma-resource", multiple=True, metavar="NAME=COUNT", help="RDMA devices: rdma/hca=1. Repeatable."),
    option(
        "--resource",
        multiple=True,
        metavar="NAME=QUANTITY",
        help="Other resources: cpu=8, memory=64Gi. Repeatable.",
    ),
    option("--shm-size", default="8GiB", metavar="SIZE", help="Size of /dev/shm; counts as pod memory."),
    option("--compute-domain", is_flag=True, help="Share GPU memory between hosts (IMEX, NVIDIA DRA driver)."),
    option("--resource-claim", multiple=True, metavar="TEMPLATE", help="A claim of this template. Repeatable."),
)
@section(
    "Placement and network",
    option("--queue", metavar="NAME", help="Queue of Kueue; with --kind vcjob, of Volcano."),
    option("--priority-class", metavar="NAME", help="Priority class of the pods."),
    option("--runtime-class", metavar="NAME", help="Runtime class of the pods, such as nvidia."),
    option(
        "--node-selector", multiple=True, metavar="LABEL=VALUE", help="Use only hosts with this label. Repeatable."
    ),
    option(
        "--toleration",
        multiple=True,
        metavar="KEY[=VALUE][:EFFECT]",
        help="Also use hosts with this taint. Repeatable.",
    ),
    option("--allow-same-host", is_flag=True, help="Let pods share a host."),
    option("--host-network", is_flag=True, help="Use the host's network."),
    option("--rdzv-port", type=click.IntRange(1024, 65535), default=29500, metavar="PORT", help="Port of node 0."),
)
@section(
    "Time limits",
    option(
        "--pull-time",
        type=Number(0),
        default=900.0,
        metavar="SECONDS",
        help="Time for scheduling and pulling the image, on top of --deadline.",
    ),
)
def command(words: tuple[str, ...], kind: str, **options: Any) -> None:
    """Print Kubernetes objects that run `nccltool probe` with one pod per node.

    Options after `probe` are passed to it. Apply the output with kubectl. When the pods are done, pipe their
    `kubectl logs` to `nccltool collect -` to get the run. With --kind init-container, `preflight` runs in a patch
    that adds it before the containers of an existing job.
    """
    from nccltool.cli.outlet import put
    from nccltool.interop import manifest_options

    is_patch = kind in manifests.PATCHES
    _check_words(words, kind, PATCHED if is_patch else MEASURED)
    if options["image"] is None:
        raise BadInput("missing --image, the container image with nccltool", _example(words[0], kind))
    if is_patch:
        options |= _without_the_jobs()
    asked = group(manifest_options.ManifestOptions, options)
    request_of = manifest_options.request_of_patch if is_patch else manifest_options.request
    request = request_of(_parsed(words), asked)
    put(manifests.render(request, kind))


def _without_the_jobs() -> dict[str, str]:
    """Refuses what is the job's to say; the name, where none is given. Raises BadInput."""
    from nccltool.interop.manifest_options import OF_THE_JOB

    context = click.get_current_context()
    refuse(given(context, OF_THE_JOB), OF_THE_JOB, "for an init container", "omit it: the job defines it")
    is_default = context.get_parameter_source("name") is click.core.ParameterSource.DEFAULT
    return {"name": "nccltool-preflight"} if is_default else {}


def _check_words(words: tuple[str, ...], kind: str, command: str) -> None:
    """Raises BadInput unless the command that this kind runs comes first, and our own options before it."""
    if not words:
        raise BadInput(f"missing the command for the pods: {command}", _example(command, kind))
    word = shortened(words[0], _LONGEST)
    if word in manifests.KINDS:
        own = PATCHED if word in manifests.PATCHES else MEASURED
        raise BadInput(
            f"{word!r} is a kind, not a command", f"nccltool manifest --image IMAGE --kind {word} {own}"
        )
    if word in (MEASURED, PATCHED) and word != command:
        other = next(one for one in manifests.KINDS if (one in manifests.PATCHES) == (word == PATCHED))
        raise BadInput(f"--kind {kind} runs {command}, not {word}", _example(word, other))
    if word != command:
        near = f"did you mean {command}? " if nearest(word, (command,)) else ""
        raise BadInput(f"manifest cannot run {word!r}", near + _example(command, kind))
    _check_order(words, command)


def _check_order(words: tuple[str, ...], command: str) -> None:
    from nccltool.cli.commands import preflight, probe

    inner = (preflight if command == PATCHED else probe).command
    own, its = ({name for one in some.params for name in one.opts} for some in (_this(), inner))
    for name in (word.partition("=")[0] for word in words[1:]):
        if name.startswith("-") and name in own - its:
            raise BadInput(f"{name} must stand before {command}", f"nccltool manifest {name} ... {command} ...")


def _this() -> click.Command:
    return click.get_current_context().command


def _example(command: str, kind: str) -> str:
    """A command line that works."""
    kinds = f" --kind {kind}" if kind != manifests.KINDS[0] else ""
    return f"nccltool manifest --image IMAGE{kinds} {command}"


def _parsed(words: tuple[str, ...]) -> "PodCommand":
    """The options of the command in the pods, as it would read them there."""
    from nccltool.cli.commands import preflight, probe
    from nccltool.interop.manifest_options import ELSEWHERE, LEFT_IN_PODS, PodCommand

    if words[0] == PATCHED:
        _, named = words_of(preflight.command, "manifest preflight", words[1:])
        refuse(named, (*ELSEWHERE, "nodes"), "in a manifest", "omit it: each pod checks its own node")
        refuse(named, LEFT_IN_PODS, "in a manifest: the file ends with its pod", "omit it and read kubectl logs")
        return PodCommand(words=words, options=None, given=named)
    options, named = words_of(probe.command, "manifest probe", words[1:])
    remedy = "omit it: the pods are numbered and join the first one"
    refuse(named, ELSEWHERE, "in a manifest", remedy)
    remedy = "omit it: kubectl logs | nccltool collect - --output FILE"
    refuse(named, LEFT_IN_PODS, "in a manifest: the file ends with its pod", remedy)
    return PodCommand(words=words, options=probe.asked(options), given=named)
