"""Every color that charts name has a value in the style, in the light and in the dark."""

from pathlib import Path

from nccltool.report import colors

STYLE = (Path(colors.__file__).parent / "templates/style.css").read_text()
NAMES = (*colors.SERIES, "ink", "quiet", "grid", "pass", "warn", "fail", "unknown", "limit", "card", "idle")


def test_both_looks_define_every_color() -> None:
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")[:2]
    for name in NAMES:
        assert colors.variable(name) == f"var(--{name})"
        assert f"--{name}: #" in light
        assert f"--{name}: #" in dark.partition("* {")[0]


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_can_be_read_on_the_page_and_on_cards() -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    for look in STYLE.split("@media (prefers-color-scheme: dark)")[:2]:
        found = {
            name: value
            for part in look.partition("* {")[0].replace("}", ";").split(";")
            if ": #" in part
            for name, _, value in [part.strip().rpartition("{")[2].strip().partition(": ")]
        }
        for ground in ("--page", "--card"):
            for name in ("--ink", "--quiet", "--link", "--fail", "--pass", "--warn"):
                one, other = sorted((_luminance(found[ground]), _luminance(found[name])))
                assert (other + 0.05) / (one + 0.05) >= 4.5, (ground, name)
