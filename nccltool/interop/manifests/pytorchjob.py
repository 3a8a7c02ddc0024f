"""A PyTorchJob of the Kubeflow training operator, which sets the PET_ variables."""

from nccltool.interop.manifests.base import Object, Request, companions, pod_template, queued_metadata

_CONTAINER = "pytorch"
_PORT = "pytorchjob-port"
"""What the operator looks for."""


def objects(request: Request) -> tuple[Object, ...]:
    """Node 0 is the master."""
    replicas = {"Master": _replica(request, 1)}
    if request.nodes > 1:
        replicas["Worker"] = _replica(request, request.nodes - 1)
    return (
        *companions(request),
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": queued_metadata(request),
            "spec": {
                "nprocPerNode": "auto" if request.nproc_per_node is None else str(request.nproc_per_node),
                "runPolicy": {
                    "activeDeadlineSeconds": request.active_deadline_s,
                    "backoffLimit": 0,
                    # or the logs would go with the pods
                    "cleanPodPolicy": "None",
                },
                "pytorchReplicaSpecs": replicas,
            },
        },
    )


def _replica(request: Request, count: int) -> Object:
    ports = [{"name": _PORT, "containerPort": request.port}]
    return {
        "replicas": count,
        "restartPolicy": "Never",
        "template": pod_template(request, _CONTAINER, [], ports=ports),
    }
