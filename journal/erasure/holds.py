"""Legal holds: which rows no job may remove, who placed the hold, why and when.

A hold covers a table, the rows of a table that meet a condition, or a person: a value of a column
in one table or in all that have such a column, or what their erasure descriptors call so. Whoever
removes rows asks ``active`` first and leaves the keys alone that a hold covers in any of their
versions. Of a person's value only keyed hashes are kept; a condition stands as it was written until
the hold is released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlglot import exp

from journal.erasure.recorded_forms import recorded_forms
from journal.erasure.seam import SecretJournal
from journal.erasure.secret import lasting_secret
from journal.identity.descriptor import DescriptorEntry, descriptor_of
from journal.identity.identifiers import normal, texts_of
from journal.identity.key_ring import labelled, secret_parameter
from journal.identity.normalisers import EXACT, LOWER, Normaliser
from journal.identity.paths import values_sql
from journal.identity.suppression_list import digest, digest_of
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.store_session import RecordSession, StoreSession
from journal.records import maintenance as rows_of
from journal.sql import dialects
from journal.sql.native_words import with_kept_words
from journal.sql.relations import column, ident
from journal.transactions.expiry import Holding
from journal.transactions.protocol import OpenJournal
from journal.transactions.reading import committed_state

_KEY_MARK = "@"


class HoldScope(StrEnum):
    """What a hold covers."""

    TABLE = "table"
    PREDICATE = "predicate"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True)
class Hold:
    """One hold.

    ``predicate`` is canonical SQL over physical columns; ``subject_value`` is what
    ``subject_hashes`` gives; of a hold of another store, ``hashes_here``.
    """

    id: str
    scope: HoldScope
    table_id: int | None
    predicate: str | None
    subject_column: str | None
    subject_value: str | None
    reason: str
    placed_by: str | None
    placed_at: datetime
    released_by: str | None = None
    released_at: datetime | None = None

    @property
    def is_active(self) -> bool:
        """True until it is released."""
        return self.released_at is None

    def concerns(self, table: Table) -> bool:
        """True if it may cover rows of a table."""
        if not self.is_active or self.table_id not in {None, table.id}:
            return False
        return self.scope is not HoldScope.SUBJECT or identifies(table, self.subject_column or "")

    def description(self) -> str:
        """Who holds and why, for messages."""
        return f"hold {self.id} by {self.placed_by or 'somebody'} ({self.reason})"


def identifies(table: Table, name: str) -> bool:
    """True if a table has a column of that name, or identities of that type."""
    return table.find(name) is not None or any(i.type == fold(name) for i in descriptor_of(table))


def subject_hashes(journal: SecretJournal, subject_column: str, value: str) -> str:
    """The form in which a hold names a person: without the warehouse's secret it says nothing.

    A hash of the value as it is, and one of it where case and blanks mean nothing; behind them one
    in the form of each normaliser that tables have for what is called so, with that before it.
    """
    state = committed_state(journal)
    declared = dict.fromkeys(recorded_forms(state).get(fold(subject_column), ()))
    for table in state.catalog.tables():
        declared |= dict.fromkeys(e.normaliser for e in _entries(table, subject_column))
    with journal.reading_session() as session:
        secret = lasting_secret(journal, session)

    def value_hash(normaliser: Normaliser) -> str:
        (text,) = texts_of([value], normaliser)
        return digest_of(secret, _kind(subject_column, normaliser), text)

    others = [n for n in declared if not n.is_plain]
    marked = [f"{_mark(normaliser)}{value_hash(normaliser)}" for normaliser in others]
    return " ".join([value_hash(EXACT), value_hash(LOWER), *marked])


def hashes_here(hashes: str, source: str, own: str | None) -> str:
    """The hashes of a hold of another store, with the id of the key that made them.

    Those that name none are of the key ``source``; none is named for the store's ``own``.
    """
    bare, _, key = hashes.partition(f" {_KEY_MARK}")
    key = key or source
    return bare if key == own else f"{bare} {_KEY_MARK}{key}"


def key_of_hashes(hashes: str) -> str | None:
    """The id of the key that made the hashes of a hold; None for the store's own."""
    return hashes.partition(f" {_KEY_MARK}")[2] or None


def has_form(subject_value: str, normaliser: Normaliser) -> bool:
    """True if a hold's hashes, as ``subject_hashes`` gives them, say whom it means in a form."""
    return _hash_in_form(subject_value, normaliser) is not None


def _hash_in_form(subject_value: str, normaliser: Normaliser) -> str | None:
    # Holds that were placed before there were two hashes have one.
    exact, *others = subject_value.partition(f" {_KEY_MARK}")[0].split(" ")
    if normaliser == EXACT:
        return exact
    if normaliser == LOWER:
        return others[0] if others else None
    mark = _mark(normaliser)
    return next((h.removeprefix(mark) for h in others if h.startswith(mark)), None)


def _mark(normaliser: Normaliser) -> str:
    return normaliser.suffix.strip().replace(" ", ":") + "="


def _kind(subject_column: str, normaliser: Normaliser) -> str:
    return f"hold:{fold(subject_column)}{normaliser.suffix}"


def _entries(table: Table, name: str) -> list[DescriptorEntry]:
    """What of a table's descriptor is called so: its type, or the column that it is."""
    named = table.find(name)
    return [
        e
        for e in descriptor_of(table)
        if e.type == fold(name)
        or (named is not None and not e.path.steps and e.path.root == named.physical)
    ]


def place(session: StoreSession, hold: Hold) -> None:
    """Put a hold on record: from the commit on nothing it covers is removed."""
    rows_of.add_hold(session, {name: getattr(hold, name) for name in rows_of.HOLD})


def release(session: StoreSession, hold: Hold, by: str | None, at: datetime) -> None:
    """End a hold; what waited for it may run again. Raises HELD if somebody was faster."""
    current = next((h for h in held_in(session) if h.id == hold.id), None)
    if current is None or not current.is_active:
        raise no_hold(hold.id)
    rows_of.release_hold(session, hold.id, by, at)


def find(journal: OpenJournal, hold_id: str) -> Hold:
    """The active hold of that id; raises HELD if there is none."""
    found = next((h for h in all_holds(journal) if h.id == hold_id), None)
    if found is None or not found.is_active:
        raise no_hold(hold_id)
    return found


def no_hold(hold_id: str) -> PalimpsestError:
    """The error of a hold that is not there, or not any more."""
    return PalimpsestError(
        Code.HELD,
        f"there is no active hold {hold_id}",
        advice="SELECT * FROM system.holds WHERE released_at IS NULL lists them",
    )


def all_holds(journal: OpenJournal) -> list[Hold]:
    """Every hold, released ones too, oldest first."""
    with journal.reading_session() as session:
        return held_in(session)


def active_in(session: StoreSession) -> list[Hold]:
    """The holds in force as a session's transaction sees them."""
    return [h for h in held_in(session) if h.is_active]


def held_in(session: RecordSession) -> list[Hold]:
    """Every hold as a session's transaction sees them."""
    return _read(rows_of.holds(session))


def active(journal: OpenJournal, table: Table) -> list[Hold]:
    """The holds that may cover rows of a table."""
    return [h for h in all_holds(journal) if h.concerns(table)]


def whole_table(holds: Iterable[Hold]) -> Hold | None:
    """A hold that covers the whole of a table, if there is one."""
    return next((h for h in holds if h.scope is HoldScope.TABLE), None)


def conditions(journal: SecretJournal, table: Table, holds: Iterable[Hold]) -> tuple[Holding, ...]:
    """What each of some holds covers of a table, as ``held_condition`` says it."""
    found = ((hold, held_condition(journal, table, [hold])) for hold in holds)
    return tuple(
        Holding(h.id, h.description(), condition) for h, condition in found if condition is not None
    )


def are_as_judged(
    journal: SecretJournal, session: StoreSession, table: Table, judged: Iterable[Holding]
) -> bool:
    """True if no hold on a table was placed or released since a job judged its rows."""
    now = [h for h in active_in(session) if h.concerns(table)]
    if whole_table(now) is not None:
        return False
    ids = {h.id for h in conditions(journal, table, now)}
    return ids == {h.id for h in judged}


def held_condition(journal: SecretJournal, table: Table, holds: Iterable[Hold]) -> exp.Expr | None:
    """The condition on a row version, over physical columns, that makes its key held; or None.

    It may contain the warehouse's secret, so it is for this process alone.
    """
    found: list[exp.Expr] = []
    for hold in holds:
        match hold.scope:
            case HoldScope.TABLE:
                return exp.true()
            case HoldScope.PREDICATE:
                assert hold.predicate is not None
                found.append(exp.paren(dialects.stored(hold.predicate)))
            case HoldScope.SUBJECT:
                found += _of_person(journal, table, hold)
    return exp.or_(*found) if found else None


def _of_person(journal: SecretJournal, table: Table, hold: Hold) -> Iterator[exp.Expr]:
    """The conditions under which a row version names the person of a hold."""
    name, key = hold.subject_column or "", key_of_hashes(hold.subject_value or "")
    secret = journal.read_secret(key)

    def is_person(value: exp.Expr, normaliser: Normaliser) -> exp.Expr:
        wanted = _hash_in_form(hold.subject_value or "", normaliser) or ""
        hashed = digest(labelled(_kind(name, normaliser), key), normal(value, normaliser))
        hashed = exp.replace_placeholders(hashed, **{secret_parameter(key): secret})
        return exp.EQ(this=hashed, expression=exp.Literal.string(wanted))

    named = table.find(name)
    if named is not None:
        yield is_person(column(named.physical), EXACT)
    for identity in _entries(table, name):
        if not has_form(hold.subject_value or "", identity.normaliser):
            if not identity.normaliser.is_plain:
                # Whom it means cannot be told in this form: better too much is held.
                yield exp.true()
            continue
        value = values_sql(identity.path)
        if not identity.path.is_list:
            yield is_person(value, identity.normaliser)
        elif journal.capabilities.expands_lists:
            each = exp.alias_(exp.Anonymous(this="unnest", expressions=[value]), ident("v"))
            among = exp.select(exp.Literal.number(1)).from_(exp.select(each).subquery("x"))
            among = among.where(is_person(column("v", "x"), identity.normaliser))
            yield exp.Exists(this=among)
        else:
            # Servers do not look into lists here: better too much is held than too little.
            yield exp.true()


def physical_predicate(condition: exp.Expr, table: Table) -> str:
    """A condition over a table's columns as canonical text over physical ones.

    Raises for subqueries, aggregates and unknown columns: a hold looks at one row version only.
    """
    bad = condition.find(exp.Query, exp.AggFunc, exp.Window, exp.Placeholder, exp.Parameter)
    if bad is not None:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a hold cannot contain {bad.sql(dialect='duckdb')}",
            advice="use columns, constants and functions of them",
        )
    result = condition.copy()
    for node in list(result.find_all(exp.Column)):
        named = table.find(node.name)
        if named is None:
            raise PalimpsestError(
                Code.UNKNOWN_COLUMN,
                f'there is no column "{node.name}" in {table.name}',
                advice="check the spelling; DESCRIBE shows the columns",
            )
        node.set("this", ident(named.physical))
        node.set("table", None)
        node.set("db", None)
    return with_kept_words(result).sql(dialect="duckdb")


def _read(rows: Iterable[tuple[Any, ...]]) -> list[Hold]:
    found = []
    for row in rows:
        values = dict(zip(rows_of.HOLD, row, strict=True))
        found.append(Hold(**{**values, "scope": HoldScope(values["scope"])}))
    return found
