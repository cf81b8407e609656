r"""Which regular expressions match the same in every store, and which groups may be left out. Pure.

PostgreSQL takes the longest match, other stores the first one that they find. They agree where each
sign of a text decides which way it goes: ``(bar)?(x)`` but not ``(a)?(ab)?``, ``a|b`` but not
``a|ab``. A group that a match leaves out is NULL in PostgreSQL and empty elsewhere, which tells it
from a group that matched only if the group matches no empty text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from journal.model.lazy_dataclass import dataclass

_UNSURE_GROUP = re.compile(r"\)[?*{]|\|")
"""A group that a match may leave out."""
_SIGNS = frozenset([*map(chr, range(9, 127)), "ä", "Ä", "日", "\u0663", "\u3000"])
"""What stands for all signs, besides those of a pattern."""
_REPEAT = re.compile(r"[*+?]|\{(\d+)(,(\d*))?\}")
_BRACKETS = re.compile(r"\[\^?\]?(?:\[[:.=].*?[:.=]\]|\\.|[^\]\\])*\]", re.S)
_ESCAPE = re.compile(r"\\(?:[dDwWsS]|[^A-Za-z0-9])", re.S)
_NAMED = re.compile(r"\[:\w+:\]")
_CLASSES = {
    "[:alpha:]": "A-Za-zäÄ日",
    "[:alnum:]": "A-Za-zäÄ日0-9\u0663",
    "[:digit:]": r"\d",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:upper:]": "A-ZÄ",
    "[:lower:]": "a-zä",
    "[:space:]": r"\s",
    "[:blank:]": r"\s",
    "[:punct:]": r"!-/:-@\[-`{-~",
}
_ANCHOR = re.compile(r"\\[AmMyYZ]|[\^$]")
_PLAIN = re.compile(r"[^\\\[\](){}*+?|.^$]", re.S)


class _Unknown(Exception):
    """Something that is not read here."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: the signs that it may begin with, and whether it may be empty."""

    first: frozenset[str] = frozenset()
    is_empty: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """The groups of an expression, by their numbers from 1 on.

    ``optional`` has those that a match may leave out, ``empty`` those that may match the empty
    text.
    """

    count: int
    optional: frozenset[int]
    empty: frozenset[int]


@lru_cache(maxsize=512)
def shape_of(pattern: str, ignores_case: bool = False) -> Shape | None:
    """The groups of a pattern that matches in every store as in PostgreSQL; None for others.

    >>> shape_of("(bar)(x)?(beque)").optional
    frozenset({2})
    >>> shape_of("(a)?(ab)?")
    """
    try:
        reader = _Reader(pattern, ignores_case)
        branches = reader.branches()
        if reader.at < len(pattern):
            return None
        reader.check(branches, frozenset({_NOTHING}))
    except _Unknown:
        return None
    return Shape(reader.count, frozenset(reader.optional), frozenset(reader.empty))


def group_places(pattern: str, ignores_case: bool = False) -> dict[int, bool] | None:
    """The numbers of the groups that a match gives, and whether it may leave them out.

    0 is the match itself, of a pattern without groups. None for a pattern of which stores may find
    another match, or say nothing of a group.
    """
    try:
        count = re.compile(pattern).groups
    except re.error:
        return None
    if not count:
        return {0: False}
    if _UNSURE_GROUP.search(pattern) is None:
        return dict.fromkeys(range(1, count + 1), False)
    shape = shape_of(pattern, ignores_case)
    if shape is None or shape.count != count or shape.optional & shape.empty:
        return None
    return {n: n in shape.optional for n in range(1, count + 1)}


@dataclass(slots=True)
class _Node:
    """A step of a branch: a sign, or branches in brackets; how often it may stand.

    ``sign`` is what it matches if that is one sign.
    """

    part: _Part
    branches: Sequence[Sequence[_Node]] = ()
    least: int = 1
    most: int = 1
    sign: str = ""

    def read_part(self) -> _Part:
        return _Part(self.part.first, self.part.is_empty or not self.least)


_MANY = 1 << 30
_NOTHING = ""
"""The sign of nothing that has to follow."""
_END = "end"
"""The sign of the end of a text."""


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, ignores_case: bool) -> None:
        self.pattern, self.at = pattern, 0
        self.signs = _SIGNS | {*pattern}
        self.flags = re.S | (re.I if ignores_case else re.NOFLAG)
        self.count = 0
        self.has_lazy = False
        self.optional: set[int] = set()
        self.empty: set[int] = set()

    def branches(self) -> list[list[_Node]]:
        found: list[list[_Node]] = [[]]
        starts = self.count
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.pattern[self.at] == "|":
                self.at += 1
                found.append([])
                continue
            found[-1].append(self._step())
        if len(found) > 1:
            self.optional |= {*range(starts + 1, self.count + 1)}
        return found

    def _step(self) -> _Node:
        starts, number = self.count, 0
        begin = self.at
        if self._take("(?:"):
            node = self._bracketed()
        elif self._take("(") and not self._take("?"):
            self.count += 1
            number = self.count
            node = self._bracketed()
        elif begin == self.at:
            node = self._sign()
        else:
            raise _Unknown
        found = _REPEAT.match(self.pattern, self.at)
        if found is not None:
            self._repeat(node, found)
        if node.least == 0:
            self.optional |= {*range(starts + 1, self.count + 1)}
        if node.most > 1 and any(n != number for n in self.optional if n > starts):
            # Whether what an earlier round matched counts is said differently.
            raise _Unknown
        if number and node.part.is_empty:
            self.empty.add(number)
        return node

    def _repeat(self, node: _Node, found: re.Match[str]) -> None:
        self.at = found.end()
        self.has_lazy = self._take("?") or self.has_lazy
        if self.pattern[self.at : self.at + 1] in {"?", "*", "+", "{"}:
            raise _Unknown
        if found[1] is not None:
            node.least = int(found[1])
            node.most = node.least if found[2] is None else int(found[3] or _MANY)
        else:
            node.least = 1 if found[0] == "+" else 0
            node.most = 1 if found[0] == "?" else _MANY
        if node.part.is_empty and node.most > 1:
            raise _Unknown

    def _take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _bracketed(self) -> _Node:
        branches = self.branches()
        if not self._take(")"):
            raise _Unknown
        parts = [_sequence(branch) for branch in branches]
        part = _Part(
            frozenset().union(*(part.first for part in parts)),
            any(part.is_empty for part in parts),
        )
        return _Node(part, branches)

    def _sign(self) -> _Node:
        if (anchor := _ANCHOR.match(self.pattern, self.at)) is not None:
            self.at = anchor.end()
            is_end = anchor[0] in {"$", "\\Z"}
            return _Node(_Part(frozenset({_END}), False) if is_end else _Part())
        for known in (_BRACKETS, _ESCAPE, _PLAIN):
            found = known.match(self.pattern, self.at)
            if found is not None:
                self.at = found.end()
                sign = found[0] if known is _PLAIN else ""
                return _Node(_Part(self._signs_of(found[0]), False), sign=sign)
        if self._take("."):
            return _Node(_Part(self.signs, False))
        raise _Unknown

    def _signs_of(self, sign: str) -> frozenset[str]:
        if _NAMED.search(sign) is not None:
            if sign.startswith("[^"):
                return self.signs
            sign = _NAMED.sub(lambda found: _CLASSES.get(found[0], ""), sign)
        if "[." in sign or "[=" in sign or "[:" in sign:
            raise _Unknown
        try:
            wanted = re.compile(sign, self.flags)
        except re.error as error:
            raise _Unknown from error
        return frozenset(one for one in self.signs if wanted.fullmatch(one))

    def check(self, branches: Sequence[Sequence[_Node]], behind: frozenset[str]) -> None:
        """Raise unless one sign decides which way a match goes; ``behind`` may follow."""
        taken: frozenset[str] = frozenset()
        texts = [_literal(branch, self.flags) for branch in branches]
        is_apart = _none_begins_another(texts)
        for branch in branches:
            part = _sequence(branch)
            if len(branches) > 1 and (part.is_empty or (part.first & taken and not is_apart)):
                raise _Unknown
            taken |= part.first
            self._check_branch(branch, behind)

    def _check_branch(self, branch: Sequence[_Node], behind: frozenset[str]) -> None:
        for node in reversed(branch):
            if node.least != node.most:
                # PostgreSQL goes by the whole expression in how much it takes.
                may_stop = self.has_lazy and _NOTHING in behind
                if may_stop or node.part.first & behind:
                    raise _Unknown
            if node.branches:
                self.check(node.branches, behind | (node.part.first if node.most > 1 else set()))
            part = node.read_part()
            behind = part.first | (behind if part.is_empty else frozenset())


def _literal(branch: Sequence[_Node], flags: int) -> str | None:
    """The text of a branch that is one, in small letters where they do not matter."""
    signs = [node.sign for node in branch if node.least == node.most == 1]
    text = "".join(signs) if len(signs) == len(branch) and all(signs) else None
    return text.lower() if text is not None and flags & re.I else text


def _none_begins_another(texts: Sequence[str | None]) -> bool:
    known = sorted(text for text in texts if text is not None)
    return len(known) == len(texts) and not any(
        later.startswith(text) for text, later in itertools.pairwise(known)
    )


def _sequence(branch: Sequence[_Node]) -> _Part:
    first: frozenset[str] = frozenset()
    for node in branch:
        part = node.read_part()
        first |= part.first
        if not part.is_empty:
            return _Part(first, False)
    return _Part(first, True)
