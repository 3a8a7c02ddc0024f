"""A Job of Volcano, whose pods start together or not at all.

Its plug-in `svc` makes the headless Service and sets the host names of the pods.
"""

from nccltool.interop.manifests.base import Object, Request, companions, metadata, pod_template

_TASK = "node"
"""Part of the pods' names."""
_INDEX = "metadata.annotations['volcano.sh/task-index']"
"""Where a pod reads its number. The plug-in `env` adds VC_TASK_INDEX after our variables, too late for $(...)."""


def objects(request: Request) -> tuple[Object, ...]:
    return *companions(request), _job(request)


def _job(request: Request) -> Object:
    place: list[Object] = [
        {"name": "NCCLTOOL_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}},
        {"name": "NCCLTOOL_RDZV_ENDPOINT", "value": f"{request.name}-{_TASK}-0.{request.name}:{request.port}"},
    ]
    template = pod_template(request, "nccltool", place)
    # a Job of Volcano has no deadline; its pods can have one
    template["spec"]["activeDeadlineSeconds"] = request.active_deadline_s
    priority = {"priorityClassName": request.priority_class} if request.priority_class else {}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata(request),
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": request.nodes,
            **({"queue": request.queue} if request.queue else {}),
            **priority,
            # nodes look for node 0 before it is ready
            "plugins": {"svc": ["--publish-not-ready-addresses=true"]},
            "tasks": [{"name": _TASK, "replicas": request.nodes, "template": template}],
        },
    }
