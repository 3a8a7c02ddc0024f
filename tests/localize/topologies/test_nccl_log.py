"""NVLink domains in logs of NCCL."""

from nccltool.localize.topologies import nccl_log


def test_a_gpu_that_has_not_joined_its_domain_tells_nothing() -> None:
    line = "n1:7:9 [{}] NCCL INFO MNNVL busId 0x1 fabric UUID 1.2 cliqueId 0x{} state {} healthMask 0x0\n"
    text = line.format(0, 5, 3) + line.format(1, 6, 2)
    assert nccl_log.recognises(text)
    assert dict(nccl_log.read(text, "f").leaf_of) == {"n1": "1.2/5"}
    assert not nccl_log.recognises("n1 NCCL INFO\n")
