"""The cases of the accuracy table, how often each is drawn, and its goal."""

from dataclasses import dataclass

from benchmarks.localize_fabric import Case


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A case, and what must be reached."""

    case: Case
    runs: int = 20
    exact: float = 0.0
    recall: float = 0.0
    wrong: float = 1.0
    """False accusations per run must be fewer."""
    has_others: bool = True

    def is_met(self, exact: float, recall: float, wrong: float) -> bool:
        """Whether these reach the goal."""
        return exact >= self.exact and (recall >= self.recall) and wrong < self.wrong


_GOALS = (
    Trial(case=Case(name="4 bad, 0.7", bad=4), runs=200, exact=0.999),
    Trial(case=Case(name="4 bad, 0.82", bad=4, speed=0.82), runs=150, exact=0.99),
    Trial(case=Case(name="4 bad, 0.6 half of the time", bad=4, speed=0.6, share=0.5), runs=100, recall=0.95),
    Trial(case=Case(name="no fault, 6 % noise", noise=0.06), runs=200, wrong=0.002),
    Trial(case=Case(name="16 of 64 bad", bad=16), runs=100, exact=0.98),
)
_OTHERS = (
    Trial(case=Case(name="no fault", bad=0), runs=40, wrong=0.005),
    Trial(case=Case(name="4 bad, 0.5", bad=4, speed=0.5), exact=0.98),
    Trial(case=Case(name="4 bad, 0.9", bad=4, speed=0.9), exact=0.9),
    Trial(case=Case(name="4 bad, 0.82, 1 % noise", bad=4, speed=0.82, noise=0.01), exact=0.98),
    Trial(case=Case(name="4 bad, 0.82, 6 % noise", bad=4, speed=0.82, noise=0.06), exact=0.9),
    Trial(case=Case(name="4 bad, heavy-tailed noise", bad=4, is_heavy=True), exact=0.95),
    Trial(case=Case(name="no fault, heavy-tailed noise", is_heavy=True), runs=30, wrong=0.02),
    Trial(case=Case(name="4 bad, 2 % of results missing", bad=4, missing=0.02), exact=0.95),
    Trial(case=Case(name="2 nodes without any result", dead=2), exact=0.95),
    Trial(case=Case(name="4 bad, first node among them", bad=4, is_reference_bad=True), exact=0.98),
    Trial(case=Case(name="8 nodes, 1 bad", nodes=8, bad=1), runs=60, exact=0.98),
    Trial(case=Case(name="512 nodes, 1 % bad", nodes=512, bad=5), runs=10, exact=0.9),
    Trial(case=Case(name="512 nodes, 5 % bad", nodes=512, bad=26), runs=4, exact=0.9),
)
_SLOWING = tuple(
    Trial(
        case=Case(
            name=f"no fault, noise of 10 % that only slows, {count} nodes",
            nodes=count,
            noise=0.1,
            is_one_sided=True,
        ),
        wrong=0.02,
        has_others=False,
    )
    for count in (64, 16, 4)
)
_WAYS = (
    Trial(case=Case(name="2 bad, sending only", bad=2, way="send"), exact=0.9, has_others=False),
    Trial(case=Case(name="2 bad, receiving only", bad=2, way="receive"), exact=0.9, has_others=False),
    Trial(
        case=Case(name="bad link, all pairs of 32", nodes=32, bad_links=1, is_all_pairs=True),
        exact=0.95,
        has_others=False,
    ),
    Trial(
        case=Case(name="bad link, all pairs of 64", bad_links=1, is_all_pairs=True),
        exact=0.95,
        has_others=False,
    ),
    Trial(
        case=Case(
            name="bad link that the first round meets, 12 rounds", bad_links=1, is_link_met=True, most_rounds=12
        ),
        runs=40,
        exact=0.95,
        has_others=False,
    ),
    Trial(
        case=Case(name="bad link anywhere in 64 nodes, 12 rounds", bad_links=1, most_rounds=12),
        wrong=0.01,
        has_others=False,
    ),
    Trial(
        case=Case(name="the same, then --all-pairs as it asks", bad_links=1, most_rounds=12, is_followed=True),
        runs=5,
        exact=0.95,
        has_others=False,
    ),
    Trial(
        case=Case(name="bad link, 8 nodes, 12 rounds", nodes=8, bad_links=1, most_rounds=12),
        exact=0.95,
        has_others=False,
    ),
    Trial(
        case=Case(name="link bad one way, 8 nodes, 12 rounds", nodes=8, way="send", bad_links=1, most_rounds=12),
        exact=0.9,
        has_others=False,
    ),
    Trial(
        case=Case(name="link bad one way, all pairs of 16", nodes=16, way="send", bad_links=1, is_all_pairs=True),
        exact=0.9,
        has_others=False,
    ),
    Trial(case=Case(name="2 bad, groups of 4", bad=2, group_size=4), exact=0.9, has_others=False),
    Trial(
        case=Case(name="a group of 4 slow only together, 12 rounds", group_size=4, bad_groups=1, most_rounds=12),
        exact=0.9,
        has_others=False,
    ),
    Trial(case=Case(name="2 bad, 0.87, 6 % noise", bad=2, speed=0.87, noise=0.06), has_others=False),
    Trial(
        case=Case(name="the same, with counters", bad=2, speed=0.87, noise=0.06, is_counted=True), has_others=False
    ),
    Trial(
        case=Case(name="no fault, counters on 2 nodes, 6 % noise", noise=0.06, is_counted=True),
        wrong=0.01,
        has_others=False,
    ),
    Trial(
        case=Case(name="bad rail of 2 of 16 nodes", nodes=16, bad_rails=2), runs=30, exact=0.9, has_others=False
    ),
    Trial(
        case=Case(name="bad uplink of 1 of 4 leaves", bad_uplinks=1, is_topology_known=True),
        exact=0.9,
        has_others=False,
    ),
    Trial(
        case=Case(name="the same, leaves unknown, 12 rounds", bad_uplinks=1, most_rounds=12),
        runs=40,
        wrong=0.05,
        has_others=False,
    ),
    Trial(case=Case(name="2 bad, contention in leaves", bad=2, contention=0.3), runs=40, exact=0.95, wrong=0.01),
    Trial(
        case=Case(name="the same, leaves known", bad=2, contention=0.3, is_topology_known=True),
        exact=0.9,
        has_others=False,
    ),
    Trial(case=Case(name="40 of 64 bad", bad=40, speed=0.6), exact=0.95, has_others=False),
    Trial(
        case=Case(name="40 of 64 bad, bandwidth expected", bad=40, speed=0.6, is_expected=True),
        exact=0.0,
        has_others=False,
    ),
)
CASES = (*_GOALS, *_OTHERS, *_WAYS, *_SLOWING)
MARGINAL = tuple(
    Trial(
        case=Case(
            name=f"4 bad, {speed}, {share} of the time, {rounds} rounds",
            bad=4,
            speed=speed,
            share=share,
            noise=noise,
            most_rounds=rounds,
        ),
        has_others=False,
    )
    for speed, share, noise in ((0.87, 1.0, 0.06), (0.9, 1.0, 0.06), (0.6, 0.5, 0.03), (0.8, 0.5, 0.03))
    for rounds in (6, 8)
)
"""Faults that can just be seen, for the reliability alone."""
LARGE = Trial(case=Case(name="4,096 nodes, 40 bad", nodes=4096, bad=40, most_rounds=12), has_others=False)
