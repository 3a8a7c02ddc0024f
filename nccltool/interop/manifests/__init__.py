"""Kubernetes objects that run a command on every node: one kind a file, each a pure function of a Request."""

from typing import TYPE_CHECKING, Any, cast

from nccltool.core import members

if TYPE_CHECKING:
    from nccltool.interop.manifests.base import Object, Request

KINDS = members.names(__path__, first=("job", "jobset", "trainjob", "pytorchjob", "mpijob", "vcjob"))
PATCHES = ("init-container",)
"""Kinds that change an object which is there."""
_BOOLEANS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
"""Words that some reader of YAML takes for something else than text."""
_HEAD = """\
# The value in the Secret is random, made for this manifest alone: whoever knows it can take part in the run.
# kubectl apply -f FILE, and when the pods are done:
# kubectl logs --prefix --tail=-1 --max-log-requests={nodes} -l {label}{namespace} | nccltool collect -
"""


def objects(request: "Request", kind: str) -> "tuple[Object, ...]":
    """The objects to apply, in order; of a patch, what to change."""
    return cast("tuple[Object, ...]", members.module(__name__, kind).objects(request))


def render(request: "Request", kind: str) -> str:
    """The objects as YAML, under lines that say how to use them."""
    (label,) = request.selector.items()
    namespace = f" -n {request.namespace}" if request.namespace else ""
    head = str(getattr(members.module(__name__, kind), "HEAD", _HEAD))
    head = head.format(nodes=max(request.nodes, 2), label="=".join(label), namespace=namespace)
    return head + _yaml(objects(request, kind))


def _yaml(documents: "tuple[Object, ...]") -> str:
    import re

    import yaml  # not above: it takes longer to import than all of the command line

    plain = re.compile(r"[A-Za-z/][\w./-]*", re.ASCII)

    class Dumper(yaml.SafeDumper):
        """Quotes all text that any version of YAML could read as a number or a truth value."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        is_plain = plain.fullmatch(value) and value.lower() not in _BOOLEANS
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if is_plain else '"')

    Dumper.add_representer(str, text)
    return str(yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, explicit_start=True, width=10**6))
