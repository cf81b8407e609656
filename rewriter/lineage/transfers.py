"""Statements that move rows between tables and files and that no parser takes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from journal.sql.dialects import parsed_by
from rewriter.lineage.scope import Scope
from rewriter.lineage.sources import Cell, Relation, of_table
from rewriter.lineage.tables import KnownTables
from rewriter.lineage.targets import ColumnTarget, rows_into
from rewriter.lineage.words import Words


def transfer_by_tokens(
    part: Sequence[Token], tables: KnownTables
) -> tuple[ColumnTarget, ...] | None:
    """What such a statement writes; None for another one.

    ``EXPORT TABLE t TO 'f'``, ``IMPORT TABLE t FROM 'f'``, ``UNLOAD ('query') TO 'f'``,
    ``LOAD DATA .. INFILE 'f' .. INTO TABLE t``, ``ALTER TABLE t EXCHANGE PARTITION (..) WITH
    TABLE s``, ``ALTER TABLE t APPEND FROM s``, ``ALTER MATERIALIZED VIEW v REBUILD``,
    ``REFRESH MATERIALIZED VIEW v``.
    """
    words = Words(list(part))
    if words.takes("ALTER", "MATERIALIZED", "VIEW"):
        view = words.table(tables)
        return _filled_again(view, tables) if words.takes("REBUILD") else None
    if words.takes("REFRESH"):
        if len(words.rest) == 1:
            # The tokenizer leaves what follows the word as one.
            words = Words(Dialect.get_or_raise(tables.dialect or None).tokenize(words.rest[0].text))
        if not words.takes("MATERIALIZED", "VIEW"):
            return None
        words.takes("CONCURRENTLY")
        return _filled_again(words.table(tables), tables)
    if words.takes("ALTER", "TABLE"):
        return _rows_of_other_table(words, tables)
    if words.takes("EXPORT", "TABLE"):
        source = words.table(tables)
        file = _string_after(words, "TO")
        return None if file is None else tuple(rows_into(file, None, _table(source, tables)))
    if words.takes("IMPORT"):
        words.takes("EXTERNAL")
        target = words.table(tables) if words.takes("TABLE") else None
        file = _string_after(words, "FROM")
        if file is None or target is None:
            return None
        return tuple(rows_into(target, tables.columns.get(target), Relation(open=(file,))))
    if words.takes("UNLOAD"):
        return _unloaded(words, tables)
    if words.takes("LOAD", "DATA"):
        file = _string_after(words, "INFILE")
        while words.rest and not words.takes("INTO", "TABLE"):
            words.word()
        if file is None or not words.rest:
            return None
        target = words.table(tables)
        return tuple(rows_into(target, tables.columns.get(target), Relation(open=(file,))))
    return None


def _filled_again(view: str, tables: KnownTables) -> tuple[ColumnTarget, ...]:
    """The rows of a materialised view, which come from its query once more."""
    found = tables.views.get(view)
    if found is None:
        found = Relation(other=Cell(unknown="the query of the materialised view is not known"))
    return tuple(rows_into(view, tables.columns.get(view), found))


def _rows_of_other_table(words: Words, tables: KnownTables) -> tuple[ColumnTarget, ...] | None:
    """Partitions that a table takes from another one, and rows that are appended to it."""
    target = words.table(tables)
    if words.takes("EXCHANGE", "PARTITION"):
        while words.rest and not words.takes("WITH", "TABLE"):
            words.word()
    elif not words.takes("APPEND", "FROM"):
        return None
    if not words.rest:
        return None
    source = words.table(tables)
    return tuple(rows_into(target, tables.columns.get(target), _table(source, tables)))


def _unloaded(words: Words, tables: KnownTables) -> tuple[ColumnTarget, ...] | None:
    """UNLOAD of Redshift and Athena, whose query may stand in a string."""
    dialect = Dialect.get_or_raise(tables.dialect or None)
    tokens = words.rest
    if len(tokens) == 1:
        # The tokenizer leaves what follows the word as one.
        tokens = dialect.tokenize(tokens[0].text)
    inner = Words(list(tokens))
    if not inner.takes("("):
        return None
    depth, query = 1, list[Token]()
    while inner.rest and depth:
        token = inner.rest.pop(0)
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth:
            query.append(token)
    file = _string_after(inner, "TO")
    if file is None or not query:
        return None
    if query[0].token_type is TokenType.STRING:
        query = dialect.tokenize(query[0].text)
    node = next(iter(parsed_by(dialect.parser(), query, "")), None)
    if not isinstance(node, exp.Query):
        return None
    return tuple(rows_into(file, None, tables.reader().read(node, Scope())))


def _string_after(words: Words, word: str) -> str | None:
    while words.rest and not words.takes(word):
        words.word()
    found = words.rest[0] if words.rest else None
    return found.text if found is not None and found.token_type is TokenType.STRING else None


def _table(name: str, tables: KnownTables) -> Relation:
    return of_table(name, tables.columns.get(name))
