"""The chaos bench: what it takes for right and wrong, and a few of its trials."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from benchmarks import chaos, chaos_processes, chaos_trials
from benchmarks.chaos_places import OverSsh
from benchmarks.chaos_processes import Process
from benchmarks.chaos_run import Stage
from benchmarks.chaos_trials import Act, Phase, Scene, Target, Trial
from benchmarks.chaos_truth import Naming, Outcome, Score, judge

LOCAL = Scene("probe", is_ssh=False, nodes=2, ranks=2)
BY_SSH = Scene("probe", is_ssh=True, nodes=3, ranks=1)
HERE, HOSTS = ("vm", "vm"), ("n1", "n2", "n3")


def trial(scene: Scene, target: Target, act: Act, node: int = 1, local_rank: int = 0) -> Trial:
    return Trial(
        seed=1,
        scene=scene,
        target=target,
        act=act,
        node=node,
        local_rank=local_rank,
        peer=2,
        phase=Phase.MEASURING,
        share=0.5,
        jitter_s=0.0,
        hold_s=2.0,
    )


def document(code: int, *named: tuple[str, str], rows: int = 1, severity: str = "error") -> dict[str, Any]:
    return {
        "kind": "probe",
        "exit_code": code,
        "run": {"rows_planned": 4},
        "measurements": [{}] * rows,
        "findings": [
            {"code": "x", "severity": severity, "subject": {"kind": kind, "name": name}, "message": ""}
            for kind, name in named
        ],
    }


def outcome(
    code: int | None, said: dict[str, Any] | None, was_hit: bool = True, left: tuple[str, ...] = ()
) -> Outcome:
    return Outcome(was_hit=was_hit, code=code, document=said, torn=(), left=left, seconds=1.0)


DONE = document(0, rows=4)
RANK, AGENT = trial(LOCAL, Target.RANK, Act.TERM), trial(LOCAL, Target.AGENT, Act.KILL)
NODE = trial(LOCAL, Target.NODE, Act.KILL)
FAR_END, CUT = trial(BY_SSH, Target.FAR_END, Act.STOP), trial(BY_SSH, Target.NETWORK, Act.DROP)
SSH = trial(BY_SSH, Target.SSH, Act.STOP)
ONE_WAY = trial(BY_SSH, Target.NETWORK, Act.ONE_WAY)
RUNNER, RUNNER_KILLED = (trial(LOCAL, Target.RUNNER, act) for act in (Act.INT, Act.KILL))
RUNNER_PAUSED = trial(LOCAL, Target.RUNNER, Act.PAUSE)


@pytest.mark.parametrize(
    ("disturbed", "named", "naming"),
    [
        (RANK, [("rank", "2")], Naming.RIGHT),
        (RANK, [("rank", "3")], Naming.INNOCENT),
        (RANK, [("rank", "2"), ("rank", "3")], Naming.INNOCENT),  # an echo beside it
        (RANK, [("run", "all ranks")], Naming.UNNAMED),
        (RANK, [("host", "vm")], Naming.UNNAMED),  # true, but which rank?
        (RANK, [("host", "node 1")], Naming.INNOCENT),
        (AGENT, [("host", "vm")], Naming.RIGHT),
        (AGENT, [("rank", "2")], Naming.INNOCENT),  # it went down with its agent
        (FAR_END, [("host", "n2")], Naming.RIGHT),
        (SSH, [("link", "n1 - n2")], Naming.RIGHT),
        (SSH, [("host", "n1")], Naming.INNOCENT),
        (FAR_END, [("host", "n3")], Naming.INNOCENT),
        (CUT, [("rank", "1")], Naming.RIGHT),
        (CUT, [("link", "n1 - n2")], Naming.RIGHT),
        (CUT, [("link", "n3 - n2")], Naming.RIGHT),
        (CUT, [("link", "n1 - n3")], Naming.INNOCENT),
        (CUT, [("host", "n1")], Naming.INNOCENT),
        (ONE_WAY, [("host", "n3")], Naming.RIGHT),
        (ONE_WAY, [("host", "n1")], Naming.INNOCENT),
        (ONE_WAY, [("link", "n2 - n3")], Naming.RIGHT),
        (ONE_WAY, [("link", "n1 - n2")], Naming.INNOCENT),
        (NODE, [("run", "node process")], Naming.RIGHT),  # the only one
        (RANK, [("run", "node process")], Naming.INNOCENT),
        (RUNNER_PAUSED, [("run", "this command")], Naming.RIGHT),
        (RUNNER_PAUSED, [("rank", "0")], Naming.INNOCENT),
    ],
)
def test_who_is_named(disturbed: Trial, named: list[tuple[str, str]], naming: Naming) -> None:
    hosts = HOSTS if disturbed.scene.is_ssh else HERE
    score = judge(disturbed, hosts, outcome(3, document(3, *named)))
    assert (score.naming, score.is_exit_right, score.is_document_whole) == (naming, True, True)


@pytest.mark.parametrize(
    ("disturbed", "came", "naming", "is_exit_right", "is_whole"),
    [
        pytest.param(RANK, outcome(0, document(0, rows=4)), Naming.NOBODY, True, True, id="the run was done"),
        pytest.param(RANK, outcome(0, document(0, rows=3)), Naming.UNNAMED, False, True, id="a row is lost"),
        pytest.param(RANK, outcome(4, document(4, ("rank", "2"))), Naming.RIGHT, False, True, id="not 4"),
        pytest.param(RANK, outcome(1, document(1, ("rank", "2"))), Naming.RIGHT, False, True, id="not 1"),
        pytest.param(RANK, outcome(3, document(4, ("rank", "2"))), Naming.RIGHT, True, False, id="two codes"),
        pytest.param(RANK, outcome(None, None), Naming.UNNAMED, False, False, id="it hangs"),
        pytest.param(
            RANK, outcome(3, document(3, ("rank", "2")), was_hit=False), Naming.INNOCENT, False, True, id="not hit"
        ),
        pytest.param(RUNNER, outcome(130, document(130)), Naming.NOBODY, True, True, id="interrupted"),
        pytest.param(RUNNER, outcome(3, document(3)), Naming.NOBODY, False, True, id="not 3"),
        pytest.param(RUNNER, outcome(-2, None), Naming.NOBODY, False, False, id="ended by the signal"),
        pytest.param(RUNNER_KILLED, outcome(-9, None), Naming.NOBODY, True, True, id="killed"),
        pytest.param(
            RUNNER_KILLED, outcome(-9, DONE), Naming.NOBODY, True, True, id="killed behind its last line"
        ),
        pytest.param(RUNNER_KILLED, outcome(3, DONE), Naming.NOBODY, False, True, id="done, and not 0"),
        pytest.param(
            replace(RANK, act=Act.PAUSE),
            outcome(1, document(1, ("rank", "2"))),
            Naming.RIGHT,
            True,
            True,
            id="late",
        ),
    ],
)
def test_exit_code_and_document(
    disturbed: Trial, came: Outcome, naming: Naming, is_exit_right: bool, is_whole: bool
) -> None:
    score = judge(disturbed, HERE, came)
    assert (score.naming, score.is_exit_right, score.is_document_whole) == (naming, is_exit_right, is_whole)
    assert score.is_right == (
        naming is not Naming.INNOCENT and naming is not Naming.UNNAMED and is_exit_right and is_whole
    )


def test_all_ranks_of_a_message_are_named() -> None:
    said = document(3, ("rank", "1"))
    said["findings"][0]["message"] = "ranks 1, 2 on n2, n3 made no progress for 4 s"
    assert judge(CUT, HOSTS, outcome(3, said)).named == (("rank", "1"), ("rank", "2"))
    assert judge(CUT, HOSTS, outcome(3, said)).naming is Naming.INNOCENT


def test_hosts_in_one_word_are_named_each() -> None:
    assert judge(CUT, HOSTS, outcome(3, document(3, ("host", "n[2-3]")))).named == (("host", "n2"), ("host", "n3"))


def test_a_warning_blames_nobody() -> None:
    said = document(0, ("rank", "1"), rows=4, severity="warning")
    assert judge(RANK, HERE, outcome(0, said)).naming is Naming.NOBODY


def test_what_is_left_is_wrong() -> None:
    came = outcome(3, document(3, ("rank", "2")), left=("tmp/nccltool-x",))
    assert not judge(RANK, HERE, came).is_right


def test_a_seed_is_a_trial() -> None:
    seeds = range(3000)
    trials = [chaos_trials.draw(seed) for seed in seeds]
    assert trials == [chaos_trials.draw(seed) for seed in seeds]
    seen = Counter((one.scene.is_ssh, one.target) for one in trials)
    assert {target for is_ssh, target in seen if is_ssh} == set(Target)
    assert {target for is_ssh, target in seen if not is_ssh} == set(Target) - {
        Target.FAR_END,
        Target.SSH,
        Target.NETWORK,
    }
    assert {one.act for one in trials} == set(Act)
    for one in trials:
        assert one.node < one.scene.nodes
        assert one.local_rank < one.scene.ranks
        assert one.peer != one.node or one.scene.nodes == 1
        assert not (one.act is Act.STOP and one.target is Target.RUNNER)


def tree(runner: int, scene: Scene) -> list[Process]:
    """The processes of a run: node processes, agents, supervisors and ranks, numbered as they start."""
    numbers, found = itertools.count(runner + 1), []

    def fork(parent: int, network: int) -> int:
        found.append(Process(next(numbers), parent, 100, ("python", "-m", "nccltool.worker"), network))
        return found[-1].pid

    node_process = 0
    for node in range(scene.nodes):
        if scene.is_ssh or not node:
            node_process = fork(fork(runner, node) if scene.is_ssh else runner, node)
        agent = fork(node_process, node)
        for supervisor in [fork(agent, node) for _ in range(scene.ranks)]:
            fork(supervisor, node)
    return found


@pytest.mark.parametrize(
    ("target", "local", "by_ssh"),
    [(Target.NODE, 11, 17), (Target.AGENT, 17, 18), (Target.SUPERVISOR, 19, 19), (Target.RANK, 21, 20)],
)
def test_the_target_is_found(target: Target, local: int, by_ssh: int) -> None:
    hit = trial(LOCAL, target, Act.KILL, local_rank=1)
    assert chaos_processes.find(hit, 10, tree(10, LOCAL), (0, 0)) == local
    hit = trial(BY_SSH, target, Act.KILL)
    assert chaos_processes.find(hit, 10, tree(10, BY_SSH), (0, 1, 2)) == by_ssh
    assert chaos_processes.find(hit, 10, [], (0, 1, 2)) is None


def test_a_child_command_is_no_ssh_and_no_fork() -> None:
    hit = trial(replace(BY_SSH, product="preflight"), Target.CHILD, Act.KILL)
    ssh = Process(11, 10, 100, ("ssh", "-T", "--", "n1", "/venv/bin/python", "-m", "nccltool.worker"), 0)
    child = Process(12, 10, 101, ("/venv/bin/python", "-m", "nccltool", "probe"), 0)
    fork = Process(13, 10, 102, ("/venv/bin/python", "-m", "nccltool", "preflight", "--nodes", "2"), 0)
    assert chaos_processes.find(hit, 10, [child, ssh, fork], (0, 1, 2)) == 12
    assert chaos_processes.find(hit, 10, [ssh, fork], (0, 1, 2)) is None


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("chaos")) as one:
        yield one


def assert_right(stage: Stage, seed: int) -> None:
    drawn = chaos_trials.draw(seed)
    came, _ = stage.run(drawn)
    score = judge(drawn, stage.place(drawn.scene).hosts(drawn.scene), came)
    assert score.is_right, f"seed {seed}, {drawn}: {score}\n{came.document}"


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("seed", [103, 107, 131, 176, 178, 186, 205])
def test_trials_on_one_host(stage: Stage, seed: int) -> None:
    assert_right(stage, seed)


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.parametrize("seed", [1000, 1018, 4003, 4007, 4034, 4037])
def test_trials_over_ssh(stage: Stage, seed: int) -> None:
    if reason := OverSsh.missing():
        pytest.skip(reason)
    assert_right(stage, seed)


def result(score: Score) -> chaos.Result:
    return chaos.Result(RANK.seed, f"{RANK}", RANK.target, RANK.act, score)


def test_the_table() -> None:
    right = Score(Naming.RIGHT, True, True, (), 2.0, was_hit=True)
    results = [result(right), result(replace(right, naming=Naming.INNOCENT, seconds=4.4, was_hit=False))]
    assert list(chaos.table(results))[2:] == [
        "| rank | SIGTERM, SIGINT, SIGHUP | 2 | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 4 s |",
        "| all |  | 2 | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 4 s |",
    ]
