"""The table for people."""

from dataclasses import replace

from nccltool.core.look import PLAIN, Look
from nccltool.localize.accusations import localized
from nccltool.localize.views import table
from tests.support.pairs import FOUND_106, OF_106, info, localization, met

RUN = localized(info(), OF_106, FOUND_106)


def test_the_verdict_comes_first() -> None:
    lines = table.render(RUN).splitlines()
    assert lines[0] == "FAIL localize: suspect node 644; 1 slow pair unexplained; 5 measurements of 7 nodes"
    assert lines[1].strip().startswith("healthy 87.60 GB/s; noise 1.3 %; smallest fault")
    assert "    284 - 632: 284 with a node that is not slow" in lines


def test_a_map_without_utf_8() -> None:
    text = table.render(RUN, Look(width=80, unicode=False))
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80
    assert "    644     xx" in text


def test_every_measurement_with_v() -> None:
    assert "644 - 699" not in table.render(RUN).partition("slowest nodes first")[2]
    assert "644 - 699       49.36" in table.render(RUN, Look(verbose=True))


def test_a_healthy_one_has_no_map() -> None:
    text = table.render(localized(info(), OF_106[1:2], localization(scope="nothing-slow")))
    assert text.startswith("PASS localize: nothing slow found on the only link; 1 measurement of 2 nodes\n")
    assert "slowest nodes" not in text
    assert "--all-pairs" not in text


def test_a_healthy_one_says_which_links_it_cannot_judge() -> None:
    text = table.render(localized(info(), OF_106, localization(scope="nothing-slow")))
    assert text.startswith("PASS localize: nothing slow found on 5 of 21 links; 5 measurements of 7 nodes\n")
    unseen = "    16 links were not measured and may be slow: nccltool pairs --all-pairs measures every link\n"
    assert unseen in text


def test_a_run_of_pairs_says_where_it_ran() -> None:
    ran = replace(info("vm"), emulated=True, nodes=4, world_size=4, backend="gloo")
    text = table.render(localized(ran, OF_106, FOUND_106, kind="pairs"))
    assert text.splitlines()[1] == "4 nodes emulated on vm (no network measured), 4 ranks, gloo"
    assert " rank" not in table.render(localized(ran, OF_106, FOUND_106))


def test_without_a_healthy_speed_there_is_no_map() -> None:
    text = table.render(localized(info(), OF_106, localization(scope="unknown", healthy_busbw_bytes_per_s=None)))
    assert "slowest nodes" not in text
    assert "    healthy speed unknown; noise 3 %" in text


def test_thousands_of_nodes_fit_a_screen() -> None:
    pairs = [met(f"n{number}", f"n{number + 1}", 370.0) for number in range(4000)]
    text = table.render(localized(info(), pairs, FOUND_106), PLAIN)
    assert "a column is 84 nodes" in text
    assert "and 3985 faster nodes" in text


def test_long_names_keep_their_end() -> None:
    assert table.shortened_name("a" * 30 + "-17") == ".." + "a" * 19 + "-17"
