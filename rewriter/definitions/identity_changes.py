"""ALTER COLUMN of numbers that a table generates: they begin, change or end. Pure."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.schema import Column, Identity
from rewriter.definitions.alteration import Alteration
from rewriter.definitions.generated_columns import IDENTITY_ADVICE, identity_fault, identity_options
from rewriter.name_resolution import position_of
from rewriter.syntax.statements.alter_identity import (
    DROPS,
    IDENTITY,
    IF_THERE,
    KEEPS,
    RESTARTS,
    STARTS,
    STAYS,
    STEPS,
)

_CHANGES = (RESTARTS, STARTS, STEPS, STAYS)


def is_about_identity(action: exp.AlterColumn) -> bool:
    """True for ADD GENERATED .. AS IDENTITY, SET GENERATED, RESTART and DROP IDENTITY."""
    return any(action.args.get(name) for name in (IDENTITY, DROPS, *_CHANGES))


def restarted_identity(column: Column, counter: int, begin: int | None = None) -> Column:
    """A column whose numbers begin anew, as TRUNCATE and ALTER SEQUENCE may ask for."""
    assert column.identity is not None
    return replace(column, identity=column.identity.restarted(counter, begin))


def change_identity(change: Alteration, action: exp.AlterColumn, counter: int) -> None:
    """Carry out such an action; rows keep their numbers. ``counter`` is that of a RESTART.

    Raises INVALID_DEFINITION where the column does not fit it.
    """
    index = change.column_index(action.name, action)
    stored = change.draft.columns[index]
    given = action.args.get(IDENTITY)
    wanted = None if given is None else identity_options(given, stored)
    begins = any(action.args.get(name) for name in _CHANGES)
    needs_one = wanted is None or bool(action.args.get(KEEPS))
    if needs_one and stored.identity is None and action.args.get(IF_THERE):
        return
    is_required = stored.not_null or stored.physical in change.draft.key
    wrong = _what_is_wrong(stored, wanted, needs_one=needs_one, is_required=is_required)
    if wrong is not None:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'column "{stored.name}" of {change.table.name} {wrong}',
            advice=IDENTITY_ADVICE,
            position=position_of(action),
        )
    if begins and stored.identity is not None:
        always = stored.identity.always if wanted is None else wanted.always
        wanted = replace(_begun_anew(stored.identity, action, counter), always=always)
        if action.args.get(STEPS) is not None and action.args.get(RESTARTS) is None:
            wanted = wanted.restarted(counter, wanted.first)
            change.continued.add(stored.physical)
    elif needs_one and wanted is not None and stored.identity is not None:
        wanted = replace(stored.identity, always=wanted.always)
    required = stored.not_null or wanted is not None
    change.draft.columns[index] = replace(stored, identity=wanted, not_null=required)


def _begun_anew(known: Identity, action: exp.AlterColumn, counter: int) -> Identity:
    starts, restarts = action.args.get(STARTS), action.args.get(RESTARTS)
    steps = action.args.get(STEPS)
    if steps is not None:
        known = replace(known, increment=int(steps.sql()))
    if starts is not None:
        # The counter goes on; only the next RESTART begins with it.
        known = replace(known, start=int(starts.sql()), begin=known.first)
    if restarts is None:
        return known
    begin = None if isinstance(restarts, exp.Boolean) else int(restarts.sql())
    return known.restarted(counter, begin)


def _what_is_wrong(
    stored: Column, wanted: Identity | None, *, needs_one: bool, is_required: bool
) -> str | None:
    if needs_one is not (stored.identity is not None):
        return "is no identity column" if needs_one else "is an identity column already"
    if wanted is None or needs_one:
        return None
    return identity_fault(stored) or (None if is_required else "may be NULL")
