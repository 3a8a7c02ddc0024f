"""The codes of findings, as the source has them."""

import ast
from pathlib import Path


def made_in(file: Path) -> dict[str, set[str]]:
    """Code to severities of all findings that a module makes.

    A code is a text where the finding is made. Where it is a variable, the module lists all that it can be, with
    their severities, in FINDINGS.
    """
    tree = ast.parse(file.read_text())
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            words = {keyword.arg: keyword.value for keyword in node.keywords}
            texts = _texts(words["code"])
            listed = dict.fromkeys(texts, _texts(words["severity"])) if texts else _listed(tree, file)
            for code, severities in listed.items():
                found.setdefault(code, set()).update(severities)
    return found


def _listed(tree: ast.Module, file: Path) -> dict[str, set[str]]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "FINDINGS" and node.value:
            return {str(code): {str(severity)} for code, severity in ast.literal_eval(node.value).items()}
    raise AssertionError(f"{file}: the code of a finding is a variable, and there is no FINDINGS")


def _texts(node: ast.expr) -> set[str]:
    """The texts that an expression can be: a constant, or either side of `a if c else b`; none of a variable."""
    if isinstance(node, ast.IfExp):
        return _texts(node.body) | _texts(node.orelse)
    return {str(node.value)} if isinstance(node, ast.Constant) else set()
