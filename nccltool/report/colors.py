"""The names of the page's colors, as charts use them; templates/style.css gives them their values.

Okabe and Ito (Color Universal Design, 2008): told apart also by people who see few colors. Lighter shades of the
same hues in the dark.
"""

SERIES = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-6")
INK, QUIET, GRID = "ink", "quiet", "grid"
PASS, WARN, FAIL, UNKNOWN = "pass", "warn", "fail", "unknown"
LIMIT = "limit"
CARD, IDLE = "card", "idle"


def variable(name: str) -> str:
    """What CSS and SVG call it."""
    return f"var(--{name})"
