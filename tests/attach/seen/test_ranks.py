"""What a rank says of itself."""

from nccltool.attach.seen.ranks import RankFound


def test_the_first_variable_that_is_set_counts() -> None:
    rank = RankFound(host="n1", pid=7, settings=(("TORCH_FR_BUFFER_SIZE", ""), ("NCCL_RAS_ADDR", "[::1]:28028")))
    assert rank.setting("NCCL_RAS_ADDR", "TORCH_FR_BUFFER_SIZE") == "[::1]:28028"
    assert rank.setting("TORCH_FR_BUFFER_SIZE", "NCCL_RAS_ADDR") == ""
    assert rank.setting("NCCL_RAS_ENABLE") == ""
