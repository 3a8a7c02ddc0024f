"""The environment that NCCL builds, and where each value comes from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts.facts import ConfFile, HostFacts, NotKnown
from nccltool.hosts.nccl import settings

OLD, NEW = Version(2, 21, 5), Version(2, 30, 7)


def built(text: str, version: Version | None = NEW, **environment: str) -> settings.NcclSettings:
    return settings.build(environment, [ConfFile(role="system", path="/etc/nccl.conf", text=text)], version)


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("NCCL_A=1\nNCCL_B=2", {"NCCL_A": "1", "NCCL_B": "2"}),
        ("NCCL_A=1\r\n", {"NCCL_A": "1"}),
        ("#NCCL_A=1\n", {}),
        (" NCCL_A=1", {" NCCL_A": "1"}),
        ("export NCCL_A=1", {"export NCCL_A": "1"}),
        ("NCCL_A = 1 ", {"NCCL_A ": " 1 "}),
        ("NCCL_A='a b' # c", {"NCCL_A": "'a b' # c"}),
        ("NCCL_A==eth0", {"NCCL_A": "=eth0"}),
        ("NCCL_A=", {"NCCL_A": ""}),
        ("NCCL_A=1\nNCCL_A=2", {"NCCL_A": "1"}),
        ("=1\nNCCL_A\n\n", {}),
        ("NCCL_A=1\0NCCL_B=2\nNCCL_C=3", {"NCCL_A": "1", "NCCL_C": "3"}),
        (f"NCCL_A={'v' * 2000}", {"NCCL_A": "v" * 1023}),
        (f"{'z' * 4090}NCCL_A=1", {"A": "1"}),
        (f"{'z' * 4095}NCCL_A=1", {"NCCL_A": "1"}),
    ],
)
def test_a_file(text: str, variables: dict[str, str]) -> None:
    expected = {name[:1023]: value for name, value in variables.items()}
    assert {one.name: one.value for one in built(text).all()} == expected


def test_old_releases_keep_the_carriage_return_and_have_no_comments() -> None:
    assert built("NCCL_A=1\r\n#NCCL_B=1", OLD).get("NCCL_A") == "1\r"
    assert built("#NCCL_B=1", OLD).get("#NCCL_B") == "1"
    assert built("#NCCL_B=1", None).get("#NCCL_B") is None


def test_the_environment_wins_and_the_line_says_so() -> None:
    read = built("NCCL_A=1\nNCCL_B=2", NCCL_A="")
    assert [(one.name, one.value, one.origin, one.from_file) for one in read.all()] == [
        ("NCCL_A", "", "environment", False),
        ("NCCL_B", "2", "/etc/nccl.conf:2", True),
    ]
    (first, second) = [line for _, line in read.lines()]
    assert (first.fate, first.winner) == ("overridden", read.variable("NCCL_A"))
    assert second.fate == "used"


def host(*roles: str, **environment: str) -> HostFacts:
    files = tuple(ConfFile(role=role, path=f"/{role}", text=f"NCCL_BY={role}") for role in roles)
    return HostFacts(host="n1", env=environment, conf_files=files)


ALL = ("NCCL_CONF_FILE", "home", "HOME", "system")


@pytest.mark.parametrize(
    ("version", "environment", "roles", "winner"),
    [
        (NEW, {"NCCL_CONF_FILE": "/x"}, ALL, "NCCL_CONF_FILE"),
        (OLD, {"NCCL_CONF_FILE": "/x"}, ALL, "home"),
        (NEW, {}, ALL, "HOME"),
        (NEW, {}, ("home", "system"), "home"),
        (Version(2, 29, 7), {}, ALL, "home"),
        (NEW, {"NCCL_CONF_FILE": ""}, ("home", "system"), "home"),
        (None, {}, ("system",), "system"),
        (NEW, {"NCCL_BY": "environment"}, ALL, "environment"),
    ],
)
def test_which_file_counts(
    version: Version | None, environment: dict[str, str], roles: tuple[str, ...], winner: str
) -> None:
    assert settings.of(host(*roles, **environment), version).get("NCCL_BY") == winner


def test_a_file_that_cannot_be_read_sets_nothing() -> None:
    file = ConfFile(role="system", path="/etc/nccl.conf", text=Unknown("Permission denied"))
    read = settings.build({"NCCL_A": "1"}, [file])
    assert [one.name for one in read.all()] == ["NCCL_A"]
    assert read.read_files()[0].lines == Unknown("Permission denied")


def test_an_environment_that_is_not_known_gives_nothing_away() -> None:
    unread = settings.of(HostFacts(host="n1", env_source="none: /proc/self/environ cannot be read"))
    for read in (unread.all, unread.read_files, lambda: unread.get("NCCL_A"), lambda: list(unread.lines())):
        with pytest.raises(NotKnown, match="environ cannot be read"):
            read()


def test_numbers_and_names() -> None:
    read = settings.build(
        {"NCCL_A": "4M", "NCCL_B": "", "NCCL_C": "9" * 30, "NCCL_SOCKET_IFNAME": "e", "NCCL_IB_HCA": "m"}
    )
    assert [read.integer(f"NCCL_{letter}") for letter in "ABCD"] == [4, None, None, None]
    assert read.names("NCCL_SOCKET_IFNAME") is None  # NCCL ignores a single letter
    assert read.names("NCCL_IB_HCA") is not None


@given(st.binary(max_size=6000))
def test_any_file_can_be_read(data: bytes) -> None:
    text = data.decode(errors="backslashreplace")
    for version in (OLD, NEW):
        list(built(text, version).all())
