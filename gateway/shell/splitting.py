"""Statements out of a stream of text: where each ends, and whether one is still being typed.

A scanner of quotes, comments and dollar quotes, no parser: whatever stands between two semicolons
is a statement, and the parser alone says whether it is right.
"""

from __future__ import annotations

import re

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SplitStatement:
    """A statement without its semicolon, and the 0-based line and column where it begins."""

    text: str
    line: int
    column: int
    complete: bool


_DOLLAR = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_TOKEN = re.compile(r"[;'\"`$\n]|--|/\*|#")
_TOKEN_OR_COMMAND = re.compile(_TOKEN.pattern + r"|\\")
_ENDS = {"'": "'", '"': '"', "`": "`", "--": "\n", "#": "\n", "/*": "*/"}


def split_statements(text: str, dialect: str = "duckdb") -> list[SplitStatement]:
    """The statements of ``text``; the last one is incomplete when its semicolon is missing.

    Pieces of nothing but space and comments are left out, unless a quote or comment in one is open.
    """
    pieces: list[SplitStatement] = []
    start = place = 0
    while True:
        end, after, _ = next_end(text, place, dialect)
        piece = piece_of(text, start, end, complete=after is not None)
        if piece is not None:
            pieces.append(piece)
        if after is None:
            return pieces
        start = place = after


def next_end(
    text: str, place: int, dialect: str, *, commands: bool = False
) -> tuple[int, int | None, bool]:
    """Where the statement ends, where what follows begins (None: it does not end), and by what.

    True: by a backslash command, which the shell takes where ``commands`` is set.
    """
    tokens = _TOKEN_OR_COMMAND if commands else _TOKEN
    while True:
        found = tokens.search(text, place)
        if found is None:
            return len(text), None, False
        token = found.group()
        if token in ";\\":
            return found.start(), found.end(), token == "\\"
        place = _end_of_token(text, found.start(), token, dialect)


def _end_of_token(text: str, start: int, token: str, dialect: str) -> int:
    """Where scanning goes on behind a token that is no semicolon."""
    after = start + len(token)
    if token == "\n" or (token == "#" and dialect != "mysql"):
        return after
    if token == "$":
        tag = _DOLLAR.match(text, start)
        if tag is None or (start and (text[start - 1].isalnum() or text[start - 1] == "_")):
            return after
        closing = text.find(tag.group(), tag.end())
        return len(text) if closing < 0 else closing + len(tag.group())
    if token == "/*":
        return _end_of_comment(text, after)
    end = _ENDS[token]
    escapes = token in "'\"" and _has_escapes(text, start, dialect)
    while True:
        closing = text.find(end, after)
        if closing < 0:
            return len(text)
        if escapes and _backslashes(text, closing) % 2:
            after = closing + 1
            continue
        # A doubled quote inside a literal closes and reopens it, which comes to the same.
        return closing + len(end)


def _end_of_comment(text: str, place: int) -> int:
    depth = 1
    while depth:
        opening, closing = text.find("/*", place), text.find("*/", place)
        if closing < 0:
            return len(text)
        if 0 <= opening < closing:
            depth, place = depth + 1, opening + 2
        else:
            depth, place = depth - 1, closing + 2
    return place


def _has_escapes(text: str, start: int, dialect: str) -> bool:
    if dialect in {"mysql", "spark", "hive"}:
        return True
    before = text[start - 1 : start]
    return before in {"e", "E"} and not text[start - 2 : start - 1].isalnum()


def _backslashes(text: str, end: int) -> int:
    count = 0
    while end - count > 0 and text[end - count - 1] == "\\":
        count += 1
    return count


_SPACE = re.compile(r"(?:\s+|--[^\n]*(?:\n|$))*")


def piece_of(text: str, start: int, end: int, *, complete: bool) -> SplitStatement | None:
    """The statement of a part of ``text``; None for nothing but space and comments."""
    skipped = _SPACE.match(text, start, end)
    begin = skipped.end() if skipped is not None else start
    bare = text[begin:end].rstrip()
    if not bare or _is_comment(bare):
        return None
    line = text.count("\n", 0, begin)
    column = begin - (text.rfind("\n", 0, begin) + 1)
    return SplitStatement(bare, line, column, complete)


def _is_comment(text: str) -> bool:
    return text.startswith("/*") and text.endswith("*/") and _end_of_comment(text, 2) == len(text)
