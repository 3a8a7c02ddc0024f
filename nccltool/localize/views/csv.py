"""A localization as CSV: a row for each measurement of a pair, which `nccltool localize` reads again."""

import csv
import io

from nccltool.core.text import escaped
from nccltool.localize.localized import LocalizedRun

COLUMNS = ("a", "b", "busbw_bytes_per_s", "round", "rail", "reason")
DIRECTED = ("from", "to", *COLUMNS[2:])
"""Where the first node of each row was the sender."""


def render(run: LocalizedRun) -> str:
    pairs = [one for one in run.encounters if len(one.members) == 2]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(DIRECTED if pairs and all(one.is_directed for one in pairs) else COLUMNS)
    for one in pairs:
        names = (escaped(name) for name in one.members)
        writer.writerow(
            [*names, one.busbw_bytes_per_s, one.round, escaped(one.rail or ""), escaped(one.reason or "")]
        )
    return text.getvalue()
