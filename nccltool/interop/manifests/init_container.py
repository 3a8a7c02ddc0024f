"""An init container for the pods of a job that exists: a preflight of the pod's own node, before it starts there.

A patch, not an object: what it does not say stays as the job has it.
"""

from nccltool.interop.manifests.base import Object, Request, container, security, volumes

_PREFIX = "nccltool-"
"""The pod has volumes of its own."""
HEAD = """\
# kubectl patch --local -f JOB.yaml --type strategic --patch-file THIS.yaml -o yaml | kubectl apply -f -
# For Kubeflow kinds, copy initContainers and volumes into their pod template: kubectl cannot patch them.
"""


def objects(request: Request) -> tuple[Object, ...]:
    """A strategic merge patch of a Job (and of all that has a pod template at spec.template)."""
    made = container(request, request.name, [], _PREFIX)
    made["securityContext"] |= security(request)
    pod = {"initContainers": [made], "volumes": volumes(request, _PREFIX)}
    return ({"spec": {"template": {"spec": pod}}},)
