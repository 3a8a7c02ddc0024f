"""A plan as the document that other programs read."""

from nccltool.plan import document
from nccltool.plan.result import Plan


def render(plan: Plan) -> str:
    return document.to_json(plan) + "\n"
