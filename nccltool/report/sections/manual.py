"""The manual's sections about what was found, so that the file needs nothing else."""

from nccltool.core import manual
from nccltool.core.findings import Finding
from nccltool.core.text import counted
from nccltool.report.material import Material
from nccltool.report.parts import PagePart, ReportSection
from nccltool.report.sections import base


def of(material: Material) -> ReportSection | None:
    found = [one for one in base.ordered(base.findings_of(material.newest)) if one.severity != "info"]
    codes = {one.code: one for one in found}
    pages = tuple(page for one in codes.values() if (page := _page(one)))
    if not pages:
        return None
    return ReportSection(
        id="manual",
        title="Explained",
        headline=f"What the manual says about {counted(len(pages), 'finding')}.",
        parts=pages,
    )


def _page(one: Finding) -> PagePart | None:
    text = manual.section(one.kind.page, one.code)
    if not text:
        text = f"{one.remedy}\n\nSee `{one.page}`." if one.page else one.remedy
    return PagePart(id=base.page_id(one.code), title=one.code, markdown=text) if text else None
