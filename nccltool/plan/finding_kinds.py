"""Findings of plans."""

from nccltool.core.findings import define

NOTHING_FITS = define("nothing-fits", "answer", page="findings-training.md", suspects=())
PREDICTION_DIFFERS = define("prediction-differs", "note", "warning", page="findings-training.md", suspects=())
