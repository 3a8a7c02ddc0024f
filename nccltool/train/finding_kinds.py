"""Findings about training runs, their checkpoints and profiles."""

from nccltool.core.findings import define

TRAIN_WRONG = define("train-wrong", "answer", root_causes=("data-corruption",), page="findings-training.md")
SETTING_WRONG = define("setting-wrong", "answer", suspects=(), page="findings-training.md")
NOT_COMPARED = define("not-compared", "unknown", "warning", page="findings-training.md")
REFERENCE_COST = define("reference-cost", "note", "info", page="findings-training.md")
RESUMED = define("resumed", "note", "info", page="findings-training.md")
CHECKPOINT_DAMAGED = define("checkpoint-damaged", "note", "warning", page="findings-training.md")
CHECKPOINT_NONE = define("checkpoint-none", "note", "warning", page="findings-training.md")
CHECKPOINT_UNFINISHED = define("checkpoint-unfinished", "note", "info", page="findings-training.md")
CHECKPOINT_UNUSABLE = define("checkpoint-unusable", "incomplete", page="findings-training.md")
CHECKPOINT_NOT_SHARED = define("checkpoint-not-shared", "incomplete", page="findings-training.md")
EMERGENCY_CHECKPOINT = define("emergency-checkpoint", "incomplete", suspects=(), page="findings-training.md")
GRACE_TOO_SHORT = define("grace-too-short", "incomplete", suspects=(), page="findings-training.md")
INPUT_UNUSABLE = define("input-unusable", "incomplete", page="findings-training.md")
INPUT_WRONG = define("input-wrong", "answer", page="findings-training.md")
INPUT_LEAKS = define("input-leaks", "note", "warning", page="findings-training.md")
INPUT_SLOW = define("input-slow", "note", "warning", page="findings-training.md", suspects=("warning",))
MICRO_BATCH_HALVED = define("micro-batch-halved", "note", "warning", page="findings-training.md")
PROFILE_NOT_WRITTEN = define("profile-not-written", "note", "warning", page="findings-training.md")
