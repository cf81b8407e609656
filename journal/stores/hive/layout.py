"""How a journal lies in Hive: Parquet tables partitioned by segment, one per set of columns.

    company_palimpsest.j0f3a_t1_3f2a90bc / palimpsest_segment=s1732..   one partition per segment
    company_palimpsest.a0f3a_t2                                          a plain table's rows as one
    hr.depts, hr.depts_journal                                           views, for whoever reads

A segment names its table and its partition; every read lists its partitions, so what no manifest
lists is not read. Builds AST of Spark's; runs nothing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.partitioning import partitioning_of
from journal.model.schema import DEFAULT_SCHEMA, Table, TableName, fold
from journal.model.segment import Fields, Segment, SegmentFile
from journal.sql.builders import call, equal_columns, fill
from journal.sql.relations import column, ident, union_all
from journal.sql.row_layout import counted_kinds, fields_of, journal_fields, rows_in_layout
from journal.stores.hive.dialect.apache_nested import check_nested
from journal.stores.hive.dialect.enums import check_enums
from journal.stores.hive.dialect.types import spark_type
from journal.stores.hive.engine import HiveEngine

PARTITION = "palimpsest_segment"
"""The column by which journals are partitioned."""
PARTITIONED, BUCKETED = "partitioned_by", "bucketed_by"
"""Properties of a table: ``city,year``, and ``id:16``, by physical names."""
_SHAPED = "_s"
_NO_PARTS = frozenset(
    {
        *(exp.DType.VARBINARY, exp.DType.BINARY, exp.DType.BLOB, exp.DType.TIMESTAMPTZ),
        *(exp.DType.TIMESTAMPLTZ, exp.DType.LIST, exp.DType.ARRAY, exp.DType.STRUCT),
        exp.DType.MAP,
    }
)
_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_FOLDER_BYTES_MAX = 250
"""How long a folder's name may be, in which a byte of a value may take three."""
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """The columns by which a table is partitioned, besides segments, and put into buckets."""

    by: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    buckets: int = 0


FLAT = PartitionLayout()
"""How commits lie: one partition each."""


@dataclass(frozen=True, slots=True)
class Names:
    """The store's names: of its own database, and of those that clients see.

    ``prefix`` goes before the database of every schema; ``database`` is that of the default one.
    ``store`` is part of the names of the store's own tables, so that those of another catalog over
    the same metastore are never taken for ours.
    """

    database: str
    prefix: str = ""
    store: str = ""

    @property
    def journal_database(self) -> str:
        """The database that holds the journals."""
        return f"{self.prefix}{self.database}_palimpsest"

    def schema(self, schema: str) -> str:
        """The database of a logical schema."""
        if fold(schema) == DEFAULT_SCHEMA:
            return self.prefix + self.database
        return self.prefix + plain_name(schema)

    def public_relation(self, name: TableName) -> exp.Table:
        """The relation everybody sees under a logical name."""
        return exp.table_(ident(plain_name(name.name)), db=ident(self.schema(name.schema)))

    @property
    def journals(self) -> str:
        """What names of journals begin with."""
        return f"j{self.store}_"

    @property
    def adopted(self) -> str:
        """What names of views begin with that show a plain table as a segment."""
        return f"a{self.store}_"

    @property
    def masks(self) -> str:
        """What names of tables begin with that hold lists of keys nobody may see."""
        return f"m{self.store}_"

    @property
    def staging(self) -> str:
        """What names of tables of staged rows begin with."""
        return f"w{self.store}_"

    def table(self, name: str) -> exp.Table:
        """A table of the store's own."""
        return exp.table_(ident(name), db=ident(self.journal_database))


def plain_name(name: str) -> str:
    """A name as the metastore takes it: lower case; others get a checksum for what they lose."""
    folded = fold(name)
    if _PLAIN.fullmatch(folded):
        return folded
    kept = re.sub(r"[^a-z0-9_]", "_", folded)
    return f"{kept}_{zlib.crc32(folded.encode()):08x}"


def shape_of(table: Table, fields: Fields) -> PartitionLayout:
    """How the owner of a table wants it to lie, as far as rows have such columns."""
    properties, there = dict(table.properties), {name for name, _ in fields}
    parting = {name for name, kind in fields if can_part(kind)}
    by = tuple(c for c in properties.get(PARTITIONED, "").split(",") if c in parting)
    buckets, _, count = properties.get(BUCKETED, "").rpartition(":")
    into = tuple(c for c in buckets.split(",") if c)
    found = partitioning_of(table)
    if found is not None and found.strategy == "LIST" and not by:
        by = tuple(c for c in (found.column,) if c in parting)
    elif found is not None and found.parts is not None and not into:
        into, count = (found.column,), str(found.parts)
    if not into or not set(into) <= there - set(by):
        return PartitionLayout(by)
    return PartitionLayout(by, into, int(count))


def can_part(kind: str) -> bool:
    """True for types whose values are the same for everybody who reads them from a folder's name.

    Instants are written there in the time zone of one session and read in that of another.
    """
    return exp.DataType.build(kind, dialect="duckdb").this not in _NO_PARTS


def check_shape(table: Table, engine: HiveEngine) -> None:
    """Raise NOT_SUPPORTED for types and partitions that an engine, or its metastore, lacks."""
    check_enums(table, engine)
    if engine is HiveEngine.APACHE:
        check_nested(table)
    found = partitioning_of(table)
    if found is not None and found.strategy == "RANGE":
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "a Hive store has no partitions by ranges",
            advice="use LIST (column) of a column with the day or month, or HASH (column) INTO n",
        )
    if found is not None and found.strategy == "LIST":
        # The column may have been dropped since.
        parted = next((c for c in table.stored if c.physical == found.column), None)
        if parted is not None and not can_part(parted.type):
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"a Hive store has no partitions by {parted.name}, which is {parted.type}",
                advice="use LIST (column) of a date, a timestamp without zone, a number or text",
            )


def journal_table(
    names: Names, table: Table, fields: Fields, shape: PartitionLayout = FLAT, number: int = 0
) -> str:
    """The name of the store's table for rows with these columns; the same for the same columns.

    There is another by each ``number``, for those who write at once.
    """
    text = repr(journal_fields(table, fields))
    ending = f"_{number}" if number else ""
    if shape != FLAT:
        text += repr(shape)
        ending += _SHAPED
    return f"{names.journals}t{table.id}_{zlib.crc32(text.encode()):08x}{ending}"


def is_shaped(path: str) -> bool:
    """True for a segment that lies as the owner of its table wants it to."""
    return path.partition("/")[0].endswith(_SHAPED)


def adopted_path(names: Names, table: Table, segment_id: str) -> str:
    """What stands for the rows of a plain table: the view that shows them, and their segment."""
    return f"{names.adopted}t{table.id}/{segment_id}"


def is_adopted(names: Names, path: str) -> bool:
    """True for the path of a segment that is a plain table's rows."""
    return path.startswith(names.adopted)


def create_journal(
    names: Names, table: Table, fields: Fields, shape: PartitionLayout = FLAT, number: int = 0
) -> exp.Create:
    """Makes the table for rows with these columns, unless it is there."""
    target = names.table(journal_table(names, table, fields, shape, number))
    made = _partitioned(target, dict(journal_fields(table, fields)), shape.by)
    if shape.into:
        buckets = exp.Literal.number(shape.buckets)
        into = [column(c) for c in shape.into]
        properties = made.args["properties"]
        properties.append("expressions", exp.ClusteredByProperty(expressions=into, buckets=buckets))
    return made


def _partitioned(target: exp.Table, kinds: Mapping[str, str], more: Iterable[str]) -> exp.Create:
    """Makes a Parquet table partitioned by segment, and by ``more`` columns."""
    columns = [
        exp.ColumnDef(this=ident(n), kind=exp.DataType.build(spark_type(k), dialect="spark"))
        for n, k in kinds.items()
    ]
    text = exp.DataType.build("string", dialect="spark")
    columns.append(exp.ColumnDef(this=ident(PARTITION), kind=text))
    by = [ident(PARTITION), *(ident(c) for c in more)]
    properties: list[exp.Expr] = [
        exp.FileFormatProperty(this=exp.Var(this="PARQUET")),
        exp.PartitionedByProperty(this=exp.Schema(expressions=by)),
    ]
    return exp.Create(
        this=exp.Schema(this=target, expressions=columns),
        kind="TABLE",
        exists=True,
        properties=exp.Properties(expressions=properties),
    )


def mask_table(names: Names, table: Table) -> str:
    """The name of the store's table for lists of a table's keys."""
    text = repr([(name, table.by_physical(name).type) for name in table.key])
    return f"{names.masks}t{table.id}_{zlib.crc32(text.encode()):08x}"


def create_mask(names: Names, table: Table) -> exp.Create:
    """Makes the table for lists of keys, partitioned as journals are, unless it is there."""
    kinds = {name: table.by_physical(name).type for name in table.key}
    return _partitioned(names.table(mask_table(names, table)), kinds, ())


def masked_keys(names: Names, table: Table, masks: Iterable[str]) -> exp.Query:
    """The keys in lists that are given like paths of segments."""
    found: list[exp.Query] = []
    for _, group in groupby(sorted(masks), key=lambda path: path.partition("/")[0]):
        query = rows_of(names, group)
        query.set("expressions", [column(name) for name in table.key])
        found.append(query)
    return union_all(found)


def unmasked(names: Names, table: Table, rows: exp.Query, masks: Iterable[str]) -> exp.Query:
    """Rows in the present columns of a table without those of the keys in lists."""
    keys = masked_keys(names, table, masks).subquery("m")
    shown = [column(n, "j") for n in table.journal_columns]
    found = exp.select(*shown).from_(rows.subquery("j"))
    found.append(
        "joins", exp.Join(this=keys, kind="ANTI", on=exp.and_(*equal_columns(table.key, "j", "m")))
    )
    return found


def create_staging(names: Names, name: str, rows: exp.Expr) -> exp.Create:
    """Makes a table of rows that are on their way."""
    parquet = exp.FileFormatProperty(this=exp.Var(this="PARQUET"))
    return exp.Create(
        this=names.table(name),
        kind="TABLE",
        properties=exp.Properties(expressions=[parquet]),
        expression=rows,
    )


def insert_rows(names: Names, path: str, rows: exp.Expr) -> exp.Insert:
    """Appends rows, in the order of the table's columns, to the partition of a segment."""
    target, segment = _place(names, path)
    target.set("partition", _partition(segment))
    return exp.Insert(this=target, expression=rows)


def lost_in_folders(fields: Fields, shape: PartitionLayout, rows: exp.Query) -> exp.Query | None:
    """A row if a value would not come back from the name of its folder; None if all values do.

    A text that is empty comes back as NULL, and one that ends in blanks meets another.
    """
    kinds = dict(fields)
    lost: list[exp.Expr] = []
    for name in (n for n in shape.by if spark_type(kinds[n]) == "STRING"):
        value = column(name, "w")
        bytes_max = (_FOLDER_BYTES_MAX - len(name.encode())) // 3
        lost += [
            fill("x IN ('', folder)", x=value, folder=_DEFAULT_PARTITION),
            fill("x LIKE '% '", x=value),
            fill("size > most", size=call("octet_length", value), most=max(bytes_max, 0)),
        ]
    if not lost:
        return None
    found = exp.select(exp.Literal.number(1)).from_(rows.copy().subquery("w"))
    return found.where(exp.or_(*lost)).limit(1)


def insert_shaped(
    names: Names, path: str, table: Table, fields: Fields, rows: exp.Query
) -> exp.Insert:
    """Appends rows, given as journal fields, to the partitions of a segment that is shaped."""
    by = shape_of(table, fields).by
    bare = [n for n, _ in journal_fields(table, fields) if n not in by]
    ordered = exp.select(*[column(n, "w") for n in (*bare, *by)]).from_(rows.subquery("w"))
    found = insert_rows(names, path, ordered)
    partition = found.this.args["partition"]
    for name in by:
        partition.append("expressions", column(name))
    return found


def drop_rows(names: Names, path: str) -> exp.Expr:
    """Drops the partition of a segment, if it is there."""
    target, segment = _place(names, path)
    drop = exp.DropPartition(expressions=[_partition(segment)], exists=True)
    return exp.Alter(this=target, kind="TABLE", actions=[drop])


def _place(names: Names, path: str) -> tuple[exp.Table, str]:
    name, _, segment = path.partition("/")
    return names.table(name), segment


def _partition(segment: str) -> exp.Partition:
    same = exp.EQ(this=exp.column(ident(PARTITION)), expression=exp.Literal.string(segment))
    return exp.Partition(expressions=[same])


def rows_of(names: Names, paths: Iterable[str]) -> exp.Select:
    """All rows of segments that lie in one table."""
    listed = list(paths)
    target, _ = _place(names, listed[0])
    wanted = [exp.Literal.string(path.partition("/")[2]) for path in listed]
    return exp.select("*").from_(target).where(exp.In(this=column(PARTITION), expressions=wanted))


def rows_in_table(names: Names, table: Table, fields: Fields, paths: Iterable[str]) -> exp.Select:
    """Rows of segments of one table in the present columns of ``table``."""
    source = rows_of(names, paths)
    if fields == fields_of(table):
        source.set("expressions", [column(n) for n in table.journal_columns])
        return source
    return rows_in_layout(table, source.subquery(), fields)


def staged_rows(names: Names, table: Table, found: Sequence[tuple[str, Fields]]) -> exp.Query:
    """The rows of segments, given by path and columns, in the present columns of ``table``."""

    def place(item: tuple[str, Fields]) -> tuple[str, Fields]:
        return item[0].partition("/")[0], item[1]

    pieces = [
        rows_in_table(names, table, fields, [path for path, _ in group])
        for (_, fields), group in groupby(sorted(found, key=place), key=place)
    ]
    return union_all(pieces)


def counts(names: Names, table: Table, segments: Sequence[Segment]) -> list[exp.Select]:
    """Queries for the rows of each kind in each segment, one per table they lie in."""
    paths = sorted(s.files[0].path for s in segments)
    found: list[exp.Select] = []
    for _, group in groupby(paths, key=lambda path: path.partition("/")[0]):
        query = rows_of(names, group)
        query.set("expressions", [column(PARTITION), *counted_kinds(table)])
        found.append(query.group_by(column(PARTITION)))
    return found


def segment_file(path: str, rows: int) -> SegmentFile:
    """What a segment lists of its partition; its bytes are the store's to look after."""
    return SegmentFile(path, 0, rows, 0)
