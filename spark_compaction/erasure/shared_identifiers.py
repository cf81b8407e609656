"""Counts identifiers of a request that other rows hold, and leaves them writable.

    nobody else holds it   suppressed wherever it is described
    rows that stay do      suppressed in the other tables that describe it; there, if ALL is asked
    a table is rows_only   suppressed in the other tables that describe it

What counts are current rows: nobody writes the past again. The same in every store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

import pyarrow as pa
from sqlglot import exp

from journal.erasure.erasure_spec import ErasureSpec, Subjects, TargetTable
from journal.erasure.matching import shown_keys
from journal.erasure.recorded_forms import recorded_forms
from journal.erasure.requests import Outcome, Target
from journal.erasure.suppressing import FormsByType, Suppressor, forms_of
from journal.identity.descriptor import DescriptorEntry, descriptor_of
from journal.identity.identifiers import normal
from journal.identity.paths import values_sql
from journal.identity.suppression_list import kind_of_leaf
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.model.suppression import Suppression
from journal.model.version import Version
from journal.sql.relations import Reader, column, ident
from journal.sql.sql import all_of, relation, select
from journal.transactions.state import JournalState

_NAMED = "named_identifiers"
_GOING = "going_keys"
_Held = Mapping[tuple[str, str], int]
"""Rows by the kind and text of what they hold."""


@dataclass(slots=True)
class Shared:
    """What of one request others hold, as it was looked at last."""

    wanted: ErasureSpec
    aims: Sequence[TargetTable]
    _forms: FormsByType = field(default_factory=dict)
    _held: dict[int, _Held] = field(default_factory=dict)
    _seen: dict[int, Version] = field(default_factory=dict)

    def look_ahead(self, session: StoreSession, state: JournalState) -> None:
        """Count where nothing goes by the condition, while nobody waits."""
        self._forms = recorded_forms(state)
        for table in self._other_tables(state):
            if table.id not in self.wanted.rows:
                self._count_in_table(session, state, table, None)

    def count_remaining(
        self, session: StoreSession, state: JournalState, going: Mapping[int, pa.Table]
    ) -> None:
        """Count the current rows that stay; ``going`` are the keys of those that go, by table.

        A table that nothing was written to since is not read a second time.
        """
        forms = recorded_forms(state)
        if forms != self._forms:
            # What was counted lacks a form that a table has got since.
            self._forms, self._seen = forms, {}
        for table in self._other_tables(state):
            last = state.tables[table.id].last_version
            if table.id in going or self._seen.get(table.id) != last:
                self._count_in_table(session, state, table, going.get(table.id))

    def enter(self, entries: Suppressor) -> None:
        """Write down what may not come back."""
        shared: dict[frozenset[int], dict[str, list[str]]] = {}
        if not any(self._held.values()) and not self.wanted.rows_only:
            shared[frozenset()] = {n: list(v) for n, v in self.wanted.suppressed.items()}
        for name, value in _each(self.wanted.suppressed if not shared else {}):
            place = shared.setdefault(self._holders(name, value), {})
            place.setdefault(name, []).append(value)
        free: Subjects = shared.pop(frozenset(), {})
        if self.wanted.suppression is Suppression.ALL:
            free = self.wanted.suppressed
        reached: list[int | None] = [None]
        if self.wanted.tables is not None:
            reached = [a.table.id for a in self.aims if a.why_not is None]
        entries.identifiers(free, self._forms, reached)
        for holders, subjects in shared.items():
            if self.wanted.suppression is Suppression.ALL:
                entries.present(subjects, self._forms, sorted(holders))
                continue
            for name, values in subjects.items():
                others = [t.id for t in self._describing({name}) if t.id not in holders]
                entries.identifiers({name: values}, self._forms, others)

    def remarked(self, targets: Iterable[Target]) -> tuple[Target, ...]:
        """Receipts that say what is suppressed, and who else holds it."""
        return tuple(self._remarked(target) for target in targets)

    def _remarked(self, target: Target) -> Target:
        if target.is_deferred:
            return target
        named = target.table_id in self.wanted.rows
        told = [self._scope(target.table_id)] if named else []
        if target.table_id in self.wanted.rows_only and target.outcome is not Outcome.NOT_SEARCHED:
            told.append("only rows are erased: whoever had them may be written here again")
        tables = list(self._held) if named else [target.table_id]
        told += [text for i in tables if (text := self._holders_text(i))]
        why = "; ".join(part for part in (target.why, *told) if part)
        return replace(target, why=why)

    def _scope(self, table_id: int) -> str:
        """What of a condition may not be written again."""
        if not self.wanted.suppressed and self._table(table_id).hidden_key:
            return "rows without a key can be written again"
        if self.wanted.suppression is Suppression.KEY:
            return "only keys are suppressed, as SCOPE KEY says"
        if not self.wanted.suppressed:
            return (
                "only keys are suppressed: the condition is more than = or IN, joined by AND, on"
                " columns of the erasure descriptor"
            )
        counts = ", ".join(f"{len(v)} of {n}" for n, v in self.wanted.suppressed.items())
        return f"identifiers are suppressed as well: {counts}"

    def _holders_text(self, table_id: int) -> str:
        """Who else holds identifiers in a table; empty if nobody does."""
        rows = sum(self._held.get(table_id, {}).values())
        if not rows:
            return ""
        name = self._table(table_id).name
        kept = "are suppressed all the same, as SCOPE ALL says"
        if self.wanted.suppression is not Suppression.ALL:
            kept = "are not suppressed there; SCOPE ALL suppresses them"
        return f"identifiers that rows outside the request hold ({rows} in {name}) {kept}"

    def _table(self, table_id: int) -> Table:
        return next(a.table for a in self.aims if a.table.id == table_id)

    def _holders(self, name: str, value: str) -> frozenset[int]:
        """The tables with rows that stay and hold an identifier."""
        named = forms_of({name: [value]}, self._forms)
        forms = {(kind, text) for kind, texts in named for text in texts}
        held = {i for i, held in self._held.items() if not forms.isdisjoint(held)}
        return frozenset(held | self.wanted.rows_only)

    def _describing(self, types: Iterable[str]) -> list[Table]:
        """The tables whose present definition says that they hold identifiers of these types."""
        wanted, only = set(types), self.wanted.tables
        return [
            a.table
            for a in self.aims
            if (only is None or a.table.name.key in only)
            and any(i.type in wanted for i in descriptor_of(a.table))
        ]

    def _other_tables(self, state: JournalState) -> list[Table]:
        """The tables in which rows may hold what is named and stay."""
        # Who is looked for by name goes from every row of the tables that are searched.
        gone = {a.table.id for a in self.aims if self.wanted.subjects and a.why_not is None}
        return [
            table
            for table in self._describing(self.wanted.suppressed)
            if table.id not in gone and state.catalog.by_id(table.id) is not None
        ]

    def _count_in_table(
        self, session: StoreSession, state: JournalState, table: Table, going: pa.Table | None
    ) -> None:
        self._seen[table.id] = state.tables[table.id].last_version
        self._held[table.id] = self._count_values(session, state, table, going)

    def _count_values(
        self, session: StoreSession, state: JournalState, table: Table, going: pa.Table | None
    ) -> _Held:
        found: dict[tuple[str, str], int] = {}
        named = dict(forms_of(self.wanted.suppressed, self._forms))
        if going is not None:
            session.show_arrow(f"{_GOING}_{table.id}", going)
        for number, identity in enumerate(descriptor_of(table)):
            kind = kind_of_leaf(table, identity)
            if kind not in named or identity.type not in self.wanted.suppressed:
                continue
            shown = f"{_NAMED}_{table.id}_{number}"
            session.show_arrow(shown, pa.table({"v": pa.array(named[kind], pa.string())}))
            query = _holding(table, state, identity, shown, going is not None)
            rows = session.arrow(Query.of(query), {})
            session.hide(shown)
            for text, count in zip(*(c.to_pylist() for c in rows.columns), strict=True):
                found[kind, text] = found.get((kind, text), 0) + int(count)
        if going is not None:
            session.hide(f"{_GOING}_{table.id}")
        return found


def _each(subjects: Subjects) -> Iterable[tuple[str, str]]:
    return ((name, value) for name, values in subjects.items() for value in values)


def _holding(
    table: Table, state: JournalState, identity: DescriptorEntry, shown: str, without: bool
) -> exp.Select:
    """The identifiers among those shown that current rows hold, and how many rows do."""
    names = dict.fromkeys([*table.key, identity.path.root])
    current = Reader(table, state.tables[table.id].tiers).current([(column(n), n) for n in names])
    rows = relation(current, "r")
    value = values_sql(identity.path, "r")
    if identity.path.is_list:
        value = exp.Anonymous(this="unnest", expressions=[value])
    held = select([exp.alias_(value, ident("_v"))], rows)
    if without:
        going = relation(shown_keys(table, f"{_GOING}_{table.id}"), "g")
        same = [exp.EQ(this=column(k, "g"), expression=column(k, "r")) for k in table.key]
        held.append("joins", exp.Join(this=going, kind="ANTI", on=all_of(*same)))
    text = exp.alias_(normal(column("_v", "h"), identity.normaliser), ident("v"))
    texts = select([text], relation(held, "h"))
    among = exp.select(column("v")).from_(exp.to_table(shown))
    wanted = exp.In(this=column("v", "t"), query=among.subquery(copy=False))
    counted = exp.alias_(exp.Count(this=exp.Star()), ident("n"))
    found = select([column("v", "t"), counted], relation(texts, "t"), wanted)
    return found.group_by(column("v", "t"))
