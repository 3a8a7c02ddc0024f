"""WSL2: Windows has the GPU, and mounts its libraries. Microsoft, "GPU acceleration in WSL"."""

from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Kind


def write(tree: TreeWriter, kind: Kind) -> None:
    tree.device("/dev/dxg")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libdxcore.so", "nvidia-smi"):
        tree.write(f"/usr/lib/wsl/lib/{name}", "")
