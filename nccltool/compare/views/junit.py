"""A comparison as JUnit XML, for what shows the results of tests: a row is a test case."""

from collections.abc import Iterator

from nccltool.compare.change_text import headline, with_interval
from nccltool.compare.result import Comparison, Effect, RowKey
from nccltool.core import junit
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.core.units import format_bytes


def render(comparison: Comparison) -> str:
    suite = JunitSuite(
        command="compare",
        info=comparison.info,
        verdict=comparison.verdict,
        headline=headline(comparison),
        text=junit.finding_text(comparison.findings),
        cases=tuple(_cases(comparison)),
    )
    return junit.report("compare", [suite])


def _cases(comparison: Comparison) -> Iterator[JunitCase]:
    is_open = comparison.outcome == "cannot-tell"
    for row in comparison.rows:
        yield _case(_name(row.key), row.effect, is_open)
    if comparison.overall:
        yield _case("typical row", comparison.overall, is_open)
    for side, keys in (("A", comparison.only_a), ("B", comparison.only_b)):
        for key in keys:
            yield JunitCase(name=_name(key), group="rows", kind="skipped", message=f"only in {side}")


def _case(name: str, effect: Effect, is_open: bool) -> JunitCase:
    """`is_open`: whether the comparison could not tell, for rows such as this."""
    text = with_interval(effect)
    match effect.outcome:
        case "worse":
            return JunitCase(name=name, group="rows", kind="failure", type="worse", message=text, text=text)
        case "cannot-tell" if is_open:
            why = f"{text}: {effect.reason}"
            return JunitCase(name=name, group="rows", kind="error", type="cannot-tell", message=why, text=why)
        case "cannot-tell":
            return JunitCase(name=name, group="rows", kind="skipped", message=f"{text}: {effect.reason}")
    return JunitCase(name=name, group="rows", text=text)


def _name(key: RowKey) -> str:
    """All of a row's key: the same row has the same name in every comparison."""
    words = (key.op, format_bytes(key.bytes), key.dtype, key.reduce_op, key.placement, key.cadence, key.of_group)
    return " ".join(word for word in words if word)
