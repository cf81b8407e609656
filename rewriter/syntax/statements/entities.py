"""Entities in SQL, recognised by their tokens. Pure.

    CREATE [OR REPLACE] PROFILE [IF NOT EXISTS] p URL 'palimpsest:///w' [WITH (field = value, ..)]
    CREATE DATASET d ON TABLE t EVERY 1 DAY START '2013-01-01' [END '..'] [TIME ZONE '..']
        [WITH (..)]
    CREATE PROCESS p EVERY 1 DAY START '..' [INPUT d FROM '..' TO '..'] [OUTPUT d AT '..']
        [WITH (..)] [AS statement | 'statements']
    ALTER PROFILE | DATASET | PROCESS name SET (field = value, ..) | UNSET (field, ..)
    ALTER .. name SCHEDULE | SUSPEND | RESUME | TOUCH
    DROP PROFILE | DATASET | PROCESS [IF EXISTS] name
    SHOW PROFILES | DATASETS | PROCESSES          DESCRIBE PROFILE | DATASET | PROCESS name

A value is a text, a number with or without a unit, a word, a list ``('a', 'b')`` or a record
``(dataset = d, instance = '..')``. The statement behind AS is kept as it was written.
"""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from journal.model.errors import Code, PalimpsestError, Position
from rewriter.name_resolution import token_position
from rewriter.statements.entities import (
    AlterEntity,
    CreateEntity,
    DropEntity,
    EntityStatement,
    FieldPath,
    ShowEntities,
)
from rewriter.syntax.token_reader import TokenReader

KINDS = {"PROFILE": "profile", "DATASET": "dataset", "PROCESS": "process"}
_SHOWN = {"PROFILES": "profile", "DATASETS": "dataset", "PROCESSES": "process"}
_ACTIONS = ("SCHEDULE", "SUSPEND", "RESUME", "TOUCH")
_ADVICE = "see docs/governance.md for the form of the statement"
_CLAUSES = {
    "URL": "url",
    "START": "start",
    "END": "end",
    "COMMENT": "description",
    "OWNER": "owner",
}


def recognise_entity(tokens: list[Token], text: str) -> EntityStatement | None:
    """The statement if it is about an entity, else None; ``text`` is what the tokens stand in."""
    words = [t.text.upper() for t in tokens[:6]]
    match words:
        case ["SHOW", shown] if shown in _SHOWN:
            return ShowEntities(_SHOWN[shown])
        case ["DESCRIBE" | "DESC", kind, first, *_] if kind in KINDS and first != ".":
            return _Reader(tokens, text, 2).describe(KINDS[kind])
        case ["CREATE", "OR", "REPLACE", kind, *_] if kind in KINDS:
            return _Reader(tokens, text, 4).create(KINDS[kind], replace=True)
        case ["CREATE", kind, *_] if kind in KINDS:
            return _Reader(tokens, text, 2).create(KINDS[kind])
        case ["ALTER", kind, *_] if kind in KINDS:
            return _Reader(tokens, text, 2).alter(KINDS[kind])
        case ["DROP", kind, *_] if kind in KINDS:
            return _Reader(tokens, text, 2).drop(KINDS[kind])
        case _:
            return None


def _no_expressions(*_part: object) -> Any:
    raise AssertionError("a declaration has no expressions")


class _Reader:
    """Reads a declaration; what it finds is collected with its positions."""

    def __init__(self, tokens: list[Token], text: str, place: int) -> None:
        self._reader = TokenReader(tokens, _no_expressions, place, _ADVICE)
        self._text = text
        self._positions: dict[FieldPath, Position] = {}

    def create(self, kind: str, *, replace: bool = False) -> CreateEntity:
        reader = self._reader
        exists = reader.takes("IF", "NOT", "EXISTS")
        self._positions[()] = self._position()
        name = self._name()
        fields: dict[str, Any] = {}
        while reader.place < len(reader.tokens):
            if reader.takes("WITH"):
                for field, value in self._record(()).items():
                    self._put(fields, field, value)
            elif reader.takes("AS"):
                self._positions["sql",] = self._position()
                self._put(fields, "sql", self._statement())
            else:
                self._clause(kind, fields)
        return CreateEntity(kind, name, fields, self._positions, replace, exists)

    def alter(self, kind: str) -> AlterEntity:
        reader, name = self._reader, self._name()
        for action in _ACTIONS:
            if reader.takes(action):
                reader.ends(f"nothing else stands behind {action}")
                return AlterEntity(kind, name, action)
        if reader.takes("SET"):
            found = AlterEntity(kind, name, "SET", self._record(()), (), self._positions)
        elif reader.takes("UNSET"):
            found = AlterEntity(kind, name, "SET", {}, tuple(self._names()), self._positions)
        else:
            raise reader.error(
                "SET (..), UNSET (..), SCHEDULE, SUSPEND, RESUME or TOUCH was expected"
            )
        reader.ends("nothing else stands behind the parentheses")
        return found

    def drop(self, kind: str) -> DropEntity:
        exists = self._reader.takes("IF", "EXISTS")
        found = DropEntity(kind, self._name(), exists)
        self._reader.ends("nothing else stands behind the name")
        return found

    def describe(self, kind: str) -> ShowEntities:
        found = ShowEntities(kind, self._name())
        self._reader.ends("nothing else stands behind the name")
        return found

    def _clause(self, kind: str, fields: dict[str, Any]) -> None:
        reader, at = self._reader, self._position()
        found = next((field for word, field in _CLAUSES.items() if reader.takes(word)), None)
        if found is not None:
            value: Any = self._scalar()
        elif reader.takes("EVERY"):
            found, value = "every", f"{reader.word()} {reader.word()}"
        elif reader.takes("TIME", "ZONE") or reader.takes("TIMEZONE"):
            found, value = "timezone", self._scalar()
        elif kind != "profile" and reader.takes("PROFILE"):
            found, value = "profile", self._name()
        elif kind == "dataset" and reader.takes("ON"):
            reader.takes("TABLE")
            found, value = "table", self._dotted()
        elif kind == "process" and reader.takes("INPUT"):
            self._use(fields, "inputs", {"FROM": "from", "TO": "to"}, at)
            return
        elif kind == "process" and reader.takes("OUTPUT"):
            self._use(fields, "outputs", {"AT": "instance"}, at)
            return
        else:
            raise reader.error(f"a clause of CREATE {kind.upper()}, WITH (..) or AS was expected")
        self._positions[found,] = at
        self._put(fields, found, value)

    def _use(self, fields: dict[str, Any], name: str, words: dict[str, str], at: Position) -> None:
        uses = fields.setdefault(name, [])
        use = {"dataset": self._name()}
        for word, field in words.items():
            if not self._reader.takes(word):
                raise self._reader.error(f"{word} and an expression in quotes were expected")
            use[field] = self._reader.text()
        self._positions[name, len(uses)] = at
        uses.append(use)

    def _put(self, fields: dict[str, Any], name: str, value: Any) -> None:
        if name in fields:
            at = self._positions.get((name,))
            raise PalimpsestError(
                Code.SYNTAX, f"{name} stands twice", advice="leave one of them out", position=at
            )
        fields[name] = value

    def _statement(self) -> str:
        reader = self._reader
        rest = reader.tokens[reader.place :]
        if not rest:
            raise reader.error("a statement was expected behind AS")
        reader.place = len(reader.tokens)
        if len(rest) == 1 and rest[0].text not in {"(", ")"}:
            return str(rest[0].text)
        return self._text[rest[0].start : rest[-1].end + 1]

    def _record(self, path: FieldPath) -> dict[str, Any]:
        """Fields in parentheses."""
        reader = self._reader
        if not reader.takes("("):
            raise reader.error("(field = value, ..) was expected")
        found: dict[str, Any] = {}
        while True:
            at, name = self._position(), self._name().lower()
            self._positions[*path, name] = at
            if not reader.takes("="):
                raise reader.error(f"{name} = a value was expected")
            if name in found:
                raise reader.error(f"{name} stands twice")
            found[name] = self._value((*path, name))
            if reader.takes(")"):
                return found
            self._comma()

    def _value(self, path: FieldPath) -> Any:
        reader = self._reader
        here = [t.text for t in reader.tokens[reader.place : reader.place + 3]]
        if here[:1] == ["("] and here[2:3] == ["="]:
            return self._record(path)
        if here[:1] not in (["("], ["["]):
            return self._scalar()
        closing = ")" if reader.word() == "(" else "]"
        items: list[Any] = []
        while not reader.takes(closing):
            if items:
                self._comma()
            self._positions[*path, len(items)] = self._position()
            items.append(self._value((*path, len(items))))
        return items

    def _scalar(self) -> str:
        """A text, or the words up to a comma or parenthesis: ``90 MINUTES``, ``daily-delays``."""
        reader = self._reader
        at = reader.tokens[reader.place] if reader.place < len(reader.tokens) else None
        if at is not None and at.token_type is TokenType.STRING:
            return reader.text()
        words = [self._name()]
        if words[0].isdigit() and not self._is_end():
            words.append(self._name())
        return " ".join(words)

    def _is_end(self) -> bool:
        reader = self._reader
        return reader.place >= len(reader.tokens) or reader.tokens[reader.place].text in set(",)]")

    def _names(self) -> list[str]:
        reader = self._reader
        if not reader.takes("("):
            raise reader.error("(field, ..) was expected")
        found = [self._name().lower()]
        while not reader.takes(")"):
            self._comma()
            found.append(self._name().lower())
        return found

    def _comma(self) -> None:
        if not self._reader.takes(","):
            raise self._reader.error("a comma or a closing parenthesis was expected")

    def _dotted(self) -> str:
        found = self._name()
        while self._reader.takes("."):
            found += f".{self._name()}"
        return found

    def _name(self) -> str:
        """A word or quoted name, with the hyphens that stand in it without spaces."""
        reader = self._reader
        found = reader.word()
        if found in set("(),=[];"):
            reader.place -= 1
            raise reader.error("a name or value was expected")
        last = reader.tokens[reader.place - 1]
        while reader.place + 1 < len(reader.tokens):
            dash, following = reader.tokens[reader.place : reader.place + 2]
            if dash.text != "-" or dash.start != last.end + 1 or following.start != dash.end + 1:
                break
            found, last = f"{found}-{following.text}", following
            reader.place += 2
        return found

    def _position(self) -> Position:
        token = self._reader.tokens[min(self._reader.place, len(self._reader.tokens) - 1)]
        return token_position(token)
