"""Variables that a manifest of Kubernetes or a compose file sets: in lists of variables, and in commands.

Those of all its containers are taken together. Values from secrets and fields are not known, and left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from nccltool.core.errors import BadInput
from nccltool.hosts.job_files import script
from nccltool.hosts.job_files.base import NAME, JobSetting, parted

_OF_VARIABLES = frozenset({"env", "environment"})
_OF_COMMANDS = frozenset({"command", "args", "entrypoint"})


def settings(text: str, where: str, environ: Mapping[str, str]) -> Iterator[JobSetting]:
    """The variables of a file with one or more documents. Raises BadInput."""
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        remedy = "for a Helm chart, pass the output of `helm template`"
        raise BadInput(f"{where}{line} is not valid YAML", remedy) from error
    except RecursionError as error:
        raise BadInput(f"{where} is nested too deeply", "pass the manifest of one job") from error
    seen = set[int]()
    for document in documents:
        if document is not None:
            yield from _walked(document, seen, environ)


def _walked(top: Node, seen: set[int], environ: Mapping[str, str]) -> Iterator[JobSetting]:
    """All of a document, in its order; what an alias repeats, once."""
    open_nodes = [top]
    while open_nodes:
        node = open_nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            open_nodes += reversed(node.value)
        elif isinstance(node, MappingNode):
            yield from _of_mapping(node, seen, environ)
            open_nodes += [value for _, value in reversed(node.value)]


def _of_mapping(node: MappingNode, seen: set[int], environ: Mapping[str, str]) -> Iterator[JobSetting]:
    keys = {key.value: value for key, value in node.value if isinstance(key, ScalarNode)}
    for key, value in ((key, value) for key, value in keys.items() if id(value) not in seen):
        if key in _OF_VARIABLES:
            yield from _variables(value)
        elif key in _OF_COMMANDS:
            yield from _of_command(value, environ)
    kind = keys.get("kind")
    if kind is not None and kind.value == "ConfigMap" and "data" in keys:
        yield from _variables(keys["data"])


def _variables(node: Node) -> Iterator[JobSetting]:
    """A mapping of names, or a list of name and value, or of NAME=value."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and isinstance(value, ScalarNode):
                yield from _variable(key.value, value)
    elif isinstance(node, SequenceNode):
        for one in node.value:
            if isinstance(one, MappingNode):
                pairs = [(key, value) for key, value in one.value if isinstance(key, ScalarNode)]
                parts = {key.value: value for key, value in pairs if isinstance(value, ScalarNode)}
                if "name" in parts and "value" in parts:
                    yield from _variable(parts["name"].value, parts["value"])
            elif isinstance(one, ScalarNode) and (pair := parted(one.value)):
                yield JobSetting(number=one.start_mark.line + 1, name=pair[0], value=pair[1])


def _variable(name: str, value: ScalarNode) -> Iterator[JobSetting]:
    """Not where Kubernetes or compose would put another value into it."""
    text = value.value
    if NAME.fullmatch(name) and "$(" not in text and "${" not in text:
        yield JobSetting(number=value.start_mark.line + 1, name=name, value=text)


def _of_command(node: Node, environ: Mapping[str, str]) -> Iterator[JobSetting]:
    """A script in one word, or a command line of several."""
    parts: list[ScalarNode] = [node] if isinstance(node, ScalarNode) else _scalars(node)
    for part in parts:
        if any(letter.isspace() for letter in part.value.strip()):
            begin = part.start_mark.line + (part.style in ("|", ">"))
            for one in script.settings(part.value, environ):
                yield replace(one, number=begin + one.number)
    if parts:
        yield from script.of_words([one.value for one in parts], parts[0].start_mark.line + 1, environ)


def _scalars(node: Node) -> list[ScalarNode]:
    return [one for one in node.value if isinstance(one, ScalarNode)] if isinstance(node, SequenceNode) else []
