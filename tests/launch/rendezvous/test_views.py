"""The table, and why a form fails; what ranks printed is escaped."""

from nccltool.core.look import Look
from nccltool.launch.rendezvous.trial import Trial
from nccltool.launch.rendezvous.views import render

WORKS = Trial(form="env", goal="n1:29500", ranks=2, ok=2, seconds=3.0)
FAILS = Trial(form="file", goal="file:///x", ranks=2, ok=0, seconds=9.0, problem="no\x1b locks", remedy="mount it")

SAID = """\
FAIL rendezvous: 1 of 2 forms work with 2 ranks over gloo

form     result  right data  time  where
-------  ------  ----------  ----  ---------
env://   works   2 of 2      3 s   n1:29500
file://  fail    0 of 2      9 s   file:///x
ERROR file:// fails: no\\x1b locks
    -> mount it
"""


def test_the_table() -> None:
    assert render([WORKS, FAILS], Look()) == SAID
    assert render([WORKS], Look()).startswith("PASS rendezvous: 1 of 1 form work with 2 ranks over gloo\n")
