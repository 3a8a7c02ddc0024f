"""The JSON of nccl-tests: its three versions, its oddities, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Report, Told
from nccltool.interop.importers.nearest import LOOKED_FOR
from tests.interop.importers import samples

File = dict[str, Any]
Change = Callable[[File], object]
NAMES = [name for name in samples.READ if name.endswith(".json") and "rccl" not in name]


def whole() -> File:
    file: File = json.loads(samples.data("alltoall-v2.json"))
    return file


def read(file: object) -> Report:
    (test,) = importers.read(json.dumps(file).encode(), "out.json", Told())
    return test


def refused(text: str) -> str:
    with pytest.raises(BadInput) as raised:
        importers.read(text.encode(), "out.json", Told())
    assert raised.value.remedy
    return raised.value.message


def change(path: str, value: object) -> Change:
    *way, last = [int(word) if word.isdecimal() else word for word in path.split(".")]

    def apply(file: Any) -> None:
        for word in way:
            file = file[word]
        if value is None:
            del file[last]
        else:
            file[last] = value

    return apply


@pytest.mark.parametrize("name", NAMES)
def test_versions_say_the_same(name: str) -> None:
    (test,) = samples.read(name)
    assert (test.world_size, test.hosts) == (8, ("node-a", "node-b"))
    assert test.out_of_bounds == 0
    assert test.backend_version == "2.29.7"


@pytest.mark.parametrize("value", [True, False])
def test_booleans(value: bool) -> None:
    for word in (value, int(value), str(value).lower(), str(int(value))):
        file = whole()
        change("config.blocking_collectives", word)(file)
        assert read(file).cadence == ("isolated" if value else "stream")


@pytest.mark.parametrize(
    ("okay", "under"), [("unchecked", False), ("true", False), ("false", True), (False, True)]
)
def test_the_judgement_of_nccl_tests(okay: object, under: bool) -> None:
    file = whole()
    change("average_bus_bandwidth.okay", okay)(file)
    assert read(file).under_minimum == under


def test_a_world_is_processes_times_threads_times_gpus() -> None:
    file = whole()
    change("config.ngpus", 4)(file)
    change("config.nthreads", 2)(file)
    assert read(file).world_size == 64


def test_only_the_first_group_counts() -> None:
    file = whole()
    for device in file["config"]["devices"][4:]:
        device["group"] = 1
    test = read(file)
    assert (test.world_size, test.hosts) == (4, ("node-a",))
    assert "8 processes ran in groups; the numbers are from the 4 in the first group" in test.said


def test_a_list_of_files() -> None:
    tests = importers.read(json.dumps([whole(), whole()]).encode(), "out.json", Told())
    assert [test.where for test in tests] == ["out.json, [0]", "out.json, [1]"]


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("version", 4, "out.json: version 4 of nccl-tests' JSON; expected 1 to 3"),
        ("version", "3", "out.json: version '3' of nccl-tests' JSON; expected 1 to 3"),
        ("version", None, "out.json: version None of nccl-tests' JSON; expected 1 to 3"),
        (
            "out_of_bounds",
            None,
            "out.json: the test was stopped: expected config, out_of_bounds, and average_bus_bandwidth",
        ),
        (
            "results.1.in_place.busbw",
            7,
            "out.json, results[1]: not in the format that nccl-tests writes: "
            "Object contains unknown field `busbw` - at `$.in_place`",
        ),
        (
            "results.1.size",
            "x",
            "out.json, results[1]: not in the format that nccl-tests writes: "
            "Expected `int`, got `str` - at `$.size`",
        ),
        (
            "results.1.in_place.alg_bw",
            "much",
            "out.json, results[1]: 'much' is not a number; expected one, or \"nan\"",
        ),
        ("results.1.in_place.alg_bw", -1.0, "out.json, results[1]: -1.0 is negative"),
        ("results.1.in_place.nwrong", "nan", "out.json, results[1]: 'nan' is not a number"),
        ("results.1.in_place.time", None, "out.json, results[1]: in-place has neither time nor cpu_time"),
        ("results.1.in_place.time", 1e300, "out.json, results[1]: 1e+300 is implausibly large"),
        (
            "results.1.redop",
            "plus",
            "out.json, results[1]: expected a reduction (sum prod max min avg mulsum none), found plus",
        ),
        ("config.ngpus", 10**9, "out.json: it lists 8000000000 ranks; expected 1 to 1000000"),
        ("config.nthreads", -1, "out.json: it lists -8 ranks; expected 1 to 1000000"),
        ("results.1.root", "all", "out.json, results[1]: root 'all' is not a rank"),
        ("config.blocking_collectives", "maybe", 'out.json: \'maybe\' is neither "true" nor "false"'),
        (
            "args.0",
            "./hypercube_perf",
            "out.json: ./hypercube_perf tests an operation that nccltool does not know",
        ),
        ("args", [], "out.json: it does not name its operation (nccl-tests before 2.17)"),
        ("config.devices", [], "out.json: it does not list its ranks"),
        ("average_bus_bandwidth.bandwidth", None, "out.json: average_bus_bandwidth has no bandwidth"),
    ],
)
def test_refused(path: str, value: object, sentence: str) -> None:
    file = whole()
    change(path, value)(file)
    assert refused(json.dumps(file)) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "out.json, line 1: broken JSON: Expecting property name enclosed in double quotes at column 2"),
        ('{"version": 3,\n "args": nan}', "out.json, line 2: broken JSON: Expecting value at column 10"),
        ('{"version": NaN}', "out.json: broken JSON: NaN is not a number in JSON"),
        ("[" * 100_000, "out.json: broken JSON: maximum recursion depth exceeded"),
        (
            "{}",
            f"out.json: no result of {LOOKED_FOR} found, and nothing like one",
        ),
        ("[]", "out.json: it contains no results"),
    ],
)
def test_broken(text: str, sentence: str) -> None:
    assert refused(text).startswith(sentence)
