"""A localization in one line: the verdict, and who is accused."""

from collections.abc import Iterator

from nccltool.core.text import counted, named
from nccltool.localize import coverage, within
from nccltool.localize.accusations import kind_of, slow_and_silent, suspect_text
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.result import MOST_INVISIBLE, Localization
from nccltool.probe.headline import INTERRUPTED, suspects

_NAMED = 3


def headline(run: LocalizedRun) -> str:
    """`localize: node 644 is slow; 1 pair unexplained; 5 measurements of 8 nodes`."""
    least = (run.info.nodes or 0) if not run.is_within else 0
    met = max(len({name for one in run.encounters for name in one.members}), least)
    amount = f"{counted(len(run.encounters), 'measurement')} of {counted(met, within.who(run.is_within))}"
    return f"{run.kind}: {'; '.join((*_ended(run), *_found(run), amount))}"


def noise_line(run: LocalizedRun) -> str:
    """`noise 3 %; smallest fault that these measurements could have shown: 9 %; 63 of 2016 links measured`."""
    covered = coverage.of(run)
    return "; ".join((_noise(run.localization), *([f"{_links(covered)} measured"] if covered else [])))


def unseen_line(run: LocalizedRun) -> str | None:
    """Where nothing slow was found: how many links may be slow nevertheless, and how to measure them."""
    covered = coverage.of(run)
    if run.localization.scope != "nothing-slow" or covered is None or not covered.unseen:
        return None
    those = (
        "1 link was not measured and" if covered.unseen == 1 else f"{covered.unseen} links were not measured and"
    )
    command = f"nccltool pairs{' --within' if run.is_within else ''} --all-pairs"
    return f"{those} may be slow: {command} measures every link"


def _noise(found: Localization) -> str:
    if found.noise is None:
        return "noise unknown: too few measurements"
    seen = found.smallest_visible_fault
    least = "unknown" if seen is None else f"{100 * seen:.2g} %"
    return f"noise {100 * found.noise:.2g} %; smallest fault that these measurements could have shown: {least}"


def _links(covered: coverage.Coverage) -> str:
    """`63 of 2016 links`; `all 28 links`."""
    if covered.unseen:
        return f"{covered.measured} of {counted(covered.links, 'link')}"
    return f"all {covered.links} links" if covered.links > 1 else "the only link"


def _ended(run: LocalizedRun) -> Iterator[str]:
    """Why there is less than was asked for: first of all, who failed."""
    if run.verdict.exit_code == INTERRUPTED:
        yield "interrupted"
    failed = [one for one in run.findings if one.effect == "incomplete"]
    if failed:
        accused = list(suspects(failed))
        yield f"{failed[0].code}{f', {accused[0]}' if accused else ''}"


def _found(run: LocalizedRun) -> Iterator[str]:
    found, is_over = run.localization, run.verdict.status != "incomplete"
    slow, silent = slow_and_silent(found, run.encounters)
    doubts = [f"{counted(len(slow), f'slow {kind_of(slow)}')} unexplained"] if slow else []
    doubts += [f"{counted(len(silent), kind_of(silent))} without a result"] if silent else []
    if found.scope == "fabric-wide":
        yield "slow across the fabric; no node is named"
    elif found.suspects:
        yield f"suspect {named([suspect_text(one) for one in found.suspects], _NAMED)}"
        yield from doubts
    elif found.scope == "unknown":
        is_noisy = (found.smallest_visible_fault or 0.0) > MOST_INVISIBLE
        yield f"too {'noisy' if is_noisy else 'few measurements'} for a verdict"
    elif doubts:
        yield from doubts
    else:
        covered = coverage.of(run)
        where = f" on {_links(covered)}" if covered else ""
        yield f"nothing slow found{where}{'' if is_over else ' so far'}"
