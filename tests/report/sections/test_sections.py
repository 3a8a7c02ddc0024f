"""What each section says of each kind of material: its headline and the number that is remembered."""

from dataclasses import replace
from typing import Any

import pytest

from nccltool.report import sections
from nccltool.report.material import Material
from nccltool.report.parts import ChartPart, FoldPart, MatrixPart, ReportSection, SwitchPart, TablePart
from tests import samples
from tests.preflight.samples import outcome
from tests.report import materials

SAID = {
    "probe": {
        "findings": ("No problem was found; 1 note.", "0"),
        "bandwidth": (
            "3 curves over 1 KiB to 4 MiB; the highest bus bandwidth is 1.50 GB/s (all_reduce, 1 KiB),"
            " 75 % of the limit.",
            "1.50 GB/s",
        ),
        "iterations": (
            "The longest tail is that of all_reduce at 1 KiB: its longest iteration took 2 times the median.",
            "2 x",
        ),
        "late-ranks": ("The others waited for rank 3 by 4.2 ms.", "1"),
    },
    "pairs": {
        "findings": ("2 errors: node-slow, pairs-undetermined.", "2"),
        "suspects": (f"1 suspect: {materials.pairs().localization.reason}", "1"),
        "pairs": ("3 of 5 measurements below 95 % of the healthy speed; the noise is 1 %.", "87.60 GB/s"),
    },
    "preflight": {
        "findings": ("1 error: rank-died.", "1"),
        "hosts": ("2 hosts: 1 pass, 1 fail; exclude n2.", "1"),
    },
    "train": {
        "training": ("0 of 1 training equal the reference; ddp differs.", "0 of 1"),
        "pipeline": (
            "ddp (gpipe): 2 ranks with 2 micro-batches have nothing to compute for 33 % of a step, 33 % if all"
            " stages take the same time.",
            "33 %",
        ),
    },
    "failed": {
        "triage": ("The logs show out-of-memory: rank 1, with a confidence of 0.90.", "0.90"),
        "timeline": ("First: rank 1 killed by signal 9. Waiting in a call: rank 0.", "1"),
    },
    "compared": {"trends": ("0 of 2 runs failed, from 2025-01-02T03:04:05Z to 2025-01-03T03:04:05Z.", "0 of 2")},
    "scaled": {"scaling": ("Efficiency of weak scaling 50 % from 1 to 4 ranks.", "50 %")},
    "nights": {
        "history": (
            "all_reduce 4 MiB 20.1 % lower since 2025-01-11; failed again and again: beta; changing between good"
            " and bad: beta.",
            "20",
        ),
        "trends": ("2 of 20 runs failed, from 2025-01-01T03:04:05Z to 2025-01-20T03:04:05Z.", "2 of 20"),
    },
    "empty": {
        "environment": ("Run 20250102T030405Z-beef, started 2025-01-02T03:04:05Z, with nccltool 0.1.0.", "")
    },
}


def _of(material: Material) -> dict[str, Any]:
    return {one.id: one for one in sections.of(material)}


@pytest.mark.parametrize(
    ("name", "section", "said"),
    [(name, section, said) for name, of in SAID.items() for section, said in of.items()],
)
def test_the_headline_and_the_figure(name: str, section: str, said: tuple[str, str]) -> None:
    made = _of(materials.ALL[name]())[section]
    assert (made.headline, made.figure.value if made.figure else "") == said


@pytest.mark.parametrize("name", materials.ALL)
def test_sections_come_in_their_order_and_once(name: str) -> None:
    made = [one.id for one in sections.of(materials.ALL[name]())]
    assert made == [known for known in sections.names() if known in made]
    assert len(made) == len(set(made))


def test_a_section_without_material_is_none() -> None:
    assert set(_of(materials.of(samples.empty_run()))) == {"environment"}


def test_every_section_is_made_by_some_material() -> None:
    made = {one.id for material in materials.ALL.values() for one in sections.of(material())}
    assert made == set(sections.names())


def _first(section: ReportSection, kind: type) -> Any:
    return next(part for part in section.parts if isinstance(part, kind))


def test_algbw_is_a_view_only_where_it_differs_from_busbw() -> None:
    switches = [part for part in _of(materials.ALL["probe"]())["bandwidth"].parts if isinstance(part, SwitchPart)]
    assert [[word for word, _ in one.charts] for one in switches] == [
        ["busbw", "algbw", "time"],
        ["busbw", "algbw", "time"],
        ["busbw", "time"],
    ]
    assert [point["y"] for point in switches[0].charts[0][1].values] == pytest.approx([1.5] * 4)
    assert [point["y"] for point in switches[0].charts[1][1].values] == pytest.approx([1.0] * 4)
    assert [point["y"] for point in switches[0].charts[2][1].values] == pytest.approx(
        [0.977, 15.6, 250, 4000], rel=0.01
    )


def test_a_comparison_draws_the_earlier_run_and_says_who_is_slower() -> None:
    made = _of(materials.compared())
    assert made["compared"].headline.startswith("B is slower than A: the typical row is 20x slower")
    chart = _first(made["bandwidth"], SwitchPart).charts[0][1]
    assert [point["earlier"] for point in chart.values] == pytest.approx([1.5] * 4)
    assert [point["y"] for point in chart.values] == pytest.approx([0.075] * 4)
    assert chart.key[-1].label == "20250102T030405Z-beef"


def test_runs_that_cannot_be_compared_say_why() -> None:
    material = materials.of(materials.swept(), materials.swept("b"), not_compared="torch (2.12; 2.13)")
    (note,) = _of(material)["compared"].parts
    assert note.text == "torch (2.12; 2.13)"


def test_the_matrix_has_the_slowest_first() -> None:
    part = _first(_of(materials.ALL["pairs"]())["pairs"], MatrixPart)
    assert part.rows[:2] == ("284", "644")
    assert part.table.rows[0][0] == "284 - 678"


def test_hosts_with_trouble_are_folded_first() -> None:
    folds = [part for part in _of(materials.ALL["preflight"]())["hosts"].parts if isinstance(part, FoldPart)]
    assert [(one.summary, one.tone) for one in folds] == [
        ("all hosts together: 1 pass", "pass"),
        ("n2: 1 fail", "fail"),
        ("n1: 1 warn", "warn"),
    ]


def test_of_many_hosts_only_trouble_is_folded_out() -> None:
    few = materials.preflight()
    hosts = [f"n{number}" for number in range(1, 1025)]
    checks = [outcome(f"doctor/LIM{number:03}", "pass", host) for host in hosts for number in range(20)]
    many = replace(few, outcomes=(*few.outcomes, *checks), info=replace(few.info, hosts=tuple(hosts)))
    folds = [part for part in _of(materials.of(many))["hosts"].parts if isinstance(part, FoldPart)]
    assert [one.summary for one in folds] == [
        "all hosts together: 1 pass",
        "n2: 1 fail, 20 pass",
        "n1: 1 warn, 20 pass",
    ]
    assert [len(one.parts[0].rows) for one in folds if isinstance(one.parts[0], TablePart)] == [1, 1, 1]


def test_what_failed_leads_to_its_page_in_the_report() -> None:
    made = _of(materials.failed())
    links = {part.link for part in made["findings"].parts if getattr(part, "link", "")}
    assert links == {part.id for part in made["manual"].parts}


def test_exposed_communication_that_is_not_known_is_no_number() -> None:
    run = materials.trained()
    unknown = replace(run, trainings=(replace(run.trainings[0], exposed_communication_ratio=None),))
    part = _first(_of(materials.of(unknown))["training"], ChartPart)
    assert [(one["low"], one["high"]) for one in part.values] == [(0.0, 200.0)]
    assert "not known" in part.values[0]["about"]


def test_runs_are_followed_at_a_size_that_most_of_them_have() -> None:
    runs = [materials.swept(str(number)) for number in range(3)]
    nights = [
        replace(run, info=replace(run.info, started=f"2025-01-0{day}T00:00:00Z"))
        for day, run in enumerate(runs, 1)
    ]
    other = replace(nights[2], measurements=tuple(replace(row, bytes=2**30) for row in nights[2].measurements))
    chart = _first(_of(materials.of(*nights[:2], other))["trends"], ChartPart)
    assert chart.table.headers[0:2] == ("started", "all_reduce, 1 KiB")
    assert [row[1].partition(" ")[0] for row in chart.table.rows] == ["1.50", "1.50", "unknown"]
    assert [(one["x"] > 0, one["low"] <= one["y"] <= one["high"]) for one in chart.values] == [(True, True)] * 6


def test_runs_of_other_sizes_are_no_trend() -> None:
    runs = [
        replace(run, info=replace(run.info, world_size=ranks, started=f"2025-01-0{day}T00:00:00Z"))
        for day, (ranks, run) in enumerate(((2, materials.swept("a")), (4, materials.swept("b"))), 1)
    ]
    again = replace(runs[0], info=replace(runs[0].info, id="c", started="2025-01-03T00:00:00Z"))
    kinds = [type(part) for part in _of(materials.of(*runs))["trends"].parts]
    assert kinds == [TablePart]
    chart = _first(_of(materials.of(*runs, again))["trends"], ChartPart)
    assert [row[0][:10] for row in chart.table.rows] == ["2025-01-01", "2025-01-03"]


def test_a_pipeline_is_drawn_rank_by_rank() -> None:
    part = _first(_of(materials.ALL["train"]())["pipeline"], ChartPart)
    assert [(one["name"], one["low"], one["high"], one["label"]) for one in part.values[:3]] == [
        ("rank 0", pytest.approx(0), pytest.approx(10), "0"),
        ("rank 0", pytest.approx(10), pytest.approx(20), "1"),
        ("rank 1", pytest.approx(10), pytest.approx(20), "0"),
    ]
    assert [one["first"] for one in part.values] == [True, False, True, False, False, False, False, False]
    assert [row[-1] for row in part.table.rows] == ["33 %", "33 %"]
    assert [one.label for one in part.key] == ["forward", "backward", "nothing to compute"]


def test_a_pipeline_of_an_older_release_has_its_share_alone() -> None:
    run = materials.trained()
    bubble = run.trainings[0].bubble
    assert bubble
    old = replace(run, trainings=(replace(run.trainings[0], bubble=replace(bubble, passes=())),))
    made = _of(materials.of(old))["pipeline"]
    assert (made.figure.value, made.parts[0].text) == ("33 %", "When each rank of ddp computed was not recorded.")


def test_a_guess_of_triage_is_called_one() -> None:
    material = materials.failed()
    assert material.incident is not None
    guess = replace(material, incident=replace(material.incident, confidence=0.5))
    assert _of(guess)["triage"].headline == (
        "The logs fit out-of-memory: rank 1, with a confidence of 0.50: a guess."
    )


def test_a_check_that_did_not_pass_shows_its_history() -> None:
    run = materials.preflight()
    outcomes = (*run.outcomes[:2], replace(run.outcomes[2], before="did not pass in 4 of 9 runs since 2026-11-03"))
    made = _of(materials.of(replace(run, outcomes=outcomes)))["hosts"]
    folds = [part for part in made.parts if isinstance(part, FoldPart)]
    cells = [row[4] for fold in folds for part in fold.parts if isinstance(part, TablePart) for row in part.rows]
    assert "wrong data; history: did not pass in 4 of 9 runs since 2026-11-03" in cells
