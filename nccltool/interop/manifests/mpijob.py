"""An MPIJob of Kubeflow's MPI operator: mpirun (Open MPI) in a launcher pod starts one rank a slot in the workers.

The workers are pods that run sshd. The operator makes a key for the job, mounts it in all pods, gives the pods
names, and writes the hostfile. What the manifest adds works without root and with a read-only root file system.
"""

from dataclasses import replace

from nccltool.interop.manifests.base import Object, Request, companions, literal, pod_template, queued_metadata

HEAD = """\
# The image must contain nccltool, Open MPI's mpirun, ssh, sshd, and an account for the user.
# The value in the Secret is random, made for this manifest alone: whoever knows it can take part in the run.
# kubectl apply -f FILE, and when the launcher is done:
# kubectl logs --tail=-1 -l {label},training.kubeflow.org/job-role=launcher{namespace} | nccltool collect -
"""
_WORKER = {"training.kubeflow.org/job-role": "worker"}
"""A label that the operator gives to the pods of workers."""
_SSH_PORT = 2222
"""Not a port for which sshd would have to be root."""
_KNOWN_HOSTS = "/tmp/known_hosts"  # noqa: S108 - in a volume of the pod's own
_PRIVILEGES = "/run/sshd"
"""Where an sshd of root confines its children that have no rights."""
_KEPT_S = 7 * 24 * 3600
"""How long the ended job stays, and with it the log; the operator's own objects go with it."""
_FOR_MPIRUN = {"cpu": "1", "memory": "1Gi"}
"""What a launcher asks for where its workers ask for some of it; mpirun does no work of its own."""
_START = """\
read -r key < {keys}/id_rsa.pub && echo "* $key" > {known} || exit 2
export LD_LIBRARY_PATH="${{LD_LIBRARY_PATH-}}"
exec "$(command -v "$0")" "$@"
"""
"""All hosts have the key of the job, so the launcher knows whom it talks to. Started by its path, mpirun looks for
its parts on the workers where they are here."""


def objects(request: Request) -> tuple[Object, ...]:
    return *companions(request), _mpijob(request)


def _mpijob(request: Request) -> Object:
    slots = request.nproc_per_node or max(request.gpus, 1)
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": queued_metadata(request),
        "spec": {
            "mpiImplementation": "OpenMPI",
            "slotsPerWorker": slots,
            "sshAuthMountPath": _keys(request),
            # or it would run into pods that are still pulling their image
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": {
                "activeDeadlineSeconds": request.active_deadline_s,
                "backoffLimit": 0,
                # the workers' sshd does not end by itself; all that is said is in the launcher's log
                "cleanPodPolicy": "Running",
                "ttlSecondsAfterFinished": _KEPT_S,
            },
            "mpiReplicaSpecs": {
                "Launcher": _replica(_launcher(request, slots), 1),
                "Worker": _replica(_worker(request), request.nodes),
            },
        },
    }


def _replica(template: Object, count: int) -> Object:
    del template["spec"]["restartPolicy"]  # the operator warns of one that is not its own
    return {"replicas": count, "restartPolicy": "Never", "template": template}


def _keys(request: Request) -> str:
    """Only in root's own folder does the operator hide the key from others, as ssh wants it of one's own key."""
    return "/root/.ssh" if request.is_root else "/run/nccltool-ssh"


def _launcher(request: Request, slots: int) -> Object:
    """Has none of what ranks need, and may share a host with a worker."""
    modest = {name: amount for name, amount in _FOR_MPIRUN.items() if name in request.resources}
    asks = replace(
        request, gpus=0, resources=modest, claim_templates=(), compute_domain=False, allow_same_host=True
    )
    # rank 0 is on the first worker; mpirun itself is on none
    place = {"name": "NCCLTOOL_RDZV_ENDPOINT", "value": f"{request.name}-worker-0.{request.name}:{request.port}"}
    template = pod_template(asks, "launcher", [place])
    (made,) = template["spec"]["containers"]
    script = _START.format(keys=_keys(request), known=_KNOWN_HOSTS)
    made["command"] = ["sh", "-c", literal(script), "mpirun"]
    names = ["PATH", "LD_LIBRARY_PATH", *(variable["name"] for variable in made["env"])]
    made["args"] = [*_mpirun(request, slots, names), "nccltool", *made["args"]]
    return template


def _mpirun(request: Request, slots: int, variables: list[str]) -> list[str]:
    """Its options. Of this pod's variables ranks have only those that are named: sshd passes none of its own."""
    ssh = [f"-F none -p {_SSH_PORT} -i {_keys(request)}/id_rsa -o IdentitiesOnly=yes -o BatchMode=yes"]
    ssh += [f"-o UserKnownHostsFile={_KNOWN_HOSTS} -o StrictHostKeyChecking=yes -o ConnectionAttempts=10"]
    return [
        *(["--allow-run-as-root"] if request.is_root else []),
        *("-np", str(request.nodes * slots), "--hostfile", "/etc/mpi/hostfile", "--bind-to", "none"),
        # only the launcher knows the keys of all hosts
        *("--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_args", " ".join(ssh)),
        *(word for name in dict.fromkeys(variables) for word in ("-x", name)),
    ]


def _worker(request: Request) -> Object:
    template = pod_template(request, "worker", [])
    if not request.allow_same_host:
        # the launcher may be on the host of a worker
        (term,) = template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        term["labelSelector"] = {"matchLabels": {**request.selector, **_WORKER}}
    (made,) = template["spec"]["containers"]
    made["command"], made["args"] = ["/usr/sbin/sshd"], _sshd(_keys(request))
    if request.is_root:
        _as_root(template["spec"], made)
    return template


def _sshd(keys: str) -> list[str]:
    """Its options: without configuration of the image, for the key of the job alone."""
    settings = ("PidFile=none", f"AuthorizedKeysFile={keys}/authorized_keys", "StrictModes=no", "UsePAM=no")
    only = ("PasswordAuthentication=no", "KbdInteractiveAuthentication=no")
    options = [word for setting in (*settings, *only) for word in ("-o", setting)]
    return ["-D", "-e", "-f", "none", "-p", str(_SSH_PORT), "-h", f"{keys}/id_rsa", *options]


def _as_root(pod: Object, made: Object) -> None:
    """An sshd of root gives up its rights in children, and wants a folder of its own for that."""
    made["command"] = ["sh", "-c", f'chmod 755 {_PRIVILEGES} && exec "$0" "$@"', *made["command"]]
    made["securityContext"]["capabilities"].setdefault("add", []).extend(["SETGID", "SETUID", "SYS_CHROOT"])
    made["volumeMounts"].append({"name": "sshd", "mountPath": _PRIVILEGES})
    pod["volumes"].append({"name": "sshd", "emptyDir": {}})
