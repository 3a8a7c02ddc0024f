"""Lines that say that a job goes on: steps of trainers, rows of progress bars, answers of servers."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import table

_LOADING = (
    r"(?!.*(?i:\b(?:load|download|fetch|tokeniz|captur|compil|resolv|extract|convert|build|filter|saving|unpack|warm"
    r"|map|read|init|import|copy|upload|check|sanity|process|prepar|pack)))"
)
"""Bars that fill before the first step or beside the steps."""
_STEP = r"\b(?:step|iter\w*|epoch|it|batch|update|global_?step)s?\b"

PATTERNS = table(
    r"""
state
    job.progress     iteration +(?P<step>\d+)/.*`elapsed time per iteration` \((?P<unit>m?s)\):? (?P<time>[\d.]+)
    job.progress     `s/it|s/step|s/batch|sec/it` => ^{BAR}.*?(?P<step>\d+)/(?:\d+|\?) \[.*?
                     (?P<time>[\d.]+)(?P<unit>m?s)(?:ec)?/(?:it|step|batch)
    job.progress     `it/s|step/s|batch/s|steps/s` => ^{BAR}.*?(?P<step>\d+)/(?:\d+|\?) \[.*?[\d.]+ ?
                     (?:it|steps?|batch)/s
    job.progress     `loss|Loss` => (?i)\bepoch\W{0,3}\(?\w*\)?\s*\[\d+\]\s*\[ *(?P<step>\d+)/\d+\]
                     (?:.*?\btime:? +(?P<time>\d+\.\d+))?
    job.progress     `poch` => (?i)\b(?:epoch|train)\W{0,3}\d+(?:/\d+)?\W{1,4}[\[(] *(?P<step>\d+)/\d+\b.*(?:
                     loss|time|acc)
    job.progress     `Loss` => ^\W?\[\d+/\d+\] ?\[ *(?P<step>\d+)/\d+\].*\bLoss
    job.progress     `Batchsize: ` => \bEpoch (?P<step>\d+) \|
    job.progress     `Train: ` => ^Train: \d+ \[ *(?P<step>\d+)/\d+
    job.progress     `step_avg:` => step:(?P<step>\d+)/\d+
    job.progress     `s/step` => (?i)\bstep\W{1,3}(?P<step>\d+)\b.*?(?P<time>\d+\.\d+) ?(?P<unit>m?s)/step\b
    job.progress     `ms/step|us/step|s/step` => ^\W*(?P<step>\d+)/\d+ .*\d[mu]?s/step\b
    job.progress     `s/it` => ^{BAR}.*?(?P<step>\d[\d.]*k?)/\d[\d.]*k? \[.*?[\d.]+s/it
    job.progress     `finished iteration `(?P<step>\d+)
    job.progress     `-rmse:|-logloss:|-mlogloss:|-mae:` => \[(?P<step>\d+)\]\s+\S+-\w+:\d
    job.progress     `-auc:|-error:|-merror:` => \[(?P<step>\d+)\]\s+\S+-\w+:\d
    job.progress     ` acc|accuracy| ppl|perplexity| auc|reward` => (?i)^{BAR}.*{STEP}\W{0,4}(?P<step>\d+)(?!\.\d)
                     .*\b(?:acc|accuracy|ppl|perplexity|auc|reward)\w*\W{1,3}-?\d
    job.progress     `aved checkpoint|heckpoint saved` => (?i)^(?!.*(?:fail|could not|unable)).*\b(?:successfully
                     [ ]saved checkpoint|saved checkpoint|checkpoint saved)\b(?:.*?\b(?:iteration|
                     step) +(?P<step>\d+))?
    job.progress     `rocessed ` => (?i)\bprocessed:? (?P<step>\d[\d,]*) (?:rows|samples|documents|docs|examples|
                     records|batches|images|tokens|files)
    job.progress     `/sec` => ^{BAR}.*\d ?(?:examples|records|rows|batches|words|frames|graphs|requests|
                     sequences)/sec\b
    job.progress     `loss|Loss` => (?i){STEP}\W{0,4}(?P<step>\d+)(?!\.\d).*loss
    job.progress     `loss|Loss` => (?i)loss\b.*{STEP}\W{0,4}(?P<step>\d+)(?!\.\d)
    job.progress     `loss|Loss` => ['"](?:train_|lm_)?loss['"]:[ ]
    job.progress     `ime: |ime ` => (?i)^(?!.*\]\s*\[).*?{STEP}\W{0,4}(?P<step>\d+).*\btime:? +
                     (?P<time>\d+\.\d+) ?(?P<unit>m?s)?\b
    job.progress     `samples/s|images/s|img/s|imgs/s|tokens/s|tok/s|sequences/s|seq/s` => (?P<rate>\d[\d.,]*) ?
                     (?P<of>samples|images|imgs?|tokens|tok|sequences|seq)/s
    job.progress     `images/sec|img/sec|samples/sec|tokens/sec|step/sec` => (?P<of>images|img|samples|tokens|
                     step)/sec\b[^:=]{0,24}[:=] *(?P<rate>\d[\d.,]*)
    job.progress     (?:\b|_)`tok/s|tok_per_sec|tokens/s|tokens_per_sec|samples/s|samples_per_sec|Tokens/s|
                     Tokens_per_sec|images/s|img/s|Img/s|TFLOP/s|TFLOPs|tflops|seq/s|tokens_per_gpu`
    job.progress     `skipped=` => \bstep=(?P<step>\d+), skipped=\d+
    job.progress     `ime` => (?i)\bstep\W{0,3}(?P<step>\d+)\W{1,4}time\W{1,3}(?P<time>[\d.]+) ?(?P<unit>m?s)\b
    job.utilization  `MFU|mfu`\W{1,4}(?P<percent>\d{1,3}(?:\.\d+)?) ?%
    job.progress     ` passed` => \.\.\.+ ?passed$
    job.progress     `completed step` => completed step:? (?P<step>\d+)(?:, seconds: (?P<time>[\d.]+))?
    job.progress     `global_step` => global_step\W{1,4}(?P<step>\d+)
    job.progress     `tep ` => (?i)\bstep:? +(?P<step>\d+) ?/ ?\d+
    job.progress     `tep ` => (?i)^\W{0,3}(?:\d{4}-\d\d-\d\d[ T][\d:.,]+Z?\W{1,3})?(?:\w+ )?step (?P<step>\d+)\b
    job.progress     `[batch=`(?P<step>\d+)/
    job.progress     (?i){STEP}\W{1,3}(?P<step>\d+)\b.*\b`took|elapsed|step_time|time/step|grad_norm|lr=|lr:`
    job.progress     `... ok`$
    job.progress     `Decode batch|Prefill batch`
    job.progress     "POST .*`" 200 OK`
    job.progress     `request: POST ` => POST \S+ [\d.]+ 200\b
    job.progress     `[bench]`.*(?:GB/s|ms\b)
    job.bandwidth    `busbw` => (?i)(?P<bytes>\d+) ?(?P<unit>[MG])i?B.*\bbusbw[ :=]+(?P<busbw>[\d.]+) ?GB/s
    job.loading      `examples/s|s/it|it/s` => ^\W*(?P<what>(?:[A-Z]\w+ )?(?:Running|Map|Load|Pack|Split|Index|
                     Encod|Extract|Token|Download|Fetch|
                     Generating|Filter|Prepar|Process)[\w ]*).*?(?P<done>\d+)/(?P<of>\d+) \[
    job.refused      `HTTP/1.1" 400 |HTTP/1.1" 413 |HTTP/1.1" 422 `
    job.serving      `Application startup complete|The server is fired up and ready|Uvicorn running on`
    job.serving      `Started HTTPService|Started GRPCInferenceService`
    job.serving      `Starting vLLM API server|Starting vLLM server`
    job.serving      `Started server process|Server is ready to receive|init engine (profile, create kv cache`
""",
    STEP=_STEP,
    BAR=_LOADING,
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a line says; of several patterns for one step, that which tells the most."""
    found = list(PATTERNS.events(line))
    steps = [one for one in found if one.kind == "job.progress"]
    yield from (one for one in found if one.kind != "job.progress")
    if steps:
        yield max(steps, key=lambda one: len(one.fields))
