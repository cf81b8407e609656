"""Identities of several parts, as conditions on the tables that describe all of them.

A row is meant if one of its versions has every part: ``first = 'Ada' AND last = 'Lovelace'``. The
values are parameters of the condition, never part of its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gateway.privacy_desk import sealing
from gateway.privacy_desk.desk import Named
from gateway.procedures.condition_spec import condition_spec
from journal.erasure.erasure_spec import ErasureSpec
from journal.identity.descriptor import DescriptorEntry, descriptor_of
from journal.identity.identifiers import normal, numbers_of, texts_of
from journal.identity.normalisers import EXACT
from journal.identity.paths import leaf_type
from journal.model.schema import Table
from journal.sql.relations import ident

if TYPE_CHECKING:
    from gateway.session.session import Session

_IDENTITIES_MAX = 200
"""So many identities one condition asks for; more make more conditions."""


def specs(
    session: Session, named: Named, only: frozenset[tuple[str, str]] | None
) -> list[ErasureSpec]:
    """What to ask of each table that describes all parts of an identity."""
    wanted = [
        sealing.split_parts(kind, value)
        for pairs in named.values()
        for kind, value in pairs
        if sealing.is_composite(kind)
    ]
    found = []
    for table in session.journal.state.catalog.tables() if wanted else ():
        if only is not None and table.name.key not in only:
            continue
        entries = {e.type: e for e in descriptor_of(table) if not e.path.is_list}
        its = [parts for parts in wanted if all(kind in entries for kind, _ in parts)]
        for start in range(0, len(its), _IDENTITIES_MAX):
            some = its[start : start + _IDENTITIES_MAX]
            found.append(_spec(session, table, entries, some))
    return found


def _spec(
    session: Session,
    table: Table,
    entries: dict[str, DescriptorEntry],
    identities: Sequence[Sequence[tuple[str, str]]],
) -> ErasureSpec:
    parameters: dict[str, str] = {}
    conditions = []
    for parts in identities:
        compared = []
        for kind, value in parts:
            name = f"p{len(parameters)}"
            condition, text = comparison(table, entries[kind], value, name)
            compared.append(condition)
            parameters[name] = text
        conditions.append(exp.and_(*compared))
    return condition_spec(session, table, exp.or_(*conditions), parameters)


def comparison(table: Table, entry: DescriptorEntry, value: str, name: str) -> tuple[exp.Expr, str]:
    """A part compared as descriptors compare: text, or the number that it is."""
    held = table.by_physical(entry.path.root)
    kind = leaf_type(exp.DataType.build(held.type, dialect="duckdb"), entry.path)
    column: exp.Expr = exp.column(ident(held.name))
    for step in entry.path.steps:
        column = exp.Dot(this=column, expression=ident(step[1:]))
    is_text = kind is not None and kind.is_type(*exp.DataType.TEXT_TYPES)
    normaliser = entry.normaliser if is_text else EXACT
    (text,) = texts_of([value], normaliser) if is_text else (numbers_of([value]) or [""])
    compared = normal(column, normaliser)
    return exp.EQ(this=compared, expression=exp.Placeholder(this=name)), text
