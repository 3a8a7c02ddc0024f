"""Findings about trainings, their checkpoints and profiles."""

from nccltool.core.findings import define

TRAIN_WRONG = define("train-wrong", "answer", root_causes=("data-corruption",))
NOT_COMPARED = define("not-compared", "unknown", "warning")
REFERENCE_COST = define("reference-cost", "note", "info")
RESUMED = define("resumed", "note", "info")
CHECKPOINT_DAMAGED = define("checkpoint-damaged", "note", "warning")
CHECKPOINT_NONE = define("checkpoint-none", "note", "warning")
CHECKPOINT_UNFINISHED = define("checkpoint-unfinished", "note", "info")
CHECKPOINT_UNUSABLE = define("checkpoint-unusable", "incomplete")
CHECKPOINT_NOT_SHARED = define("checkpoint-not-shared", "incomplete")
PROFILE_NOT_WRITTEN = define("profile-not-written", "note", "warning")
