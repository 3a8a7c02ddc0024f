"""A JobSet with one Indexed Job; its controller makes the headless Service that gives the pods names."""

from nccltool.interop.manifests.base import (
    INDEX,
    Object,
    Request,
    companions,
    job_policy,
    pod_template,
    queued_metadata,
)

_JOB = "node"
"""The replicated job; part of the pods' host names."""


def objects(request: Request) -> tuple[Object, ...]:
    return *companions(request), _jobset(request)


def _jobset(request: Request) -> Object:
    place: list[Object] = [
        {"name": "NCCLTOOL_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
        # JOBSET-REPLICATEDJOB-JOB-POD, in the domain of the JobSet
        {"name": "NCCLTOOL_RDZV_ENDPOINT", "value": f"{request.name}-{_JOB}-0-0.{request.name}:{request.port}"},
    ]
    pods = {"completions": request.nodes, "parallelism": request.nodes, **job_policy(request)}
    job = {"spec": {**pods, "template": pod_template(request, "nccltool", place)}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": queued_metadata(request),
        "spec": {
            # nodes look for node 0 before it is ready
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True, "subdomain": request.name},
            "failurePolicy": {"maxRestarts": 0},
            "replicatedJobs": [{"name": _JOB, "replicas": 1, "template": job}],
        },
    }
