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
    "step:20/1750 train_time:1800ms step_avg:90.12ms": "20",
    "Trial train_fn_01 finished iteration 3 at 2026-01-01 10:00:00. Total running time: 2min": "3",
    "Train: 0 [ 150/1251 ( 12%)]  Loss: 6.87 (6.91)  Time: 0.412s, 2485.10/s": "150",
    "epoch 1 [200/400] loss 0.711": "200",
    "[GPU0] Epoch 4 | Batchsize: 32 | Steps: 32": "4",
    "train:   0%|          | 3.00/40.0k [00:03<41:12:01, 3.71s/it, loss=9.8]": "3.00",
    "20/1875 \u2501\u2501 2s 4ms/step - accuracy: 0.82 - loss: 0.88": "20",
    "[LightGBM] [Info] 1.012341 seconds elapsed, finished iteration 7": "7",
    "[10:03:00] [3]\ttrain-rmse:0.87123\teval-rmse:0.43": "3",
    "epoch 3: train acc 0.83 val acc 0.73": "3",
    "  successfully saved checkpoint from iteration     300 to /ckpt [ t 1/8, p 1/4 ]": "300",
    "processed 200000 rows (2%)": "200000",
    "batch 300 done, 41.2 examples/sec": "",
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
