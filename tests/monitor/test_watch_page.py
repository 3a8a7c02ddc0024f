"""Where the metrics of a watch go."""

import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from nccltool.attach.watch.loop import WatchTick
from nccltool.core.errors import BadInput
from nccltool.monitor import watch_page
from nccltool.monitor.job_metrics import WatchedJob

WATCHED = WatchedJob(tick=WatchTick(number=1, at_s=5.0, state="healthy", message="healthy", ranks=4))


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "job.prom"
    page = watch_page.of_text(str(file), 30.0)
    for _ in range(2):
        page.show(WATCHED)
        assert 'nccltool_job_state{state="healthy"} 1.0' in file.read_text()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere", "--metrics 'nowhere' is neither HOST:PORT nor a .prom file"),
        (
            "/no/such/folder/a.prom",
            "--metrics /no/such/folder/a.prom cannot be written: No such file or directory",
        ),
        ("127.0.0.1:70000", "--metrics '127.0.0.1:70000' is not HOST:PORT"),
    ],
)
def test_refused(where: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        watch_page.of_text(where, 30.0)
    assert caught.value.message == message


def test_http() -> None:
    page = watch_page.of_text("127.0.0.1:0", 30.0)
    url = f"http://127.0.0.1:{page.port}/metrics"  # type: ignore[attr-defined]
    assert _answer(url)[0] == 503  # nothing was looked at
    page.show(WATCHED)
    status, text = _answer(url)
    assert status == 200
    assert "nccltool_job_ranks 4.0" in text


def _answer(url: str) -> tuple[int, str]:
    """The server begins in a thread."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            time.sleep(0.1)
    pytest.fail("no answer")
