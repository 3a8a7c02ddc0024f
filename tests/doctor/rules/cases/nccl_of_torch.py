"""Cases of nccltool/doctor/rules/process/nccl_of_torch.py."""

from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Setting, Versions
from tests.doctor.rules.base import host, of

_TORCH = Setting(name="torch", value="2.13.0+cu130")


def _wheels(*names: str) -> JudgedHost:
    packages = (_TORCH, *(Setting(name=name, value="2.29.3") for name in names))
    return host(versions=Versions(torch="2.13.0+cu130", packages=packages))


def _loads(torch: str, nccl: str) -> JudgedHost:
    return host(versions=Versions(torch=torch, nccl=nccl, torch_hip=""))


CASES = (
    of(
        "PLG028",
        fires=[_wheels("nvidia-nccl-cu12", "nvidia-nccl-cu13")],
        silent=[_wheels("nvidia-nccl-cu12"), _wheels(), _wheels("nvidia-nccl-cu12", "nvidia-nvshmem-cu13")],
        unknown=[host()],
    ),
    of(
        "PLG029",
        fires=[
            _loads("2.2.0+cu121", "2.18.3"),
            _loads("2.4.1+cu124", "2.14.3"),
            _loads("2.7.0+cu128", "2.21.5"),
            _loads("2.9.1+cu128", "2.26.2"),
            _loads("2.11.0+cu130", "2.27.7"),
            _loads("2.13.0+cu130", "2.28.9"),
        ],
        silent=[
            _loads("2.2.0+cu121", "2.19.3"),
            _loads("2.7.0+cu128", "2.27.5"),
            _loads("2.11.0+cu130", "2.28.9"),
            _loads("2.10.0+cu128", "2.27.5"),
            _loads("2.3.0a0+6ddf5cf85e.nv24.4", "2.18.3"),
            _loads("2.9.1+cpu", "2.18.3"),
            _loads("2.0.1+cu121", "2.14.3"),
            _loads("", "2.18.3"),
        ],
        unknown=[host()],
    ),
)
