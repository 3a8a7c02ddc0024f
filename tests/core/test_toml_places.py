"""Lines of keys and tables."""

from nccltool.core.toml_places import places


def test_every_key_has_its_line() -> None:
    text = 'a = 1\n\n[t]\nb.c = 2\n["q"]\n"d" = 3\n[[l]]\ne = 4\n[[l]]\ne = 5\n'
    assert places(text) == {
        ("a",): 1,
        ("t",): 3,
        ("t", "b", "c"): 4,
        ("q",): 5,
        ("q", "d"): 6,
        ("l", "0"): 7,
        ("l", "0", "e"): 8,
        ("l", "1"): 9,
        ("l", "1", "e"): 10,
    }
