"""Take secrets out of text before it leaves the house. Pure.

By name (what stands behind `password=`, `Authorization:`, `HF_TOKEN=`) and by form (private keys, users in
addresses, tokens that say themselves whose they are). What must not hold any secret has to be read by a person all
the same: a password without a name looks like a word.
"""

import re

REMOVED = "*removed*"

_NAMES = r"(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth)"
_PATTERNS = (
    # a private key, to its end or to the end of the text
    re.compile(
        r"(?P<keep>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----).*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
    re.compile(r"(?P<keep>\b(?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?)[^\r\n'\"]+", re.IGNORECASE),
    re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<keep>\b[a-z][a-z0-9+.-]*://)[^\s/@'\"]+(?=@)", re.IGNORECASE),
    # name = value, in shells, YAML, JSON, Python; numbers alone are counts, not secrets
    re.compile(
        rf"(?P<keep>\b[\w.-]*{_NAMES}[\w.-]*(?:\\?['\"])?\s*[=:]\s*(?:\\?['\"])?)(?!\d{{1,9}}\b|true\b|false\b|none\b|null\b)"
        r"[^\s'\",;)}\]\\]+",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<keep>--[\w-]*{_NAMES}[\w-]*[ ])(?!-)\S+", re.IGNORECASE),
    re.compile(r"(?P<keep>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?P<keep>)\b(?:hf|gh[pousr]|github_pat|glpat|xox[abprs]|sk|nvapi)[_-][A-Za-z0-9_-]{16,}"),
    re.compile(r"(?P<keep>)\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)


def redacted(text: str) -> tuple[str, int]:
    """The text without what looks like a secret, and how many were taken out."""
    total = 0
    for pattern in _PATTERNS:
        text, count = pattern.subn(rf"\g<keep>{REMOVED}", text)
        total += count
    return text, total
