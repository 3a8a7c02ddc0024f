"""Step lines of trainers and servers, and bars that are none."""

import pytest

from nccltool.triage.logs.reader import LogReader

STEPS = {
    " iteration      800/   50000 | elapsed time per iteration (ms): 812.3 | lm loss: 8.421E+00 |": "800",
    "  1%|          | 11/1000 [03:40<5:30:00, 20.01s/it]": "11",
    "Epoch 3:  45%|####5     | 100/200 [00:12<00:12,  8.12it/s, v_num=1, train_loss=2.1]": "100",
    "[2026-01-01 00:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05]": "10",
    "[titan] 2026-01-01 10:00:01,000 - root - INFO - step:  1  loss:  8.1  grad_norm:  1.2": "1",
    "Epoch: [0][ 10/5005]  Time 0.5 (0.6)  Data 0.1  Loss 6.9": "10",
    "completed step: 10, seconds: 3.200, TFLOP/s/device: 100": "10",
    '{"ts": 1, "step": 50, "loss": 2.2}': "50",
    "{'loss': 2.31, 'grad_norm': 1.1, 'learning_rate': 1e-05, 'epoch': 0.01}": "",
    "100 images/sec: 320.1 +/- 0.0 (jitter = 0.0) 7.765": "",
    "[2026-01-01 10:00:00 TP0] Decode batch. #running-req: 1, gen throughput (token/s): 50.1": "",
    'INFO:     10.0.0.1:1234 - "POST /v1/chat/completions HTTP/1.1" 200 OK': "",
}
NONE = (
    "Loading checkpoint shards:  50%|#####     | 4/8 [00:30<00:30,  7.51s/it]",
    "Capturing CUDA graph shapes:  50%|#####     | 4/8 [00:30<00:30,  7.51it/s]",
    'INFO:     10.0.0.1:1234 - "GET /health HTTP/1.1" 200 OK',
)


def steps(line: str) -> list[str]:
    events = LogReader().read("a.log", [line.encode()])
    return [event.get("step") for event in events if event.kind == "job.progress"]


@pytest.mark.parametrize(("line", "step"), STEPS.items())
def test_a_line_is_one_step(line: str, step: str) -> None:
    assert steps(line) == [step]


@pytest.mark.parametrize("line", NONE)
def test_what_fills_before_or_beside_the_steps_is_no_step(line: str) -> None:
    assert steps(line) == []
