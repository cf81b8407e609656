"""Finds and changes the triggers of a table. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, PutRelation, Step
from journal.model.schema import Table
from journal.model.triggers import Trigger
from rewriter.name_resolution import position_of


def trigger_named(table: Table, name: str) -> Trigger | None:
    """The trigger of a name."""
    return next((t for t in table.triggers if t.name == name), None)


def unknown_trigger(table: Table, name: str, node: exp.Expr) -> PalimpsestError:
    """The error for a name that no trigger of a table has."""
    names = ", ".join(sorted(t.name for t in table.triggers))
    return PalimpsestError(
        Code.UNKNOWN_TRIGGER,
        f'trigger "{name}" for table "{table.name.name}" does not exist',
        advice=f"its triggers are {names}" if names else "the table has no triggers",
        position=position_of(node),
    )


def duplicate_trigger(table: Table, name: str, node: exp.Expr) -> PalimpsestError:
    """The error for a name that a trigger of a table has already."""
    return PalimpsestError(
        Code.DUPLICATE_TRIGGER,
        f'trigger "{name}" for relation "{table.name.name}" already exists',
        advice="use another name, or CREATE OR REPLACE TRIGGER",
        position=position_of(node),
    )


def put_triggers(table: Table, triggers: list[Trigger]) -> list[Step]:
    """The steps that give a table these triggers."""
    return [Change(PutRelation(replace(table, triggers=tuple(triggers))))]
