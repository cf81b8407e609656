"""A file, or several of one kind, as a relation of a query in DuckDB's dialect. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a CSV file is written; None leaves it to be found out."""

    delimiter: str | None = None
    header: bool | None = None
    null: str | None = None


FOUND_OUT = FileOptions()
"""Nothing is said about the file."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file, or several of one kind, as a relation of a query."""

    paths: tuple[str, ...]
    reader: str
    options: FileOptions

    def relation(self, types: dict[str, str]) -> exp.Table:
        """The call that reads the file; CSV values take the types given."""
        places: list[exp.Expr] = [exp.Literal.string(path) for path in self.paths]
        arguments: list[exp.Expr] = list(places)
        if len(places) > 1:
            arguments = [exp.Array(expressions=places), _argument("union_by_name", exp.true())]
        if self.reader == "read_csv":
            given = self.options
            for name, value in (("delim", given.delimiter), ("nullstr", given.null)):
                if value is not None:
                    arguments.append(_argument(name, exp.Literal.string(value)))
            if given.header is not None:
                arguments.append(_argument("header", exp.Boolean(this=given.header)))
            if types:
                pairs = [
                    exp.PropertyEQ(this=exp.Literal.string(n), expression=exp.Literal.string(t))
                    for n, t in types.items()
                ]
                arguments.append(_argument("types", exp.Struct(expressions=pairs)))
        return exp.Table(this=exp.Anonymous(this=self.reader, expressions=arguments))


def _argument(name: str, value: exp.Expr) -> exp.EQ:
    return exp.EQ(this=exp.column(name), expression=value)
