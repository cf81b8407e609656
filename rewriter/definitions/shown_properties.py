"""Properties of a table as people write them: by the names that its columns have now. Pure.

    ALTER TABLE t RENAME COLUMN email TO mail;
    SHOW TBLPROPERTIES t          erasure | mail AS email LOWER

What a table keeps names columns by their physical names, which no statement changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.identity import descriptor
from journal.model import copied_rows, distribution, partitioning
from journal.model.policy import RETENTION_COLUMN
from journal.model.schema import ON_COMMIT, JournalFormat, Table, fold
from journal.sql.relations_flat import FLAT, STALE_WRITES

_OF_STORES = frozenset({FLAT, STALE_WRITES, ON_COMMIT, copied_rows.PROPERTY})
"""What the gateway notes of one table, and what only ADOPT gives."""
_TAKEN = frozenset(
    f"taken_{part}" for part in ("from", "view", "owner", "indexes", "texts", "not_kept")
)
"""What an adopted table gets back when it leaves."""


def shown_properties(table: Table) -> tuple[tuple[str, str], ...]:
    """Name and text of each property, by the present names of columns.

    A descriptor leaves out columns that are gone, which identify people in old rows alone.
    """
    names = {c.physical: c.name for c in table.columns}
    return tuple((name, _shown_text(name, text, names)) for name, text in table.properties)


def with_options(target: exp.Expr, table: Table) -> exp.Expr:
    """The target of a CREATE TABLE with the options that make a table like this one behind it.

    They are its comment, the options of its journal and its properties, but for what says where an
    adopted table came from.
    """
    stated = [*_journal_options(table.format), *shown_properties(table)]
    properties = [
        exp.EQ(this=exp.Literal.string(name), expression=exp.Literal.string(text))
        for name, text in stated
        if text and name not in _OF_STORES | _TAKEN
    ]
    if table.comment is not None:
        target = exp.Introducer(this=target, expression=comment_option(table.comment))
    if properties:
        listed = exp.Anonymous(this="WITH", expressions=properties)
        target = exp.Introducer(this=target, expression=listed)
    return target


def comment_option(comment: str) -> exp.Expr:
    """A comment in a CREATE TABLE; sqlglot's own nodes have no text in DuckDB's dialect."""
    return exp.Introducer(this=exp.Var(this="COMMENT"), expression=exp.Literal.string(comment))


def _shown_text(name: str, text: str, names: Mapping[str, str]) -> str:
    if name in {descriptor.PROPERTY, descriptor.FILTERED}:
        return descriptor.shown_descriptor(text, names)
    if name == partitioning.PROPERTY:
        made = partitioning.parse_partitioning(text)
        return str(replace(made, column=names.get(made.column, made.column)))
    if name == distribution.PROPERTY:
        return distribution.shown_distribution(text, names)
    return names.get(text, text) if fold(name) == RETENTION_COLUMN else text


def _journal_options(form: JournalFormat) -> Iterator[tuple[str, str]]:
    usual = JournalFormat()
    if form.suffix != usual.suffix:
        yield "journal_suffix", form.suffix
    if form.version_type != usual.version_type:
        yield "journal_version_type", form.version_type.value
    if form.version_column != usual.version_column:
        yield "version_column", form.version_column
    if form.subsequent_column != usual.subsequent_column:
        yield "subsequent_version_column", form.subsequent_column
