"""GPUs of AMD out of the kernel's files."""

from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Amd, AmdGpu, known
from nccltool.hosts.sources import amd
from tests.captured_hosts import captured
from tests.hosts.sources.test_sources import tree

NODE = "sys/class/kfd/kfd/topology/nodes/1/properties"
ROWS = "simd_count 1216\ngfx_target_version 90402\ndrm_render_minor 128\nunique_id 7\nlocation_id 1320\ndomain 0\n"
DEVICES = {"dev/kfd": "", "dev/dri/renderD128": ""}


def test_a_server_of_eight() -> None:
    found = captured("mi300x").amd
    gpus = known(found.gpus)
    assert (found.driver, found.visible_gpus, len(gpus)) == ("6.12.12", 8, 8)
    assert gpus[5] == AmdGpu(
        pci="0000:53:00.0",
        render_minor=168,
        unique_id="GPU-5a6b7c8d9e0f1005",
        name="AMD Instinct MI300X OAM",
        gfx="gfx942",
        memory_bytes=206141652992,
        vbios="113-M3000100-102",
        numa_node=1,
        xgmi_peers=7,
        compute_partition="SPX",
        memory_partition="NPS1",
    )
    assert {gpu.pci for gpu in gpus} == {
        one.address for one in known(captured("mi300x").pci.devices) if one.is_gpu
    }


def test_no_driver() -> None:
    assert captured("dgx").amd == Amd(driver="", gpus=(), visible_gpus=0)


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({NODE: ROWS, **DEVICES}, 1),
        ({NODE: ROWS, "dev/dri/renderD128": ""}, 0),  # a container without /dev/kfd
        ({NODE: ROWS, "dev/kfd": ""}, 0),  # a GPU that it was not given
        ({NODE: ROWS, "dev/kfd": "", "dev/dri/renderD136": ""}, 0),
        ({NODE: ROWS.replace("1216", "0"), **DEVICES}, 0),  # a processor
        ({NODE: ROWS.replace("90402", "100306"), **DEVICES}, 0),  # what a processor has built in
        ({NODE: ROWS.replace("90402", "110000"), **DEVICES}, 1),
        ({NODE: "", **DEVICES}, 0),
        ({NODE: "simd_count many\ndrm_render_minor -1\n", **DEVICES}, 0),
        (DEVICES, 0),
    ],
)
def test_what_counts(tmp_path: Path, files: dict[str, str], count: int) -> None:
    assert amd.counted(tree(tmp_path, files), {}) == count


def test_what_the_driver_does_not_tell_has_a_reason(tmp_path: Path) -> None:
    host = tree(
        tmp_path, {NODE: ROWS.replace("unique_id 7", "unique_id 0"), "sys/module/amdgpu/refcnt": "1", **DEVICES}
    )
    found = amd.amd(host)
    assert found.driver == Unknown("/sys/module/amdgpu/version cannot be read: No such file or directory")
    (gpu,) = known(found.gpus)
    device = "/sys/class/drm/renderD128/device"
    assert (gpu.pci, gpu.unique_id, gpu.compute_partition) == (
        "0000:05:05.0",
        Unknown("the driver reports none"),
        "",
    )
    assert gpu.name == Unknown(f"{device}/product_name cannot be read: No such file or directory")


@pytest.mark.parametrize(
    ("version", "gfx"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90500, "gfx950"), (110001, "gfx1101"), (0, "gfx000")],
)
def test_architectures(tmp_path: Path, version: int, gfx: str) -> None:
    host = tree(
        tmp_path, {NODE: ROWS.replace("90402", str(version)), "sys/module/amdgpu/version": "6.1", **DEVICES}
    )
    assert [gpu.gfx for gpu in known(amd.amd(host).gpus)] == [gfx]
