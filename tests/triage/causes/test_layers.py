"""The words of a layer point at its cause, whatever program, framework, or launcher repeats them."""

from pathlib import Path

import pytest

from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder

_FILE = Path(__file__).parents[2] / "data" / "layers.txt"
LINES = [line.split(" | ", 1) for line in _FILE.read_text().splitlines()]
AROUND = {
    "bare": "{text}",
    "python": 'Traceback (most recent call last):\n  File "/srv/train.py", line 12, in <module>\n    main()\n'
    "RuntimeError: {text}",
    "server": "(Worker_TP1 pid=288) ERROR 08-25 10:02:13 [core.py:586] RuntimeError: {text}",
    "rank": "[rank3]: RuntimeError: {text}",
}
_END = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED"


def _judged(text: str) -> str:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [f"{text}\n{_END}".encode()]):
        builder.add(event)
    return judge(builder.timeline(reader.lines_read)).root_cause


@pytest.mark.parametrize(("cause", "text"), LINES, ids=lambda value: value[:40])
def test_the_words_of_a_layer_point_at_its_cause(cause: str, text: str) -> None:
    found = {name: _judged(around.format(text=text)) for name, around in AROUND.items()}
    assert found == dict.fromkeys(AROUND, cause)
