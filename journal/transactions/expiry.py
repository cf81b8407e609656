"""Conditions and queries for rows that have expired by a policy.

    expired   rows dated before the cut-off, whatever their kind: every version of such a row
    ended     superseded versions that ended too long ago, or of which a key has too many
    held      keys of which a legal hold covers any version: none of their rows goes

A closing row and a tombstone carry the values of the row they end, so they go with it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.policy import TEXT, Policy, RetentionAction
from journal.model.schema import Table
from journal.model.segment import Tier
from journal.model.version import Version, from_datetime
from journal.sql.relations import Reader, column, ident, union_all, version_type, version_value

ENDED = "ended"
HELD = "held"
DATED = r"^\d{4}-\d{2}-\d{2}"
"""What a text begins with that is a date."""
_NANOSECOND_YEARS = range(1678, 2262)
_BY = "_held_by"
_KEPT = "kept_row"
NOTHING = "nothing is past its time"


def expiry_text(rows: int) -> str:
    """What a report says of the rows that go."""
    return f"{rows:,} journal rows are past their time"


@dataclass(frozen=True, slots=True)
class Holding:
    """A hold by its id, who holds and why, and the condition that makes a row's key held."""

    id: str
    told: str
    condition: exp.Expr


@dataclass(frozen=True, slots=True)
class RowsUnderHold:
    """Journal rows past their time that stay because of holds; ``by`` counts them by hold.

    A row that several holds cover counts once in ``rows``. ``holders`` says who holds, and why.
    """

    rows: int = 0
    by: Mapping[str, int] = field(default_factory=dict)
    holders: Mapping[str, str] = field(default_factory=dict)

    @property
    def details(self) -> dict[str, Any]:
        """What plans and reports say of them."""
        if not self.rows:
            return {}
        by = {name: {"rows": n, "why": self.holders[name]} for name, n in self.by.items()}
        return {"held": {"rows": self.rows, "by": by}}

    def description(self, gone: int) -> str:
        """What a report says: how many rows go, and how many stay because of whom."""
        why = "; ".join(self.holders[name] for name in self.by)
        if not gone:
            return f"all {self.rows:,} rows past their time stay: {why}" if self.rows else NOTHING
        more = f"; {self.rows:,} more stay: {why}" if self.rows else ""
        return f"{expiry_text(gone)}{more}"


@dataclass(frozen=True, slots=True)
class Expiry:
    """What a policy says about one table at one moment.

    ``settled`` bounds the rows that may be judged, ``oldest`` is what the oldest open transaction
    reads at: versions that ended since are still its present.
    """

    table: Table
    policy: Policy
    now: datetime
    settled: Version
    holding: tuple[Holding, ...] = ()
    oldest: Version | None = None

    @property
    def cut_off(self) -> datetime | None:
        """Rows dated before this are past their time."""
        return self.policy.expired_before(self.now)

    @property
    def archives(self) -> bool:
        """True if rows past their date are kept apart when they go."""
        return self.policy.action is RetentionAction.ARCHIVE and self.cut_off is not None

    def details(self, floor: Version, archived: int) -> dict[str, Any]:
        """What plans and reports say besides, in any store.

        The moment the policy was applied at, the date before which rows go and how many of them are
        archived, and before which version the past cannot be told any more.
        """
        found: dict[str, Any] = {"now": self.now.isoformat()}
        if (cut_off := self.cut_off) is not None:
            found |= {"cut_off": cut_off.isoformat(), "action": self.policy.action.value}
        if self.archives:
            found["archived"] = archived
        return {**found, "floor": floor} if floor else found

    @property
    def looks_at_history(self) -> bool:
        """True if versions are removed by their age or number."""
        return self.policy.history is not None or self.policy.versions is not None

    def expired(self) -> exp.Expr | None:
        """The condition of a row that is past its date; never NULL."""
        cut_off = self.cut_off
        if cut_off is None or self.policy.column is None:
            return None
        kind = self.table.by_physical(self.policy.column).type.upper()
        value = column(self.policy.column)
        before = _before(value, kind, cut_off.astimezone(UTC))
        return exp.Coalesce(this=before, expressions=[exp.false()])

    def superseded_versions(self, tiers: frozenset[Tier]) -> exp.Query:
        """Keys, versions and ends of the superseded versions that go."""
        start, end = self._start, self._end
        names = [*self.table.key, start, end]
        rows = Reader(self.table, tiers).intervals([(column(n), n) for n in names])
        bound = self.settled if self.oldest is None else min(self.settled, self.oldest)
        settled = exp.LTE(this=column(end), expression=self._version(bound))
        rules: list[exp.Expr] = []
        outputs: list[exp.Expr] = [column(n) for n in names]
        if self.policy.versions is not None:
            keys = [column(k) for k in self.table.key]
            latest = exp.Order(expressions=[exp.Ordered(this=column(start), desc=True)])
            place = exp.Window(this=exp.RowNumber(), partition_by=keys, order=latest)
            outputs.append(exp.alias_(place, "place"))
            limit = exp.Literal.number(self.policy.versions)
            rules.append(exp.GT(this=exp.column("place"), expression=limit))
        before = self.policy.history_before(self.now)
        if before is not None:
            since = self._version(max(0, from_datetime(before)))
            rules.append(exp.LTE(this=column(end), expression=since))
        ranked = exp.select(*outputs).from_(rows.subquery("i"))
        found = exp.select(*[column(n) for n in names]).from_(ranked.subquery("r"))
        return found.where(settled, exp.or_(*rules))

    def held_keys(self, written: Iterable[exp.Query]) -> exp.Query | None:
        """Keys that a hold covers in any of their versions; None where no hold concerns rows.

        ``written`` are all rows of the journal in present columns, also those that an erasure
        hides: a hold keeps these, too.
        """
        if not self.holding:
            return None
        rows = union_all([self._no_rows(), *written])
        found: list[exp.Query] = []
        for holding in self.holding:
            among = exp.select("*").from_(rows.copy().subquery("j")).where(holding.condition.copy())
            by = exp.alias_(exp.Literal.string(holding.id), ident(_BY))
            keys = exp.select(*[column(k) for k in self.table.key], by).distinct()
            found.append(keys.from_(among.subquery("h")))
        return union_all(found)

    def rows_under_hold(
        self, written: exp.Query, ask: Callable[[exp.Select], Sequence[Any]]
    ) -> RowsUnderHold:
        """The rows past their time that stay because of holds; ``ask`` gives a query's rows.

        Those with HELD, and ENDED where versions go, at hand.
        """
        if not self.holding:
            return RowsUnderHold()
        rows = exp.select("*").from_(written.copy().subquery("r")).where(self._reasons("r"))
        same = [exp.EQ(this=column(k, "h"), expression=column(k, _KEPT)) for k in self.table.key]
        held = exp.select(*[column(k) for k in (*self.table.key, _BY)]).distinct().from_(HELD)
        by = exp.select(column(_BY, "h"), exp.Count(this=exp.Star())).from_(rows.subquery(_KEPT))
        by = by.join(held.subquery("h"), on=exp.and_(*same)).group_by(column(_BY, "h"))
        found = {str(name): int(count) for name, count in ask(by)}
        if not found:
            return RowsUnderHold()
        every = exp.select(exp.Count(this=exp.Star())).from_(rows.copy().subquery(_KEPT))
        ((total,),) = ask(every.where(self._is_held(_KEPT)))
        holders = {h.id: h.told for h in self.holding}
        return RowsUnderHold(int(total), {n: found[n] for n in holders if n in found}, holders)

    def goes(self, row: str) -> exp.Expr:
        """The condition under which a row of relation ``row`` goes, for whatever reason."""
        return self._unless_held(self._reasons(row), row)

    def _reasons(self, row: str) -> exp.Expr:
        reasons: list[exp.Expr] = []
        dated = self.dated(row)
        if dated is not None:
            reasons.append(dated)
        if self.looks_at_history:
            reasons.append(self._is_ended(row))
        return exp.or_(*reasons)

    def archived(self, row: str) -> exp.Expr | None:
        """The condition under which a row goes because of its date."""
        dated = self.dated(row)
        return None if dated is None else self._unless_held(dated, row)

    def unheld(self, row: str) -> exp.Expr:
        """The condition that no hold covers the key of a row."""
        return self._unless_held(exp.true(), row)

    def settled_version(self) -> exp.Expr:
        """``settled`` in the type of the table's versions."""
        return self._version(self.settled)

    def dated(self, row: str) -> exp.Expr | None:
        """``expired`` over relation ``row``."""
        found = self.expired()
        return None if found is None else _of(found, row)

    def _is_ended(self, row: str) -> exp.Expr:
        start, end = self._start, self._end
        same = [exp.EQ(this=column(k, "e"), expression=column(k, row)) for k in self.table.key]
        itself = exp.EQ(this=column(start, "e"), expression=column(start, row))
        tombstone = exp.and_(
            exp.EQ(this=column(end, row), expression=column(start, row)),
            exp.EQ(this=column(end, "e"), expression=column(end, row)),
        )
        found = exp.select(exp.Literal.number(1)).from_(exp.alias_(exp.to_table(ENDED), "e"))
        return exp.Exists(this=found.where(*same, exp.or_(itself, tombstone)))

    def _unless_held(self, condition: exp.Expr, row: str) -> exp.Expr:
        if not self.holding:
            return condition
        return exp.and_(condition, exp.Not(this=self._is_held(row)))

    def _is_held(self, row: str) -> exp.Expr:
        same = [exp.EQ(this=column(k, "h"), expression=column(k, row)) for k in self.table.key]
        found = exp.select(exp.Literal.number(1)).from_(exp.alias_(exp.to_table(HELD), "h"))
        return exp.Exists(this=found.where(*same))

    def _no_rows(self) -> exp.Select:
        kinds = [*((c.physical, c.type) for c in self.table.stored)]
        kinds += [(name, version_type(self.table)) for name in (self._start, self._end)]
        nulls = [
            exp.alias_(exp.cast(exp.Null(), kind, dialect="duckdb"), ident(name))
            for name, kind in kinds
        ]
        return exp.select(*nulls).where(exp.false())

    @property
    def _start(self) -> str:
        return self.table.format.version_column

    @property
    def _end(self) -> str:
        return self.table.format.subsequent_column

    def _version(self, number: Version) -> exp.Expr:
        return version_value(self.table, exp.Literal.number(number))


def _before(value: exp.Expr, kind: str, cut_off: datetime) -> exp.Expr:
    if kind == "DATE":
        # A date is its midnight, so those before the cut-off are those before the next midnight.
        midnight = cut_off.time() == time()
        day = cut_off.date() if midnight else cut_off.date() + timedelta(days=1)
        return exp.LT(this=value, expression=_literal(day.isoformat(), "DATE"))
    if kind.startswith(("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE")):
        return exp.LT(this=value, expression=_literal(cut_off.isoformat(), "TIMESTAMPTZ"))
    moment = cut_off.replace(tzinfo=None).isoformat(sep=" ")
    if kind == "TIMESTAMP_NS" and cut_off.year in _NANOSECOND_YEARS:
        # As a TIMESTAMP it would be rounded, up to the cut-off itself.
        return exp.LT(this=value, expression=_literal(moment, kind))
    if kind.startswith(TEXT):
        looks = exp.RegexpLike(this=value.copy(), expression=exp.Literal.string(DATED))
        text = exp.Case(ifs=[exp.If(this=looks, true=value)])
        value = exp.TryCast(this=text, to=exp.DataType.build("TIMESTAMP", dialect="duckdb"))
    else:
        value = exp.cast(value, "TIMESTAMP", dialect="duckdb")
    return exp.LT(this=value, expression=_literal(moment, "TIMESTAMP"))


def _literal(text: str, kind: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), kind, dialect="duckdb")


def _of(condition: exp.Expr, row: str) -> exp.Expr:
    found = condition.copy()
    for node in list(found.find_all(exp.Column)):
        node.set("table", exp.to_identifier(row))
    return found


def substituted(condition: exp.Expr, row: str, selects: Sequence[exp.Expr]) -> exp.Expr:
    """A condition in which columns of ``row`` are what a select gives under their names."""
    values = {s.alias_or_name: s.unalias() for s in selects}

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table == row and node.name in values:
            return exp.paren(values[node.name].copy())
        return node

    return condition.transform(put)
