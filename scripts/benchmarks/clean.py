"""Does `train` raise an alarm where nothing is wrong? Each strategy with its options, on 2 and on 4 ranks."""

import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks import extent
from benchmarks.startup import NCCLTOOL

OF_TIME = {"late-rank", "input-slow"}
"""What a loaded machine can truly cause; everything else is about numbers."""
QUICK = ("--steps", "4", "--time-steps", "2", "--layers", "2", "--context", "16")
RUNS = (
    *("ddp --accumulate 2 --clip-norm 0.2", "ddp --comm-hook fp16", "ddp --comm-hook powersgd --bucket 0.05"),
    *("ddp --comm-hook int8", "ddp --comm-hook topk", "ddp --sync-batch-norm", "ddp --static-graph --recompute"),
    *("ddp --gradient-as-bucket-view --bucket 1", "ddp --adamw --lr-warmup 2 --validate 8", "ddp -d bfloat16"),
    *("ddp --halve-on-oom --momentum 0.5", "ddp --data {data} --data-workers 1", "fsdp --data {data}"),
    *("fsdp --shard grad", "fsdp --shard hybrid", "fsdp --no-reshard --wrap model", "fsdp --offload --adamw"),
    *("fsdp --param-dtype bf16 --reduce-dtype fp32", "fsdp1 --shard grad", "fsdp1 --clip-norm 0.2", "zero1"),
    *("tensor --sequence-parallel", "context", "ring", "moe --capacity 1.25", "model", "tp+fsdp"),
    *("pipeline --schedule gpipe", "pipeline --schedule interleaved", "pipeline --schedule zbv"),
)
WORLDS = (2, 4)


def main() -> bool:
    """Print a line for each run with an alarm; whether none of them is about numbers."""
    planned = [(words, ranks) for ranks in WORLDS for words in RUNS][: extent.of(None, 2)]
    alarms = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        (data / "tokens").write_bytes(bytes(range(256)) * 64)
        for words, ranks in planned:
            found = _alarms((*words.format(data=data).split(), "--nodes", str(ranks)), folder)
            alarms.update(found)
            if found:
                print(f"train {words}, {ranks} ranks: {', '.join(found)}", flush=True)
    numbers = sum(count for code, count in alarms.items() if code not in OF_TIME)
    print(f"{len(planned)} clean runs: {numbers} alarms about numbers, {alarms.total() - numbers} about time")
    return not numbers


def _alarms(words: tuple[str, ...], folder: str) -> list[str]:
    """Codes of findings above info, and what else is no pass."""
    argv = [NCCLTOOL, "train", *words, *QUICK, "--format", "json", "-q", "--run-dir", folder]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    document = json.loads(done.stdout)
    results = {one["status"] for one in document["trainings"]}
    above = [one["code"] for one in document["findings"] if one["severity"] != "info"]
    return above or ([] if (results, done.returncode) == ({"pass"}, 0) else [f"{results}, exit {done.returncode}"])
