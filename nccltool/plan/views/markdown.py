"""A plan for a ticket or a design document: Markdown tables."""

from nccltool.core.markdown import literal
from nccltool.core.units import format_seconds
from nccltool.plan import wording
from nccltool.plan.result import Plan


def render(plan: Plan) -> str:
    shown = plan.choice or plan.strategies[0]
    lines = [f"## {literal(wording.headline(plan))}", "", literal(wording.what(plan)), ""]
    lines += [f"* {literal(reason)}" for reason in shown.reasons]
    if told := wording.training(plan):
        lines.append(f"* {told}")
    lines += ["", "| memory of a GPU | GiB |", "|---|---|"]
    lines += [
        f"| {name} | {wording.gib(getattr(shown.memory, name))} |"
        for name in wording.TERMS
        if getattr(shown.memory, name)
    ]
    lines += [f"| **total** | {wording.gib(shown.memory.total)} |", ""]
    lines += ["| strategy | fits | GiB | step | tokens/s/GPU | MFU | why |", "|---|---|---|---|---|---|---|"]
    for one in plan.strategies:
        figures = (
            one.layout.name,
            "yes" if one.fits else "no",
            wording.gib(one.memory.total),
            format_seconds(one.time.total) if one.fits else "",
            f"{one.tokens_per_s / plan.gpus:.0f}" if one.fits else "",
            f"{100 * one.mfu:.0f} %" if one.fits else "",
            "the choice" if one is plan.choice else "; ".join(one.reasons),
        )
        lines.append("| " + " | ".join(map(literal, figures)) + " |")
    if plan.checks is not None:
        lines += ["", "Predicted against counted:", ""]
        lines += [f"* {literal(wording.checked(one))}" for one in plan.checks]
    for curve in plan.scaling:
        lines += ["", f"### {literal(wording.curve(curve))}", "", "| " + " | ".join(wording.SCALING) + " |"]
        lines += ["|---" * len(wording.SCALING) + "|"]
        lines += ["| " + " | ".join(map(literal, row)) + " |" for row in wording.curve_rows(curve)]
        lines += ["", literal(wording.curve_end(curve))]
    return "\n".join(lines) + "\n"
