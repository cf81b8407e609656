"""Blocks of PL/pgSQL: of DO, and the bodies of functions. Values only, pure.

DO $$ BEGIN CREATE TYPE mood AS ENUM ('sad'); EXCEPTION WHEN duplicate_object THEN NULL; END $$
"""

from __future__ import annotations

from typing import Any

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """A statement of SQL; ``text`` is its own. What it gives is dropped."""

    statement: Any
    text: str


@dataclass(frozen=True, slots=True)
class RunText:
    """EXECUTE: ``query`` gives the text of a statement."""

    query: Run


@dataclass(frozen=True, slots=True)
class Raise:
    """RAISE: a notice, or an error with a SQLSTATE; each query gives a value for a ``%``."""

    is_error: bool
    message: str
    values: tuple[Run, ...] = ()
    sqlstate: str = "P0001"
    advice: str = ""


@dataclass(frozen=True, slots=True)
class RaiseAgain:
    """RAISE without anything, in a handler: the error that it handles."""


@dataclass(frozen=True, slots=True)
class Branch:
    """IF: the steps behind the first condition that is true, else those behind none."""

    choices: tuple[tuple[Run, tuple[Step, ...]], ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredVariable:
    """DECLARE: ``kind`` is a cast of NULL to its type; without a ``value`` it is NULL."""

    name: str
    kind: Run
    value: Run | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    """An assignment to a variable, or to a column of a row: NEW.c."""

    target: tuple[str, ...]
    value: Run


@dataclass(frozen=True, slots=True)
class Return:
    """RETURN: in a function of triggers a row, or None for NULL; else nothing."""

    row: str | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """What runs after an error of one of these SQLSTATEs, or of these classes; none means any."""

    states: frozenset[str] | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """BEGIN .. END: with handlers, an error undoes what the steps have done."""

    steps: tuple[Step, ...]
    handlers: tuple[Handler, ...] = ()
    variables: tuple[DeclaredVariable, ...] = ()


@dataclass(frozen=True, slots=True)
class DoBlock:
    """DO."""

    block: Block


Step = Run | RunText | Raise | RaiseAgain | Branch | Block | Assign | Return
