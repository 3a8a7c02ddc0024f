"""Whatever a value is, every rule ends, and what it says can be printed on a terminal."""

import pytest
from msgspec.structs import replace

from nccltool.core.versions import Version
from nccltool.doctor import judge, rules
from nccltool.hosts.nccl import variables
from tests import captured_hosts

VALUES = {
    "empty": "",
    "long": "A" * (1 << 16),
    "many numbers": ",".join(map(str, range(1500))),
    "many ranges": "0-65535," * 2000,
    "many words": "NVLS," * 5000,
    "many carets": "^" * 4000,
    "many slashes": "/" * 4000,
    "an open element": "<pci busid='" * 4000,
    "too large": "9" * 400,
    "negative": "-1",
    "no digits": "0x",
    "escapes": "\x1b[31m\r\n\t\x07",
    "other digits": "\u0663\u0664",
    "NUL": "a\0b",
}
OTHERS = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_rules_end_and_can_be_shown(value: str) -> None:
    environment = dict.fromkeys((*variables.every(), *OTHERS), value)
    host = judge.host_of(
        replace(captured_hosts.healthy("ib"), env=environment), Version(2, 30, 7), nodes=2, local_ranks=8
    )
    for finding in judge.judge([host, host], rules.every()).findings:
        texts = [finding.message, finding.remedy, finding.subject.name]
        texts += [line for text in finding.evidence for line in text.splitlines()]
        assert all(text.isprintable() and len(text) < 1000 for text in texts), finding.code
