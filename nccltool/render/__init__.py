"""SHOW a run to people and programs: one format a file, found by listing this folder."""

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from nccltool.model import Diagnosis, Preflight, Run

FORMATS = ("table", "json", "csv", "nccl-tests", "nccl-tests-json")
"""As users write them; the file has underscores."""
OF_TRAININGS = ("table", "json")
"""Those that have a place for them."""
OF_PREFLIGHTS = ("table", "json", "junit", "ctrf", "nagios", "hosts")
"""Those of a suite; a file is called preflight_NAME."""


def renderer(name: str) -> Callable[[Run], str]:
    """The function that turns a run into text in this format."""
    module = importlib.import_module(f"nccltool.render.{name.replace('-', '_')}")
    return cast(Callable[[Run], str], module.render)


def joined(runs: Sequence[Run], name: str) -> str:
    """Several runs in one text: one after the other, in CSV under one heading."""
    texts = [renderer(name)(run) for run in runs]
    if name == "csv":
        texts = [*texts[:1], *(text.partition("\n")[2] for text in texts[1:])]
    return ("\n" if name in ("table", "nccl-tests") else "").join(texts)


def diagnosis_renderer(name: str, with_settings: bool = False) -> Callable[[Diagnosis], str]:
    """The function that turns a diagnosis into text in this format: table, json, sarif, junit."""
    if name == "json":
        documents = importlib.import_module("nccltool.documents")
        return lambda diagnosis: f"{documents.diagnosis_to_json(diagnosis)}\n"
    module = importlib.import_module(f"nccltool.render.{'diagnosis' if name == 'table' else name}")
    if name == "table":
        return lambda diagnosis: str(module.render(diagnosis, with_settings))
    return cast(Callable[[Diagnosis], str], module.render)


def preflight_renderer(name: str) -> Callable[[Preflight], str]:
    """The function that turns a preflight into text in one of OF_PREFLIGHTS."""
    if name == "json":
        documents = importlib.import_module("nccltool.documents")
        return lambda preflight: f"{documents.preflight_to_json(preflight)}\n"
    module = importlib.import_module(f"nccltool.render.preflight{'' if name == 'table' else f'_{name}'}")
    return cast(Callable[[Preflight], str], module.render)
