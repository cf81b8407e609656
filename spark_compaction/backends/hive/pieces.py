"""Groups of segments for jobs, and fingerprints that show whether rows are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from journal.model.segment import Fields, Segment, Tier
from journal.sql.counting import Fingerprint
from journal.sql.relations import column, ident, union_all
from journal.stores.hive.client.connection import HiveConnection
from spark_compaction.backend import Piece


def pieces(
    segments: Sequence[Segment], apart: Mapping[str, frozenset[str]] = MappingProxyType({})
) -> list[Piece]:
    """Segments by tier, columns and place; and by what ``apart`` says of their paths."""
    groups: dict[tuple[Tier, Fields, str, frozenset[str]], list[Segment]] = {}
    for segment in segments:
        path = segment.files[0].path
        key = (segment.tier, segment.fields, path.partition("/")[0], apart.get(path, frozenset()))
        groups.setdefault(key, []).append(segment)
    return [
        Piece(tier, fields, tuple(found), place)
        for (tier, fields, place, _), found in groups.items()
    ]


def paths(piece: Piece) -> list[str]:
    """Where the segments of a piece are."""
    return [s.files[0].path for s in piece.segments]


Fingerprinted = tuple[exp.Query, Sequence[str]]
"""Rows of Spark's, and the columns that are compared."""
_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_EXACTLY = ("timestampFormat", f"{_MOMENT}xxx", "timestampNTZFormat", _MOMENT)
"""How moments become text: to the microsecond, which Spark's JSON leaves out otherwise."""


def fingerprints(connection: HiveConnection, asked: Sequence[Fingerprinted]) -> list[Fingerprint]:
    """Those of several sets of rows, in their order; one statement, as each takes its time."""
    queries = [_summed(number, rows, columns) for number, (rows, columns) in enumerate(asked)]
    found = {int(row[0]): (int(row[1]), int(row[2])) for row in connection.run(union_all(queries))}
    return [found[number] for number in range(len(asked))]


def _summed(number: int, rows: exp.Query, columns: Sequence[str]) -> exp.Select:
    members = [
        exp.PropertyEQ(this=exp.to_identifier(f"c{i}"), expression=column(n, "r"))
        for i, n in enumerate(columns)
    ]
    formats = exp.Anonymous(this="map", expressions=[exp.Literal.string(w) for w in _EXACTLY])
    text = exp.Anonymous(this="to_json", expressions=[exp.Struct(expressions=members), formats])
    hashed = exp.Anonymous(this="xxhash64", expressions=[text])
    wide = exp.cast(hashed, "DECIMAL(38, 0)")
    total = exp.Coalesce(this=exp.Sum(this=wide), expressions=[exp.Literal.number(0)])
    told = {"place": exp.Literal.number(number), "rows": exp.Count(this=exp.Star()), "sum": total}
    outputs = [exp.alias_(value, ident(f"palimpsest_{name}")) for name, value in told.items()]
    return exp.select(*outputs).from_(rows.subquery("r"))
