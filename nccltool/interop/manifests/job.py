"""An Indexed Job of plain Kubernetes (1.29 or newer), with the headless Service that gives its pods names."""

from nccltool.interop.manifests.base import (
    INDEX,
    Object,
    Request,
    companions,
    job_policy,
    metadata,
    pod_template,
    queued_metadata,
)


def objects(request: Request) -> tuple[Object, ...]:
    return *companions(request), _service(request), _job(request)


def _service(request: Request) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(request),
        "spec": {
            "clusterIP": "None",
            # nodes look for node 0 before it is ready
            "publishNotReadyAddresses": True,
            "selector": request.selector,
            "ports": [{"name": "rendezvous", "port": request.port}],
        },
    }


def _job(request: Request) -> Object:
    place: list[Object] = [
        {"name": "NCCLTOOL_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
        # the host name of pod 0 of a Job, in the domain of the Service
        {"name": "NCCLTOOL_RDZV_ENDPOINT", "value": f"{request.name}-0.{request.name}:{request.port}"},
    ]
    template = pod_template(request, "nccltool", place)
    template["spec"]["subdomain"] = request.name
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": queued_metadata(request),
        "spec": {
            "completions": request.nodes,
            "parallelism": request.nodes,
            **job_policy(request),
            "template": template,
        },
    }
