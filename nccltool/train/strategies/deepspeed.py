"""ZeRO of DeepSpeed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nccltool.train.strategies.base import DataParallelOptions, OffloadOptions, TuningPlace, Variant, option

OVERLAPPING = 3
"""The stage in which DeepSpeed has overlap_comm on by itself."""

SWAPPING = 3
"""The stage in which DeepSpeed can keep the optimizer's state in files
(https://www.deepspeed.ai/docs/config-json/#optimizer-offloading)."""


@dataclass(frozen=True, kw_only=True)
class Options(DataParallelOptions, OffloadOptions):
    """Its options."""

    zero: int = option(1, 180, "DeepSpeed: ZeRO stage.", metavar="STAGE", least=1, most=3)
    """1 shards the optimizer's state, 2 gradients too, 3 parameters too."""
    offload_dir: str | None = option(
        None, 185, "DeepSpeed: with --zero 3, keep the optimizer state in files in DIR (NVMe).", is_folder=True
    )
    """On the host of each rank; None = in memory."""
    other_overlap: bool = False
    """overlap_comm is the opposite of what DeepSpeed has for the stage."""
    bucket_numbers: int = 0
    """Sent at once; 0 = as DeepSpeed does."""

    @property
    def overlaps(self) -> bool:
        return (self.zero == OVERLAPPING) != self.other_overlap


def variants(own: Options, place: TuningPlace) -> Iterator[Variant]:
    """Whether the backward pass hides communication, and how much is sent at once."""
    other = replace(own, other_overlap=True)
    yield Variant(
        name=f"overlap_comm {'on' if other.overlaps else 'off'}",
        setting=f'"overlap_comm": {str(other.overlaps).lower()} in "zero_optimization"',
        options=other,
    )
    numbers = int(place.mib * 2**20 / 16)
    yield Variant(
        name="four buckets",
        setting=f'"reduce_bucket_size": {numbers}, "allgather_bucket_size": {numbers}',
        options=replace(own, bucket_numbers=numbers),
    )
