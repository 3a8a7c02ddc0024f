"""Which variable was meant by a name that nothing reads: misspelled letters, words, or prefix. Pure.

A name is a row of words between underscores. What people do to it has a cost in slips: a letter too many, too
few, wrong, or two swapped costs 1 each (Damerau-Levenshtein); a word left out, added, moved, or replaced by one
of the same meaning costs about 1. A word that many names share (ENABLE, IB, SIZE) says little, so leaving it
out costs less than leaving out one that only this name has. The cheapest name wins, if it is cheap enough.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from nccltool.hosts.nccl import engine_names, name_words, variables

_FILE = Path(__file__).parent / "neighbor_names.json"
_LONGEST_NAME = 80
_MOST_SLIPS = 3
_SHORTEST_NAME = 6
_MOST = 2.0
"""What a name may cost at most in slips: tuned on the first half of tests/hosts/nccl/misspelled.py."""
_MOST_OF_NEIGHBORS = 1.5
"""Of libraries whose names are not all known: MCA parameters of plugins, settings of sites."""
_AS_GOOD = 0.25
"""Names whose costs differ by less are named together."""
_NAMED = 2
_SYNONYM, _CANONICAL, _SWAPPED, _REORDERED, _EXTENDED, _OPPOSITE = 0.7, 0.5, 0.8, 0.5, 1.2, 1.0
_UNDOCUMENTED, _OF_PLUGIN = 0.15, 0.4
"""What a name costs more than one that the guide of its makers recommends: few people set it."""
_LIMIT = _MOST + _OF_PLUGIN + 0.01
"""What no name that is given may cost, and a bit for how numbers are rounded."""
_ODD = 1.2
"""What an added word costs that no name has."""
_UNRELATED = 1.0
"""A word left out and another one added: together, a word replaced by one that has nothing to do with it."""


_PHRASE_STARTS = frozenset(phrase.partition(" ")[0] for phrase, _ in name_words.PHRASES)


class _Neighbor(msgspec.Struct, frozen=True):
    """Names that another library reads, and where they were read."""

    component: str
    source: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """A name that may have been meant."""

    name: str
    cost: float
    """Slips; 0 = the same words in another order of letters' case."""
    is_opposite: bool = False
    """It switches off what the other name would switch on: its value cannot be kept."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A name with its words, as written and with phrases made one word."""

    name: str
    words: tuple[str, ...]
    plain: tuple[str, ...]
    handicap: float
    """A name that few people set is less likely to have been meant."""
    letters: Counter[str]


@cache
def neighbors() -> Mapping[str, str]:
    """Name -> library, of variables that other libraries of a training job read."""
    libraries = msgspec.json.decode(_FILE.read_bytes(), type=list[_Neighbor])
    return {name: library.component for library in libraries for name in library.names}


def is_known(name: str) -> bool:
    """Whether some library reads a name, scripts choose it, or the catalogue says what is wrong with it."""
    _, _, rest = name.partition("_")
    is_listed = name in variables.every() or name in neighbors() or engine_names.is_known(name)
    return is_listed or rest in name_words.OF_SCRIPTS


def is_near_prefix(name: str) -> bool:
    """Whether a name begins like one of a library, but for a slip: cheap, for every variable of a process."""
    first = name.partition("_")[0].upper()
    if "_" not in name or first in name_words.OTHER_LIBRARIES or first in name_words.LIBRARIES:
        return False
    return any(_slips(first, one) == 1 for one in name_words.LIBRARIES)


def meant(name: str) -> tuple[Guess, ...]:
    """Names that were probably meant, the most likely first; () for a known name, and where none is likely."""
    first = name.partition("_")[0].upper()
    is_own = first in name_words.OTHER_LIBRARIES or not _SHORTEST_NAME <= len(name) <= _LONGEST_NAME
    if is_own or is_known(name):
        return ()
    if name.startswith(engine_names.BEGINNINGS):
        return tuple(Guess(one, 1.0) for one in engine_names.meant(name)[:_NAMED])
    return _meant(name) if _may_be_meant(name) else ()


def _may_be_meant(name: str) -> bool:
    """Whether to compare a name with all others. Where its first word is misspelled, the rest of it must be right
    (_guess): PIP_CERT, which is a slip away from HIP, is none of a library."""
    first, *rest = [word for word in name.upper().split("_") if word] or [name]
    joined = any(first.startswith(one) or one.startswith(first) or one in rest for one in _first_words())
    return joined or "_".join(rest) in _rests()


@cache
def _first_words() -> frozenset[str]:
    return frozenset(name.partition("_")[0].upper() for name in (*variables.every(), *neighbors()))


@cache
def _rests() -> frozenset[str]:
    return frozenset(name.partition("_")[2].upper() for name in (*variables.every(), *neighbors()))


@cache
def _meant(name: str) -> tuple[Guess, ...]:
    upper = name.upper()
    given = _word(upper, 0.0)
    found = []
    near = frozenset().union(*map(_near, (*given.words[1:], *given.plain[1:])))
    for known in _candidates_for(given):
        guess = _guess(given, known, near)
        if guess is not None:
            found.append(guess)
    found.sort(key=lambda guess: (guess.cost, len(guess.name), guess.name))
    return tuple(guess for guess in found if guess.cost - found[0].cost < _AS_GOOD)[:_NAMED]


def _guess(given: _Word, known: _Word, near: frozenset[str]) -> Guess | None:
    letters = _letters_cost(given, known)
    if known.words[0] in name_words.OF_LAUNCHERS:  # LOCAL_RANKS and WORLD_RANK are names that scripts choose
        is_slip = letters == 1 and len(known.name) > 7 and given.name.rstrip("S") != known.name.rstrip("S")
        return Guess(known.name, letters) if is_slip else None
    related = not near.isdisjoint(known.words[1:]) or not near.isdisjoint(known.plain[1:])
    words, opposite = _words_cost(given, known) if related else (math.inf, False)
    cost = min(letters, words) + known.handicap
    if _has_other_prefix(given, known) and given.words[1:] != known.words[1:]:
        return None  # two mistakes in one name: rather one of a library that is not known here
    # the handicap orders our own names, and hides none of them
    most = _MOST + known.handicap if _is_complete(known.name) else _MOST_OF_NEIGHBORS
    if cost > most:
        return None
    return Guess(_today(known.name), cost, opposite and words < letters)


def _has_other_prefix(given: _Word, known: _Word) -> bool:
    """Whether the first word is misspelled, but neither joined with the next one nor at another place."""
    first, begin = known.words[0], given.words[0]
    return first != begin and first not in given.words and not (begin.startswith(first) or first.startswith(begin))


def _today(name: str) -> str:
    """The name of today of an old one."""
    entry = variables.every().get(name)
    return entry.instead or name if entry and entry.status == "alias" else name


@cache
def _near(word: str) -> frozenset[str]:
    """The words of known names that may stand for a word."""
    spelled = (w for w in _frequencies() if w[0] == word[0] or w[-1] == word[-1])
    return frozenset(
        (word, *_alike(word), *(wanted for wanted in spelled if _replaced(word, wanted)[0] < math.inf))
    )


def _is_complete(name: str) -> bool:
    """Whether all names that begin so are known."""
    return name.startswith(("NCCL_", "TORCH_NCCL_", "TORCH_FR_", "OFI_NCCL_", "RCCL_"))


def _letters_cost(given: _Word, known: _Word) -> float:
    """Slips of letters, underscores among them, where no word is replaced as a whole."""
    most = 3 if len(given.name) > 24 else 2
    if abs(len(given.name) - len(known.name)) > most or _differ(given.letters, known.letters) > most:
        return math.inf
    slips = _slips(given.name, known.name.upper())
    if slips > most:
        return math.inf
    if len(known.words[0]) < 3 and given.words[0] != known.words[0] and given.words[1:] != known.words[1:]:
        return math.inf
    if len(given.words) == len(known.words):
        pairs = zip(given.words, known.words, strict=True)
        if any(_slips(one, other) > _slips_allowed(other) for one, other in pairs):
            return math.inf
    return float(slips) if slips < 3 else 2.0


def _slips_allowed(word: str) -> int:
    return 1 if len(word) < 5 else 2 if len(word) < 9 else 3


def _words_cost(given: _Word, known: _Word) -> tuple[float, bool]:
    """The cost of words left out, added, moved, or replaced; and whether one was replaced by its opposite."""
    if sorted(given.words) == sorted(known.words):
        return _REORDERED, False
    best = _aligned(given.words, known.words)
    if given.plain != given.words or known.plain != known.words:
        cost, opposite = _aligned(given.plain, known.plain)
        best = min(best, (cost + _CANONICAL, opposite))
    for mine, theirs, more in ((given.words, known.words, 0.0), (given.plain, known.plain, 0.1)):
        if len(mine) < len(theirs) and mine == theirs[: len(mine)]:  # the end was left out
            best = min(best, (1.0 + more + 0.1 * (len(theirs) - len(mine)), False))
    return best


def _aligned(given: Sequence[str], known: Sequence[str]) -> tuple[float, bool]:
    """Words of one row made those of the other at the least cost, adjacent ones swapped at most; inf: too much."""
    if not _same_library(given[0], known[0]) or _least_cost(given, known) > _LIMIT:
        return math.inf, False
    rows = [[_Step(0.0)]]
    for j, word in enumerate(known, start=1):
        rows[0].append(rows[0][j - 1].left_out(word))
    for i, word in enumerate(given, start=1):
        row = [rows[i - 1][0].added(word)]
        for j, wanted in enumerate(known, start=1):
            steps = [
                rows[i - 1][j - 1].replaced(word, wanted),
                rows[i - 1][j].added(word),
                row[j - 1].left_out(wanted),
            ]
            if i > 1 and j > 1 and word == known[j - 2] and given[i - 2] == wanted:
                steps.append(rows[i - 2][j - 2].moved())
            row.append(min(steps, key=lambda step: step.cost))
        rows.append(row)
    return rows[-1][-1].cost, rows[-1][-1].is_opposite


def _least_cost(given: Sequence[str], known: Sequence[str]) -> float:
    """Of the words of each row that none of the other can stand for: hundreds of names need no closer look."""
    left_out = 0.0
    for word in known:
        if word not in given and not any(_stands_for(one, word) for one in given):
            left_out += _left_out(word)
            if left_out > _LIMIT:  # most names end here
                return left_out
    added = sum(_added(word) for word in given if not any(_stands_for(word, one) for one in known))
    return left_out + added + (_UNRELATED if left_out and added else 0.0)


def _stands_for(word: str, wanted: str) -> bool:
    return word == wanted or _replaced(word, wanted)[0] < math.inf


@dataclass(frozen=True, slots=True)
class _Step:
    """What it cost to come so far from one row of words to the other, and how."""

    cost: float
    has_left_out: bool = False
    has_added: bool = False
    is_opposite: bool = False

    def left_out(self, word: str) -> "_Step":
        more = _UNRELATED if self.has_added else 0.0
        return _Step(self.cost + _left_out(word) + more, True, self.has_added, self.is_opposite)

    def added(self, word: str) -> "_Step":
        more = _UNRELATED if self.has_left_out else 0.0
        return _Step(self.cost + _added(word) + more, self.has_left_out, True, self.is_opposite)

    def replaced(self, word: str, wanted: str) -> "_Step":
        cost, opposite = _replaced(word, wanted)
        return _Step(self.cost + cost, self.has_left_out, self.has_added, self.is_opposite or opposite)

    def moved(self) -> "_Step":
        return _Step(self.cost + _SWAPPED, self.has_left_out, self.has_added, self.is_opposite)


def _same_library(word: str, wanted: str) -> bool:
    """The first word tells the library: at most one slip is in it, none in a word of two letters."""
    if min(len(word), len(wanted)) < 3:
        return word == wanted
    return _slips(word, wanted) <= 1 or wanted in _alike(word)


@cache
def _replaced(word: str, wanted: str) -> tuple[float, bool]:
    """(cost, whether it is the opposite) of one word for another."""
    if word == wanted:
        return 0.0, False
    if {word, wanted} in name_words.OPPOSITES:
        return _OPPOSITE, True
    if wanted in _alike(word):
        return _SYNONYM, False
    if wanted.removesuffix("S") == word.removesuffix("S"):
        return _SYNONYM, False
    slips = _slips(word, wanted)
    if slips <= _slips_allowed(wanted) and slips < max(len(word), len(wanted)) - 1:
        return float(slips), False
    if len(word) > 2 and wanted.startswith(word):  # an abbreviation
        return _SYNONYM, False
    return (_EXTENDED, False) if _same_stem(word, wanted) else (math.inf, False)


def _same_stem(one: str, other: str) -> bool:
    """HANDLE and HANDLING, DEBUGFILE and DEBUG: at least four letters, and half of the longer word, are alike."""
    stem = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    stem = min(len(one), len(other)) if stem is None else stem
    return stem >= max(4, max(len(one), len(other)) / 2)


@cache
def _left_out(word: str) -> float:
    return 0.5 + 0.5 * _rarity(word)


@cache
def _added(word: str) -> float:
    return 0.6 + 0.4 * _rarity(word) if word in _frequencies() else _ODD


@cache
def _rarity(word: str) -> float:
    """0: the word is in every tenth name; 1: it is in one."""
    names, count = len(_candidates()), _frequencies()[word]
    return min(1.0, max(0.0, math.log(names / 10 / max(count, 1)) / math.log(names / 10)))


@cache
def _alike(word: str) -> frozenset[str]:
    """Words that mean the same."""
    return frozenset(other for line in name_words.MEANINGS if word in line.split() for other in line.split())


@cache
def _frequencies() -> Counter[str]:
    return Counter(word for known in _candidates() for word in set(known.words))


@cache
def _candidates() -> tuple[_Word, ...]:
    """What may have been meant: all that some library reads today."""
    live = [entry for entry in variables.every().values() if entry.status in ("live", "alias")]
    ours = [_word(entry.name, _handicap(entry)) for entry in live]
    return (*ours, *(_word(name, _OF_PLUGIN) for name in neighbors()))


def _handicap(entry: variables.KnownVariable) -> float:
    if entry.documented or entry.component in ("torch", "cuda", "launcher", "libfabric", "ucx", "gloo"):
        return 0.0
    return _UNDOCUMENTED if entry.component in ("nccl", "rccl", "aws-ofi-nccl") else _OF_PLUGIN


@cache
def _by_first_word() -> Mapping[str, tuple[_Word, ...]]:
    found: dict[str, list[_Word]] = {}
    for known in _candidates():
        found.setdefault(known.words[0], []).append(known)
    return {first: tuple(ones) for first, ones in found.items()}


def _candidates_for(given: _Word) -> Iterator[_Word]:
    """Those whose first word is the one given, or a slip away from it or from what it is part of."""
    begin = given.words[0]
    for first, ones in _by_first_word().items():
        joined = begin.startswith(first) or first.startswith(begin)  # an underscore is missing, or one too many
        short = len(first) < 3 and _slips(begin, first) <= 1
        if joined or short or first in given.words or _same_library(begin, first):
            yield from ones


def _word(name: str, handicap: float) -> _Word:
    words = tuple(word for word in name.upper().split("_") if word) or (name,)
    plain = words
    if not _PHRASE_STARTS.isdisjoint(words):  # few names have one
        text = f" {' '.join(words)} "
        for phrase, short in name_words.PHRASES:
            text = text.replace(f" {phrase} ", f" {short} ")
        plain = tuple(text.split())
    return _Word(name, words, plain, handicap, Counter(name.upper()))


def _differ(one: Counter[str], other: Counter[str]) -> int:
    """Letters that one name has and the other has not: never more than its slips."""
    return max((one - other).total(), (other - one).total())


@cache
def _slips(one: str, other: str) -> int:
    """The distance of two words; where it is more than any word may have, a lower bound of it."""
    least = max(abs(len(one) - len(other)), len(set(one) - set(other)), len(set(other) - set(one)))
    return least if least > _MOST_SLIPS else variables.distance(one, other)
