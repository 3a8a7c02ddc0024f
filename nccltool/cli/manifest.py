"""nccltool manifest."""

from typing import TYPE_CHECKING, Any

import click

from nccltool.cli.options import Number, given, group, option, refuse, words_of
from nccltool.interop import manifests

if TYPE_CHECKING:
    from nccltool.interop.manifest_options import PodCommand

_KINDS = click.Choice(manifests.KINDS)


@click.command("manifest", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument(
    "words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="probe|preflight [ITS OPTIONS]..."
)
@option("--kind", type=_KINDS, default="job", help="Indexed Job, a kind of Kubeflow, or a patch.")
@option("--image", required=True, help="Container image that has nccltool.")
@option("--name", default="nccltool-probe", help="Name of the objects.")
@option("--namespace", help="Their namespace.  [default: that of kubectl]")
@option("--gpus", type=click.IntRange(0, 64), default=0, help="GPUs of each pod (nvidia.com/gpu).")
@option("--rdma-resource", multiple=True, metavar="NAME=COUNT", help="RDMA devices of each pod: rdma/hca=1.")
@option("--resource", multiple=True, metavar="NAME=QUANTITY", help="Anything else it needs: cpu=8, memory=64Gi.")
@option("--shm-size", default="8GiB", help="Size of /dev/shm; counts as memory of the pod.")
@option("--ipc-lock", is_flag=True, help="Lock memory for RDMA (IPC_LOCK); runs as root.")
@option("--user", type=click.IntRange(0, 2**31 - 1), default=1000, help="User id to run as; 0 is root.")
@option("--host-network", is_flag=True, help="Use the network of the host.")
@option("--allow-same-host", is_flag=True, help="Let pods share a host.")
@option("--service-account", help="Service account of the pods; no token is mounted.")
@option("--image-pull-secret", help="Name of the secret that pulls the image.")
@option("--node-selector", multiple=True, metavar="LABEL=VALUE", help="Only hosts with this label.")
@option("--toleration", multiple=True, metavar="KEY[=VALUE][:EFFECT]", help="Hosts with this taint too.")
@option("--annotation", multiple=True, metavar="KEY=VALUE", help="Of the pods, such as their networks.")
@option("--env", multiple=True, metavar="NAME=VALUE", help="Variable of the pods: NCCL_DEBUG=INFO.")
@option("--rdzv-port", type=click.IntRange(1024, 65535), default=29500, help="Port on which node 0 listens.")
@option("--pull-time", type=Number(0), default=900.0, help="Seconds for scheduling and pulling, above --deadline.")
def command(words: tuple[str, ...], kind: str, **options: Any) -> None:
    """Print Kubernetes objects that run `nccltool probe` with a pod on each node.

    What follows `probe` are its own options. Apply the output with kubectl; when the pods are done, `kubectl logs`
    of all of them piped to `nccltool collect -` gives the run. With --kind init-container it is `preflight`, and
    a patch that puts it before the containers of a job that you have.
    """
    from nccltool.cli.screen import put
    from nccltool.interop import manifest_options

    if is_patch := kind in manifests.PATCHES:
        options |= _without_the_jobs()
    asked = group(manifest_options.ManifestOptions, options)
    request_of = manifest_options.request_of_patch if is_patch else manifest_options.request
    request = request_of(_parsed(words, "preflight" if is_patch else "probe"), asked)
    put(manifests.render(request, kind))


def _without_the_jobs() -> dict[str, str]:
    """Refuses what is the job's to say; the name, where none is given. Raises BadInput."""
    from nccltool.interop.manifest_options import OF_THE_JOB

    context = click.get_current_context()
    refuse(given(context, OF_THE_JOB), OF_THE_JOB, "for an init container", "leave it out: the job says it")
    is_default = context.get_parameter_source("name") is click.core.ParameterSource.DEFAULT
    return {"name": "nccltool-preflight"} if is_default else {}


def _parsed(words: tuple[str, ...], command: str) -> "PodCommand":
    """The options of the command in the pods, as it would read them there."""
    from nccltool.cli import preflight, probe
    from nccltool.core.errors import BadInput
    from nccltool.interop.manifest_options import ELSEWHERE, PodCommand

    if words[0] != command:
        raise BadInput(
            f"manifest {words[0]!r} is not known", f"nccltool manifest [OPTIONS] {command} [ITS OPTIONS]"
        )
    if command == "preflight":
        _, named = words_of(preflight.command, "manifest preflight", words[1:])
        refuse(named, (*ELSEWHERE, "nodes"), "in a manifest", "leave it out: each pod looks at its own node")
        return PodCommand(words=words, options=None, given=named)
    options, named = words_of(probe.command, "manifest probe", words[1:])
    remedy = "leave it out: the pods are numbered, and meet at the first of them"
    refuse(named, ELSEWHERE, "in a manifest", remedy)
    return PodCommand(words=words, options=probe.asked(options), given=named)
