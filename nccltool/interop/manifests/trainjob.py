"""A TrainJob of Kubeflow Trainer, with a TrainingRuntime of its own.

What the pods need goes into the runtime: how a TrainJob changes the pods of somebody else's runtime has another
name in each release (podSpecOverrides, podTemplateOverrides, runtimePatches). Trainer sets the PET_ variables.
"""

from nccltool.interop.manifests.base import (
    Object,
    Request,
    companions,
    job_policy,
    metadata,
    pod_template,
    queued_metadata,
)

_API = "trainer.kubeflow.org"
_NODE = "node"
"""What the replicated job and its container must be called for Trainer to find them."""


def objects(request: Request) -> tuple[Object, ...]:
    return *companions(request), _runtime(request), _trainjob(request)


def _runtime(request: Request) -> Object:
    job = {
        "name": _NODE,
        "template": {
            "metadata": {"labels": {f"{_API}/trainjob-ancestor-step": "trainer"}},
            "spec": {**job_policy(request), "template": pod_template(request, _NODE, [])},
        },
    }
    return {
        "apiVersion": f"{_API}/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": metadata(request),
        "spec": {
            "mlPolicy": {"numNodes": request.nodes, "torch": {}},
            "template": {"spec": {"replicatedJobs": [job]}},
        },
    }


def _trainjob(request: Request) -> Object:
    trainer: Object = {"numNodes": request.nodes}
    if request.nproc_per_node is not None:
        trainer["numProcPerNode"] = request.nproc_per_node
    return {
        "apiVersion": f"{_API}/v1alpha1",
        "kind": "TrainJob",
        "metadata": queued_metadata(request),
        "spec": {
            "runtimeRef": {"apiGroup": _API, "kind": "TrainingRuntime", "name": request.name},
            "trainer": trainer,
        },
    }
