"""Adds the identifiers and keys of a request to the suppression list.

Keys are hashed by the store, where they are; identifiers in every form in which tables hold them.
Runs in the session it is given; commits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import pyarrow as pa
from sqlglot import exp

from journal.erasure.erasure_spec import Subjects
from journal.identity.identifiers import numbers_of, spelling_pattern, texts_of
from journal.identity.key_ring import P_SECRET
from journal.identity.normalisers import PLAIN, Normaliser
from journal.identity.suppression_list import (
    KEY_KIND,
    PRESENT_KIND,
    SPARED_KIND,
    key_text,
    kind_of_numbers,
    kind_of_type,
    suppressed_rows,
)
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.store_session import StoreSession
from journal.model.version import Version
from journal.records import erasure_rows as rows_of
from journal.sql.relations import column

_SHOWN = "erased_values"
FormsByType = Mapping[str, Iterable[Normaliser]]
"""Normalisers by the type of identifier."""


@dataclass(slots=True)
class Suppressor:
    """Adds the entries of one request; ``kinds`` are those that were added."""

    session: StoreSession
    request: str
    now: Version
    expires: Version | None
    secret: str
    kinds: set[tuple[str, int | None]] = field(default_factory=set)
    _shown: int = 0

    def new_name(self) -> str:
        """A name for a relation to show to the session, which no other has in its transaction."""
        self._shown += 1
        return f"{_SHOWN}_{self.request}_{self._shown}"

    def spared(self, table: Table, source: exp.Query) -> None:
        """Let rows of a table with the keys that a query gives be written as before.

        That outlasts what the request suppresses: a hold has no date on which it ends.
        """
        self._add(SPARED_KIND, key_text(table, "k"), source.subquery("k"), table.id, None)

    def keys(self, table: Table, source: exp.Query) -> None:
        """Fence the keys of a table that a query gives."""
        self._add(KEY_KIND, key_text(table, "k"), source.subquery("k"), table.id, self.expires)

    def present(self, subjects: Subjects, forms: FormsByType, tables: Iterable[int]) -> None:
        """Note that rows of these tables hold identifiers, which are suppressed all the same."""
        self.identifiers(subjects, forms, tables, PRESENT_KIND)

    def identifiers(
        self,
        subjects: Subjects,
        forms: FormsByType,
        tables: Iterable[int | None],
        label: str | None = None,
    ) -> None:
        """Fence identifiers themselves, in tables of these ids; None stands for all.

        ``forms`` are those of ``recorded_forms``.
        """
        tables = list(tables)
        for kind, texts in forms_of(subjects, forms):
            shown = self.new_name()
            self.session.show_arrow(shown, pa.table({"v": pa.array(texts, pa.string())}))
            for table_id in tables:
                source = exp.alias_(exp.to_table(shown), "v", table=True)
                self._add(kind, column("v", "v"), source, table_id, self.expires, label)

    def _add(
        self,
        kind: str,
        text: exp.Expr,
        source: exp.Expr,
        table: int | None,
        expires: Version | None,
        label: str | None = None,
    ) -> None:
        number = exp.null() if table is None else exp.Literal.number(table)
        end = exp.null() if expires is None else exp.Literal.number(expires)
        values = (number, exp.Literal.string(self.request), exp.Literal.number(self.now), end)
        rows = suppressed_rows(kind, text, source, values, label)
        rows_of.add_suppressions(self.session, rows, {P_SECRET: self.secret})
        self.kinds.add((label or kind, table))


def forms_of(subjects: Subjects, forms: FormsByType) -> list[tuple[str, list[str]]]:
    """Identifiers in the forms of their types, with the kind of each; plain ones if none is given.

    With ``recorded_forms`` these are all forms in which tables may hold them.
    """
    found = []
    for name, values in subjects.items():
        found += [
            (kind_of_type(name, normaliser), texts_of(values, normaliser))
            for normaliser in forms.get(name, PLAIN)
        ]
        if numbers := numbers_of(values):
            found.append((kind_of_numbers(name), numbers))
    return found


def spelling_patterns(subjects: Subjects, forms: FormsByType) -> list[str]:
    """What finds identifiers in text where a normaliser says that several spellings are one."""
    found = (
        spelling_pattern(value, normaliser)
        for name, values in subjects.items()
        for value in values
        for normaliser in forms.get(name, ())
    )
    return [pattern for pattern in dict.fromkeys(found) if pattern is not None]
