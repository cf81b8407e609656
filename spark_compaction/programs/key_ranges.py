"""Finds the key ranges of segment files whose manifest entry lacks them.

What a plan takes for a file though it still lies in heads is asked like one.

Ranges are over the first key column. Places are whole numbers in the order of its values: the
values themselves where those are integers, else ranks; ``texts`` gives back a value that the store
casts to the column's type. Runs queries in the session it is given; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from sqlglot import exp

from journal.local_engine.layout import parquet_type
from journal.local_engine.session import DuckDBSession
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Column, Table
from journal.model.segment import SegmentFile
from journal.sql.relations import column, ident, union_all
from journal.stores.embedded.warehouse import bounded_key

_FILE = "filename"


@dataclass(frozen=True, slots=True)
class KeyPlaces:
    """For each file, the places of its lowest and highest key; and the value at a place."""

    of: Mapping[str, tuple[int, int]]
    texts: Mapping[int, str]

    def text(self, place: int | None) -> str | None:
        """The value at a place, as text; the place itself where keys are integers."""
        if place is None:
            return None
        return self.texts.get(place, str(place))


def reaches(table: Table, file: SegmentFile, low: str | None, high: str | None) -> bool:
    """False only if no key of a file is at least ``low`` and under ``high``, by its bounds."""
    if bounded_key(table) is None or file.key_low is None or file.key_high is None:
        return True
    return (low is None or file.key_high >= int(low)) and (high is None or file.key_low < int(high))


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The first key column of a table, in files under ``root`` and in ``heads`` named as files."""

    session: DuckDBSession
    root: Path
    column: Column
    heads: Mapping[str, exp.Query]

    @staticmethod
    def of(
        session: DuckDBSession,
        root: Path,
        table: Table,
        heads: Mapping[str, exp.Query] = MappingProxyType({}),
    ) -> KeyColumn | None:
        """None where the stored values do not sort as the column's own do."""
        first = table.by_physical(table.key[0])
        if parquet_type(first.type) != first.type:
            return None
        return KeyColumn(session, root, first, heads)

    def places(self, table: Table, files: Sequence[SegmentFile]) -> KeyPlaces:
        """The ranges of some files."""
        known = {f.path: (f.key_low, f.key_high) for f in files}
        if bounded_key(table) is not None and not any(None in b for b in known.values()):
            return KeyPlaces({p: (low or 0, high or 0) for p, (low, high) in known.items()}, {})
        return self._ranked([f.path for f in files if f.rows])

    def _ranked(self, paths: Sequence[str]) -> KeyPlaces:
        if not paths:
            return KeyPlaces({}, {})
        key, name = column(self.column.physical), column(_FILE)
        low, high = exp.Min(this=key), exp.Max(this=key.copy())
        bounds = exp.select(exp.alias_(name, "f"), exp.alias_(low, "low"), exp.alias_(high, "high"))
        bounds = bounds.from_(self._source(paths, names=True)).group_by(name.copy())
        values = exp.union(
            exp.select(exp.alias_(column("low"), "v")).from_("b"),
            exp.select(exp.alias_(column("high"), "v")).from_("b"),
            distinct=True,
        )
        over = exp.Window(
            this=exp.Anonymous(this="dense_rank"),
            order=exp.Order(expressions=[exp.Ordered(this=column("v"))]),
        )
        ranks = exp.select(column("v"), exp.alias_(over, "n")).from_(values.subquery("u"))
        outputs: list[exp.Expr] = [column("f", "b")]
        found = exp.select().from_("b")
        for bound, side in (("low", "l"), ("high", "h")):
            text = exp.cast(column("v", side), "VARCHAR", dialect="duckdb")
            outputs += [column("n", side), text]
            on = exp.EQ(this=column(bound, "b"), expression=column("v", side))
            found = found.join(exp.alias_(exp.to_table("r"), side, table=True), on=on)
        found = found.select(*outputs).with_("b", as_=bounds).with_("r", as_=ranks)
        self.session.execute(Query(found, ()), {})
        of: dict[str, tuple[int, int]] = {}
        texts: dict[int, str] = {}
        for path, low_place, low_text, high_place, high_text in self.session.fetch_many(len(paths)):
            of[str(Path(path).relative_to(self.root))] = (low_place, high_place)
            texts |= {low_place: low_text, high_place: high_text}
        return KeyPlaces(of, texts)

    def cuts(
        self, paths: Sequence[str], low: str | None, high: str | None, parts: int
    ) -> list[str]:
        """Values that divide the keys between two into about equal parts."""
        shares = [exp.Literal.number(n / parts) for n in range(1, parts)]
        quantiles = exp.Anonymous(
            this="quantile_disc",
            expressions=[column(self.column.physical), exp.Array(expressions=shares)],
        )
        kind = exp.DataType.build("VARCHAR[]", dialect="duckdb")
        found = exp.select(exp.Cast(this=quantiles, to=kind)).from_(self._source(paths))
        found = found.where(*self.between(low, high))
        (texts,) = self.session.row(Query(found, ()), {})
        return list(dict.fromkeys(texts or ()))

    def between(self, low: str | None, high: str | None) -> list[exp.Expr]:
        """Conditions that a key is at least ``low`` and under ``high``."""
        found: list[exp.Expr] = []
        for text, compare in ((low, exp.GTE), (high, exp.LT)):
            if text is not None:
                key = column(self.column.physical)
                found.append(compare(this=key, expression=self._value(text)))
        return found

    def count(self, paths: Sequence[str], lows: Sequence[str]) -> list[int]:
        """How many rows of some files lie before the first of ``lows``, and from each on."""
        counts = [0] * (len(lows) + 1)
        if not paths:
            return counts
        key = ident(self.column.physical)
        starts = union_all(
            [
                exp.select(
                    exp.alias_(exp.Literal.number(n), "n"), exp.alias_(self._value(text), "low")
                )
                for n, text in enumerate(lows, 1)
            ]
            or [exp.select(exp.alias_(exp.Literal.number(0), "n"), exp.alias_(exp.Null(), "low"))]
        )
        keys = exp.select(exp.alias_(exp.Column(this=key), "k")).from_(self._source(paths))
        place = exp.select(exp.Max(this=column("n", "s"))).from_(starts.subquery("s"))
        place = place.where(exp.LTE(this=column("low", "s"), expression=column("k", "d")))
        where = exp.Coalesce(this=place.subquery(), expressions=[exp.Literal.number(0)])
        rows = exp.select(exp.alias_(where, "n")).from_(keys.subquery("d"))
        found = exp.select(column("n"), exp.Count(this=exp.Star())).from_(rows.subquery("p"))
        self.session.execute(Query(found.group_by(column("n")), ()), {})
        for place_number, rows_there in self.session.fetch_many(len(counts)):
            counts[place_number] = rows_there
        return counts

    def _value(self, text: str) -> exp.Expr:
        return exp.cast(exp.Literal.string(text), self.column.type, dialect="duckdb")

    def _source(self, paths: Sequence[str], *, names: bool = False) -> exp.Expr:
        """The keys in some files, and perhaps the names of the files."""
        parts: list[exp.Query] = []
        if files := [p for p in paths if p not in self.heads]:
            outputs = [column(self.column.physical), *([column(_FILE)] if names else ())]
            parts.append(exp.select(*outputs).from_(read_files(self.root, files, names=names)))
        for path in (p for p in paths if p in self.heads):
            outputs = [column(self.column.physical)]
            if names:
                name = exp.Literal.string(str(self.root / path))
                outputs.append(exp.alias_(name, ident(_FILE)))
            parts.append(exp.select(*outputs).from_(self.heads[path].subquery("h")))
        return union_all(parts).subquery("s")


def read_files(root: Path, paths: Sequence[str], *, names: bool = False) -> exp.Table:
    """The rows of some files, and perhaps the names of the files as a column ``filename``."""
    files = exp.Array(expressions=[exp.Literal.string(str(root / p)) for p in paths])
    arguments: list[exp.Expr] = [files]
    if names:
        arguments.append(exp.EQ(this=exp.to_identifier(_FILE), expression=exp.true()))
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=arguments))
