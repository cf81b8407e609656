"""Translates function calls for a store: renames, completes or refuses them.

Which calls those are is each store's own list. Pure: knows no function and no driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

Change = Callable[[exp.Expr], exp.Expr | None]
"""What stands for a call; None where the call stays as it is, changed in place or not."""


_FILE_READERS = (
    *("read_parquet", "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson"),
    *("read_ndjson_auto", "parquet_scan", "parquet_schema", "parquet_metadata", "sniff_csv"),
    *("parquet_file_metadata", "parquet_kv_metadata", "parquet_full_metadata", "glob"),
    *("parquet_bloom_probe", "read_json_objects", "read_json_objects_auto", "read_ndjson_objects"),
)


def refused(store: str, what: str, advice: str) -> Change:
    """Refuses a call: ``store`` is, for people, what has no such thing."""

    def refuse(node: exp.Expr) -> exp.Expr | None:
        raise PalimpsestError(Code.NOT_SUPPORTED, f"a {store} store has no {what}", advice=advice)

    return refuse


def refused_everywhere(store: str) -> tuple[dict[str, Change], dict[type[exp.Expr], Change]]:
    """Refuses, by name and by kind of node, what only the embedded store has."""
    files = refused(store, "files to read in a query", "load the file first: COPY t FROM 'file'")
    by_class: dict[type[exp.Expr], Change] = {
        exp.ReadCSV: files,
        exp.ReadParquet: files,
        exp.Format: _format_call(store),
        exp.Glob: refused(store, "GLOB", "use LIKE or a regular expression"),
        exp.Columns: refused(store, "COLUMNS(..)", "name the columns"),
    }
    return dict.fromkeys(_FILE_READERS, files), by_class


def _format_call(store: str) -> Change:
    """Refuses ``format('{}', x)``: stores have a function of that name that knows ``%s`` alone."""
    refuse = refused(store, "format() with braces", "join the parts with ||, or use %s")

    def change(node: exp.Expr) -> exp.Expr | None:
        pattern = node.this
        is_known = isinstance(pattern, exp.Literal) and "{" not in pattern.name
        return None if is_known else refuse(node)

    return change


def template(dialect: str, sql: str, *names: str) -> Change:
    """Puts the arguments of a call into a piece of SQL of the store, where ``names`` stand.

    A call with another number of them stays as it is.
    """
    pattern = sqlglot.parse_one(sql, read=dialect)

    def change(node: exp.Expr) -> exp.Expr | None:
        arguments = _arguments(node)
        if len(arguments) != len(names):
            return None
        made = exp.Paren(this=pattern.copy())
        for column in [c for c in made.find_all(exp.Column) if c.name in names]:
            column.replace(exp.Paren(this=arguments[names.index(column.name)].copy()))
        return made

    return change


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [e for e in (node.this, node.args.get("expression")) if e is not None]


@dataclass(frozen=True, slots=True)
class Calls:
    """A store's list: names that are only others there, and changes by name or kind of node."""

    renamed: Mapping[str, str]
    by_name: Mapping[str, Change]
    by_class: Mapping[type[exp.Expr], Change]

    def change(self, node: exp.Expr) -> exp.Expr | None:
        """What stands for a call in the store; None where the call stays as it is.

        Raises UNKNOWN_FUNCTION for a call that lacks an argument which the store's spelling needs.
        """
        try:
            return self._changed(node)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            name = node.name if isinstance(node, exp.Anonymous) else node.key
            raise PalimpsestError(
                Code.UNKNOWN_FUNCTION,
                f"the store has no function {name.lower()} of these arguments",
                advice="check how many arguments it takes, and of which types",
            ) from error

    def _changed(self, node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Anonymous):
            change = self.by_class.get(type(node))
            return None if change is None else change(node)
        name = str(node.this).lower()
        change = self.by_name.get(name)
        if change is not None:
            return change(node)
        if name in self.renamed:
            node.set("this", self.renamed[name])
        return None
