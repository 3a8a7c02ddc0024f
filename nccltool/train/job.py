"""Smoke training runs, as they cross to the workers: what is trained, and how."""

from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from nccltool.launch.job import Job
from nccltool.train import strategies
from nccltool.train.state import TrainState
from nccltool.train.strategies import deepspeed
from nccltool.train.strategies.base import CommonOptions, OptionValue, StrategyOptions

Group = TypeVar("Group", bound=StrategyOptions)


@dataclass(frozen=True, kw_only=True)
class TrainSpec(CommonOptions):
    """What to train."""

    strategies: tuple[str, ...]
    is_all: bool = False
    """They are all that there are: one that cannot be done here was not asked for by its name."""
    options: dict[str, OptionValue] = field(default_factory=dict)
    """Those that are for some strategies only, where they are not the default."""
    steps: int = 6
    """Steps that are held against the reference."""
    timed_steps: int = 10
    """Steps that are timed after them; 0 = none."""
    tune: bool = False
    """Time other settings of a strategy's overlap in turns with its own."""
    layers: int = 4
    width: int = 64
    heads: int = 4
    context: int = 32
    vocabulary: int = 256
    batch: int = 4
    """Sequences of each rank in a step: the global batch has so many times the ranks."""
    experts: int = 0
    """Of each block, in the place of its feed-forward part; 0 = it has none."""
    given: tuple[str, ...] = ()
    """Sizes that were asked for: the others grow where ranks share them (nccltool.train.sharing)."""
    series: tuple[int, ...] = ()
    """Numbers of ranks of the runs that it belongs to: all train one model."""
    seed: int = 1
    learning_rate: float = 0.1
    momentum: float = 0.0
    data: str = ""
    """Folder with the files to train with, on the host of each rank; empty = synthetic tokens."""
    data_workers: int = 0
    """Processes of each rank that read ahead."""
    dtype: str = "float32"
    """Of the arithmetic; under a short one the parameters stay in float32."""
    profile: str = ""
    """Folder for profiler traces, on the host of each rank; empty = none."""
    checkpoint: str = ""
    """Folder for checkpoints, which all hosts share; empty = none is saved, each training begins at step 1."""
    checkpoint_every: int = 1
    """Steps between two of them."""
    grace_s: float = 0.0
    """How long ranks may go on after SIGTERM to save a checkpoint; 0 = they end at once."""
    done: tuple[str, ...] = ()
    """Strategies that were done before all ranks were started anew."""

    def of(self, group: type[Group]) -> Group:
        return replace(group(), **{f.name: self.options[f.name] for f in fields(group) if f.name in self.options})

    def for_one(self, strategy: str) -> "TrainSpec":
        """The same with the options of this strategy only: it trains as if the others had not been given."""
        takes = strategies.takes(strategy)
        return replace(self, options={name: value for name, value in self.options.items() if name in takes})


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainJob(Job):
    """What to train, and where."""

    kind: str = "train"
    train: TrainSpec

    @property
    def leave_s(self) -> float:
        return self.train.grace_s

    @property
    def large_files_in(self) -> str:
        return self.train.of(deepspeed.Options).offload_dir or ""

    def new_state(self) -> TrainState:
        return TrainState(tunes=self.train.tune)


def trace_file(strategy: str, rank: int) -> str:
    """The name of a profiler trace, which TensorBoard's plugin finds; Perfetto and Chrome open it too."""
    return f"{strategy}-rank{rank}.pt.trace.json.gz"
