"""What a schema holds besides relations and sequences: types, macros and routines.

They are definitions only: no store has them, since the rewriter puts what they mean in the place
of their names. As plain JSON they stand in the catalog's log. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from journal.model.lazy_dataclass import dataclass
from journal.model.table_name import TableName

ENUM, STRUCT, ALIAS, DOMAIN = "enum", "composite", "alias", "domain"


@dataclass(frozen=True, slots=True)
class UserType:
    """A type that has a name: an enum, a composite one, another name, or a domain.

    ``type`` is what it stands for, canonical text without names of users' types. A domain's
    ``checks`` are pairs of a name and a condition over ``value``. ``declared`` is the type as it
    was written, where that names types of users.
    """

    name: TableName
    kind: str
    type: str
    not_null: bool = False
    default: str | None = None
    checks: tuple[tuple[str, str], ...] = ()
    declared: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class MacroBody:
    """One form of a macro: its parameters with their defaults, and what a call becomes.

    ``types`` are those that arguments are cast to, by parameter; None takes any value. A function
    (``is_function``) takes each argument once, as a value; ``returns`` is its type, or that of its
    one column, which is called as the call is.
    """

    parameters: tuple[tuple[str, str | None], ...]
    body: str
    types: tuple[str | None, ...] = ()
    returns: str | None = None
    is_function: bool = False

    @property
    def required(self) -> int:
        """How many arguments a call gives at least."""
        return sum(default is None for _, default in self.parameters)


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro; ``is_table``: its bodies are queries, and calls of it stand in FROM."""

    name: TableName
    is_table: bool
    bodies: tuple[MacroBody, ...]
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Routine:
    """A function in PL/pgSQL, whose ``body`` is kept as it was written.

    One that ``returns`` trigger is called for each row that is written; one that returns void runs
    statements. ``parameters`` have a name, a type and a default.
    """

    name: TableName
    parameters: tuple[tuple[str, str, str | None], ...]
    returns: str
    body: str
    comment: str | None = None

    @property
    def is_trigger(self) -> bool:
        """True for a function of triggers."""
        return self.returns == "trigger"


Definition = UserType | Macro | Routine
DefinitionKey = tuple[str, str, str]
_KINDS: dict[str, type[Definition]] = {
    "type": UserType,
    "macro": Macro,
    "routine": Routine,
}


@dataclass(frozen=True, slots=True)
class PutDefinition:
    """Catalog change: add a definition, or let it stand for an earlier one."""

    definition: Definition
    instead_of: Definition | None = None


@dataclass(frozen=True, slots=True)
class DropDefinition:
    """Catalog change: a definition disappears."""

    definition: Definition


def kind_of(found: Definition) -> str:
    """The kind of a definition; names of one kind differ within a schema."""
    kind = next(kind for kind, known in _KINDS.items() if isinstance(found, known))
    return f"table {kind}" if isinstance(found, Macro) and found.is_table else kind


def definition_key(found: Definition) -> DefinitionKey:
    """Under which key a catalog holds a definition."""
    return (kind_of(found), *found.name.key)


def calls_from_json(raw: Iterable[Any]) -> tuple[tuple[str, DefinitionKey], ...]:
    """Expressions with the macros that they call, of which ``raw`` has lists."""
    return tuple((text, (kind, schema, name)) for text, (kind, schema, name) in raw)


def to_json(found: Definition) -> dict[str, Any]:
    """A plain structure with the definition's kind under ``kind``."""
    return {"kind": next(k for k, t in _KINDS.items() if isinstance(found, t)), **_plain(found)}


def _plain(found: Definition) -> dict[str, Any]:
    data = asdict(found)
    if isinstance(found, UserType):
        # What a type is stands under its own word: ``kind`` says what a definition is.
        data["form"] = data.pop("kind")
    return data


def from_json(data: dict[str, Any]) -> Definition:
    """The definition that ``to_json`` wrote; unknown kinds raise KeyError."""
    raw = {k: v for k, v in data.items() if k != "kind"}
    raw["name"] = TableName(**raw["name"])
    made = _KINDS[data["kind"]]
    if made is UserType:
        raw["kind"] = raw.pop("form")
        raw["checks"] = tuple((name, condition) for name, condition in raw["checks"])
    elif made is Macro:
        raw["bodies"] = tuple(
            MacroBody(
                tuple((n, d) for n, d in body["parameters"]),
                body["body"],
                tuple(body.get("types", ())),
                body.get("returns"),
                body.get("is_function", False),
            )
            for body in raw["bodies"]
        )
    elif made is Routine:
        raw["parameters"] = tuple((n, kind, default) for n, kind, default in raw["parameters"])
    return made(**raw)
