"""DRAW a trial of the chaos bench from its seed: which command, who is hit, by what, and when."""

import enum
import random
import signal
from dataclasses import dataclass

HOLD_S = (1.0, 9.0)
"""How long a pause lasts: from less than --timeout to more than twice as long."""
JITTER_S = 0.3
"""A row takes about as long: what is aimed at one event of the run also comes between two."""


class Target(enum.StrEnum):
    """Who is hit."""

    RANK = "rank"
    SUPERVISOR = "supervisor"
    AGENT = "agent"
    NODE = "node-process"
    FAR_END = "far-end"
    SSH = "ssh"
    CHILD = "child-command"
    """A command that preflight starts."""
    RUNNER = "runner"
    NETWORK = "network"
    """Of one host."""


class Act(enum.StrEnum):
    """What is done to it."""

    KILL = "SIGKILL"
    TERM = "SIGTERM"
    INT = "SIGINT"
    HUP = "SIGHUP"
    SEGV = "SIGSEGV"
    ABRT = "SIGABRT"
    STOP = "SIGSTOP"
    PAUSE = "pause"
    """SIGSTOP, and SIGCONT later."""
    DROP = "drop"
    DROP_DATA = "drop-data"
    """All but ssh."""
    ONE_WAY = "one-way"
    """What one host sends to one other, all but ssh."""
    RESET = "reset"
    """Data connections are answered by a TCP reset."""
    LINK_DOWN = "link-down"
    FLAP = "flap"
    """The link goes down, and comes up later."""
    LOSS = "loss"
    SHAPE = "shape"
    MTU = "mtu"
    """Large packets vanish."""

    @property
    def signal(self) -> signal.Signals:
        """The signal that is sent; SIGSTOP for a pause."""
        return signal.SIGSTOP if self is Act.PAUSE else signal.Signals[self.value]


_GROUPS = {
    **dict.fromkeys((Act.KILL, Act.SEGV, Act.ABRT), "SIGKILL, SIGSEGV, SIGABRT"),
    **dict.fromkeys((Act.TERM, Act.INT, Act.HUP), "SIGTERM, SIGINT, SIGHUP"),
}


def group(act: str) -> str:
    """Acts that are one row of the table."""
    return _GROUPS.get(Act(act), act)


PROCESS_ACTS = (Act.KILL, Act.TERM, Act.INT, Act.HUP, Act.SEGV, Act.ABRT, Act.STOP, Act.PAUSE)
NETWORK_ACTS = (
    *(Act.DROP, Act.DROP_DATA, Act.ONE_WAY, Act.RESET, Act.LINK_DOWN),
    *(Act.FLAP, Act.LOSS, Act.SHAPE, Act.MTU),
)


class Phase(enum.StrEnum):
    """The part of the run in which it happens."""

    START = "start"
    MEASURING = "measuring"
    ENDING = "ending"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Scene:
    """The command that is disturbed."""

    product: str
    is_ssh: bool
    """Over ssh, on one host for each node; else all nodes are emulated on this machine."""
    nodes: int
    ranks: int
    """On each node."""

    def __str__(self) -> str:
        return f"{'ssh' if self.is_ssh else 'local'} {self.product} {self.nodes}x{self.ranks}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One disturbance of one run."""

    seed: int
    scene: Scene
    target: Target
    act: Act
    node: int
    """Where the target is."""
    local_rank: int
    """Which rank of that node, for a rank or its supervisor."""
    peer: int
    """The node that no longer hears the other, when one way is cut."""
    phase: Phase
    share: float
    """Of the phase, which has passed."""
    jitter_s: float
    """After an event that is waited for."""
    hold_s: float
    """How long a pause lasts."""

    @property
    def rank(self) -> int:
        return self.node * self.scene.ranks + self.local_rank

    @property
    def whom(self) -> str:
        """The target with its number."""
        if self.target in (Target.RANK, Target.SUPERVISOR):
            return f"{self.target} {self.rank}"
        has_place = self.target not in (Target.RUNNER, Target.CHILD)
        return f"{self.target}{f' of node {self.node}' if has_place else ''}"

    def __str__(self) -> str:
        to = f" to node {self.peer}" if self.act is Act.ONE_WAY else ""
        held = f" {self.hold_s:.1f}s" if self.act in (Act.PAUSE, Act.FLAP) else ""
        return f"{self.scene}: {self.act}{held}{to} {self.whom}, {self.phase}+{self.share:.2f}"


_TARGETS = (Target.RANK, Target.SUPERVISOR, Target.AGENT, Target.NODE, Target.RUNNER)
_WEIGHTS = (40, 15, 15, 15, 15)
_TARGETS_BY_SSH = (*_TARGETS, Target.FAR_END, Target.SSH, Target.NETWORK)
_WEIGHTS_BY_SSH = (20, 8, 8, 8, 8, 10, 8, 30)
_LOCAL_SHAPES = ((1, 2), (1, 3), (1, 4), (2, 1), (2, 1), (2, 2), (2, 2), (2, 3), (2, 4))
_PHASES, _PHASE_WEIGHTS = (Phase.START, Phase.MEASURING, Phase.ENDING, Phase.ANY), (25, 45, 15, 15)


def draw(seed: int) -> Trial:
    """The trial of a seed; each choice has a source of its own, so that a new kind moves few others."""
    is_ssh = _source(seed, "place").random() < 0.4
    (target,) = _source(seed, "target").choices(
        _TARGETS_BY_SSH if is_ssh else _TARGETS, _WEIGHTS_BY_SSH if is_ssh else _WEIGHTS
    )
    scene = _scene(seed, is_ssh, target)
    if scene.product == "preflight" and target is Target.RUNNER and _source(seed, "child").random() < 0.5:
        target = Target.CHILD
    node = _source(seed, "node").randrange(scene.nodes)
    return Trial(
        seed=seed,
        scene=scene,
        target=target,
        act=_act(seed, target),
        node=node,
        local_rank=_source(seed, "rank").randrange(scene.ranks),
        peer=(node + _source(seed, "peer").randrange(1, max(scene.nodes, 2))) % scene.nodes,
        phase=_source(seed, "phase").choices(_PHASES, _PHASE_WEIGHTS)[0],
        share=round(_source(seed, "share").random(), 2),
        jitter_s=round(_source(seed, "jitter").uniform(0.0, JITTER_S), 2),
        hold_s=round(_source(seed, "hold").uniform(*HOLD_S), 1),
    )


def _source(seed: int, what: str) -> random.Random:
    return random.Random(f"{what} {seed}")


def _scene(seed: int, is_ssh: bool, target: Target) -> Scene:
    (product,) = _source(seed, "product").choices(("probe", "train", "preflight"), (55, 25, 20))
    source = _source(seed, "shape")
    if is_ssh:
        # of two hosts whose connection is cut nobody can tell which one is at fault
        nodes = 3 if target is Target.NETWORK else source.choice((2, 2, 3))
        return Scene(product, True, nodes, source.choice((1, 1, 2)))
    return Scene(product, False, *source.choice(_LOCAL_SHAPES))


def _act(seed: int, target: Target) -> Act:
    act = _source(seed, "act").choice(NETWORK_ACTS if target is Target.NETWORK else PROCESS_ACTS)
    # whoever stops a command for good waits for it for ever, and may
    return Act.PAUSE if act is Act.STOP and target in (Target.RUNNER, Target.CHILD) else act
