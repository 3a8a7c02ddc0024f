"""Facts for people: stable text, and nothing of a host reaches the terminal unescaped."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from nccltool.core.look import Look
from nccltool.core.unknown import Unknown
from nccltool.hosts import facts as hosts_facts
from nccltool.hosts.facts import HostNames
from nccltool.hosts.views import table
from tests import captured_hosts


@pytest.mark.parametrize("name", captured_hosts.KINDS)
def test_the_table_is_as_stored(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"facts-{name}.txt", table.render(captured_hosts.healthy(name), "table", Look(verbose=True)))


@pytest.mark.parametrize("name", captured_hosts.KINDS)
def test_a_screen_has_room_for_it(name: str) -> None:
    text = table.render(captured_hosts.healthy(name), "table", Look(width=80, height=24))
    assert text.startswith("host  ")
    assert len(text.splitlines()) <= 23
    assert max(map(len, text.splitlines())) <= 80
    assert "\nunknown: " in text


def test_what_is_alike_is_told_once(golden: Callable[[str, str], None]) -> None:
    golden("facts-alike.txt", table.render(captured_hosts.healthy("dgx"), "table"))


@pytest.mark.parametrize("name", captured_hosts.KINDS)
def test_the_json_is_the_snapshot(name: str) -> None:
    host = captured_hosts.captured(name)
    assert hosts_facts.from_json(table.render(host, "json"), "f") == host


def test_control_characters_are_escaped() -> None:
    host = replace(captured_hosts.healthy("tcp"), host="evil\x1b]0;x\x07", names=HostNames(addresses=("\x1b[2J",)))
    text = table.render(host, "table")
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert "evil\\x1b]0;x\\x07" in text


def test_many_reasons_are_cut() -> None:
    host = captured_hosts.captured("tcp")
    leaves = {one: Unknown(f"reason {number}") for number, one in enumerate(type(host.limits).__struct_fields__)}
    text = table.render(replace(host, limits=type(host.limits)(**leaves)), "table", Look(verbose=True))
    assert "more reasons: --format json" in text
