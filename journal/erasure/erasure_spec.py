"""What a request asks for, and which tables it concerns, in every store. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from journal.erasure.column_changes import ColumnChange
from journal.erasure.requests import ErasureRequest
from journal.erasure.scope import load_scope
from journal.erasure.table_share import TableShare
from journal.erasure.tagged_copies import Sought, told_copies
from journal.identity.descriptor import (
    EVERY_ROW,
    DescriptorEntry,
    ever_described,
    forms_by_type,
)
from journal.identity.identifiers import is_ambiguous
from journal.model.dependents import Dependents
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.segment import Segment
from journal.model.store_session import StoreSession
from journal.model.suppression import Suppression
from journal.records import erasure_rows as rows_of
from journal.transactions.protocol import OpenJournal
from journal.transactions.state import JournalState

_SUBJECTS_MAX = 100_000
KEPT = "kept by the policy"
"""What a receipt says, before the reason, of a table that is not searched on purpose."""

Subjects = Mapping[str, Sequence[str]]
"""Identifiers by their type, as a request names them."""
FindKeys = Callable[[], pa.Table]
"""Finds the keys of a predicate's rows as the journal is now."""
FindAmong = Callable[[Sequence[Segment]], pa.Table]
"""Finds them among the rows, as written, of segments whose files are in the warehouse."""


@dataclass(frozen=True, slots=True)
class ErasureSpec:
    """What a request asks: identifiers by type, or rows of tables found in another way.

    ``among`` finds such rows in what is kept besides a table's live segments; where it is missing
    that cannot be searched. ``again`` is what is kept of a condition, to be asked again: a plain
    structure, whose ``table`` is the table's definition; None: it would mean something else then.
    ``dependents`` says what becomes of rows
    that refer to what goes, in place of what each table says.

    ``named`` are the identifiers in a condition that names nothing else: nobody is looked for by
    them, but they may not come back. ``suppression`` says how much may not. One that ``restricts``
    hides rows and removes none.

    ``changes`` are, by table, what becomes of columns where rows stay. ``kept`` are tables that are
    not searched, by their id, and why. In those that are ``rows_only`` rows go and nothing is
    suppressed: whoever is meant may be written again. With a ``share`` it is about a part of one
    table.
    """

    subjects: Subjects = field(default_factory=dict)
    rows: Mapping[int, FindKeys] = field(default_factory=dict)
    among: Mapping[int, FindAmong] = field(default_factory=dict)
    again: Mapping[str, Any] | None = None
    tables: frozenset[tuple[str, str]] | None = None
    reason: str | None = None
    expires_us: int | None = None
    dependents: Dependents | None = None
    named: Subjects = field(default_factory=dict)
    suppression: Suppression = Suppression.IDENTIFIER
    restricts: bool = False
    changes: Mapping[int, tuple[ColumnChange, ...]] = field(default_factory=dict)
    kept: Mapping[int, str] = field(default_factory=dict)
    rows_only: frozenset[int] = frozenset()
    share: TableShare | None = None

    @property
    def suppressed(self) -> Subjects:
        """The identifiers that it names and that may not come back, unless others hold them."""
        return {} if self.suppression is Suppression.KEY else {**self.subjects, **self.named}

    @property
    def types(self) -> dict[str, int]:
        """How many identifiers of each type it names."""
        return {name: len(values) for name, values in self.subjects.items()}

    def check(self) -> None:
        """Raise ERASURE for what names too many, or nobody."""
        count = sum(self.types.values())
        if count > _SUBJECTS_MAX:
            raise PalimpsestError(
                Code.ERASURE,
                f"the request names {count:,} identifiers, at most {_SUBJECTS_MAX:,} are taken",
                advice="submit several requests; they are purged in one scan",
            )
        named = [value for values in self.subjects.values() for value in values]
        if not all(map(_is_text, named)):
            raise PalimpsestError(
                Code.ERASURE,
                "the request names an identifier that is not text: it has bytes that are not UTF-8",
                advice="write it as UTF-8, as the tables hold it",
            )
        if any(not value.strip() for value in named):
            raise PalimpsestError(
                Code.ERASURE,
                "the request names an empty identifier",
                advice="leave empty lines out; an empty value identifies nobody",
            )


def _is_text(value: str) -> bool:
    """False for what the prompt makes of bytes that are no UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A table a request may be about; ``why_not`` says why it is not searched.

    One that is not searched ``holds_copies`` if rows or values of one that is came into it.
    """

    table: Table
    identities: tuple[DescriptorEntry, ...]
    why_not: str | None = None
    holds_copies: bool = False

    @property
    def is_whole(self) -> bool:
        """True for a materialised view, all of whose rows go with any row it may be made of."""
        return EVERY_ROW in self.identities


def aims(session: StoreSession, state: JournalState, wanted: ErasureSpec) -> list[TargetTable]:
    """Every table there is; raises ERASURE when none could hold who is meant."""
    scope = load_scope(session)
    found = []
    for table_id, held in sorted(state.tables.items()):
        if not held.layouts:
            continue
        table = state.catalog.by_id(table_id) or held.layouts[-1]
        identities = ever_described(held.layouts)
        why_not = _why_not(table, identities, wanted) or scope.why_not(table.name)
        found.append(TargetTable(table, identities, why_not))
    reached = [a for a in found if a.why_not is None]
    # Of several types none is passed over: nobody may take for erased who was not looked for.
    known = {i.type for a in (*reached, *_aims_of_kept(found, wanted)) for i in a.identities}
    unknown = [name for name in wanted.subjects if name not in known]
    if unknown or not reached:
        types = ", ".join(unknown) or "a predicate"
        raise PalimpsestError(
            Code.ERASURE,
            f"no table in scope identifies people by {types}",
            advice="onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )
    check_unambiguous({**wanted.subjects, **wanted.suppressed}, found)
    touched = _with_children(state, {a.table.id for a in reached})
    sought = {a.table.id: _looked_at(a, wanted) for a in reached}
    found = [_with_source(aim, touched, scope.why_not(aim.table.name)) for aim in found]
    return [_with_copies(session, aim, sought, state) for aim in found]


def check_unambiguous(subjects: Subjects, found: Iterable[TargetTable]) -> None:
    """Raise ERASURE for a number that is one person's in a table and another's in the next."""
    normalisers = forms_by_type(i for aim in found for i in aim.identities)
    for name, values in subjects.items():
        plans = [n for n in normalisers.get(name, ()) if n.plan is not None]
        if len(plans) > 1 and any(is_ambiguous(value, plans) for value in values):
            raise PalimpsestError(
                Code.ERASURE,
                f"a {name} of the request has no country code, and tables hold numbers of several"
                " countries as this type",
                advice="write it with + and the country code: +41441234567",
            )


def _aims_of_kept(found: Iterable[TargetTable], wanted: ErasureSpec) -> list[TargetTable]:
    return [aim for aim in found if aim.table.id in wanted.kept]


def _looked_at(aim: TargetTable, wanted: ErasureSpec) -> frozenset[str] | None:
    """The columns that people are looked for by; None where rows are, whatever they hold."""
    if wanted.rows:
        return None
    return frozenset(i.path.root for i in aim.identities if i.type in wanted.subjects)


def _with_copies(
    session: StoreSession, aim: TargetTable, sought: Sought, state: JournalState
) -> TargetTable:
    """A table that is not searched, with a word on what it may hold all the same."""
    if aim.why_not is None or aim.table.materialized is not None or aim.why_not.startswith(KEPT):
        return aim
    copies = told_copies(session, aim.table, sought, state.catalog)
    if not copies:
        return aim
    return replace(aim, why_not=f"{aim.why_not}; {copies}", holds_copies=True)


def _with_children(state: JournalState, table_ids: Iterable[int]) -> set[int]:
    """Some tables, and all whose rows may go with theirs as they refer to them."""
    found: set[int] = set()
    left = list(table_ids)
    while left:
        table_id = left.pop()
        if table_id not in found:
            found.add(table_id)
            references = state.catalog.references.get(table_id, ())
            left += [r.child.id for r in references if r.parent.id == table_id]
    return found


def _with_source(aim: TargetTable, touched: set[int], excluded: str | None) -> TargetTable:
    """A materialised view is searched as a whole if it may hold rows of what is touched."""
    made = aim.table.materialized
    if made is None:
        return aim
    if touched.isdisjoint(made.sources):
        why = "none of its tables is searched" if made.sources else "it has never held rows"
        return replace(aim, why_not=why)
    return TargetTable(aim.table, (EVERY_ROW,), excluded)


def _why_not(
    table: Table, identities: Iterable[DescriptorEntry], wanted: ErasureSpec
) -> str | None:
    if wanted.rows:
        return None if table.id in wanted.rows else "not named"
    if wanted.tables is not None and table.name.key not in wanted.tables:
        return "not named"
    if table.id in wanted.kept:
        return f"{KEPT}: {wanted.kept[table.id]}"
    types = {i.type for i in identities}
    if not types:
        return "not onboarded: it has no erasure descriptor"
    if not types & set(wanted.subjects):
        return "identifies people by " + ", ".join(sorted(types))
    return None


def requests(journal: OpenJournal) -> list[ErasureRequest]:
    """Every request, oldest first."""
    with journal.reading_session() as session:
        return [ErasureRequest.of_row(row) for row in rows_of.load_erasures(session)]


def find_request(journal: OpenJournal, wanted: str) -> ErasureRequest:
    """The request of that id, or of the only id that begins so."""
    found = [r for r in requests(journal) if wanted and r.id.startswith(wanted)]
    if len(found) != 1:
        raise PalimpsestError(
            Code.ERASURE,
            f"there is {'no' if not found else 'more than one'} request {wanted}".rstrip(),
            advice="`palimpsest erase list` shows them",
        )
    return found[0]
