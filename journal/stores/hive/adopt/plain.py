"""Plain tables of a metastore: what it says of them, and the statements that adopt and leave them.

    hr.depts_adopted                  the plain table under another name, its files where they were
    default_palimpsest.a<store>_t<id> a view that shows its rows as one segment of a journal

Statements that sqlglot cannot say are written here, over quoted names and literals only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import sqlglot
from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.version import Version
from journal.sql.public_views import create_view
from journal.sql.relations import column, ident, version_type, version_value
from journal.stores.hive import layout
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.dialect.text import engine_text
from journal.stores.hive.dialect.types import kind_of, spark_type
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.metastore_tables import MARK, MetastoreTable, relation_at

ADOPTED = "_adopted"
"""What the name of a plain table ends with once it is adopted."""
EJECTED = "_ejected"
"""What the name of a table of current rows ends with until the view of its name is gone."""
HISTORY = "_history"
"""What the name of an ejected table's history ends with."""
TAKEN = "taken_from"
"""Property of a logical table that was a plain one: where it is now."""
_OUTSIDE = "palimpsest_outside"
_NO_PATH = "Path does not exist"
"""How Spark says that a folder is not there."""


def table(database: str, name: str) -> exp.Table:
    """A table of the metastore's; without a database, one of the connection's own."""
    return exp.table_(ident(name), db=ident(database) if database else None)


def find(connection: HiveConnection, database: str, name: str) -> MetastoreTable | None:
    """What the metastore says of a relation; None where it has none of that name."""
    return relation_at(connection, table(database, name))


def type_of(kind: str) -> str | None:
    """A type of Spark's as canonical text; None where its values would not come back the same."""
    found = kind_of(kind).name
    bare = kind.partition("(")[0].strip().lower()
    if bare in {"char", "varchar"} or _plain(spark_type(found)) == _plain(kind):
        return found
    return None


def _plain(kind: str) -> str:
    return kind.lower().replace(" ", "")


@dataclass(frozen=True, slots=True)
class Survey:
    """What the rows of a table are: their number, that of their keys, of those with a NULL in the
    key, and of those in files outside of the table's folder."""

    rows: int
    keys: int
    nulls: int
    strays: int


def survey(connection: HiveConnection, plain: MetastoreTable, key: Sequence[str]) -> Survey:
    """Look at all rows of a table, once: each look opens every file of every partition."""
    empty = exp.or_(*[exp.Is(this=column(k), expression=exp.Null()) for k in key])
    keys = exp.Count(this=exp.Distinct(expressions=[column(k) for k in key]))
    outputs: list[exp.Expr] = [column(k) for k in key]
    may_stray = plain.is_external and bool(plain.partitioned)
    outside = _is_outside(plain) if may_stray else exp.false()
    outputs.append(exp.alias_(outside, ident(_OUTSIDE)))
    rows = exp.select(*outputs).from_(plain.place).subquery("r")
    counted: list[exp.Expr] = [exp.Count(this=exp.Star()), keys]
    counted += [exp.CountIf(this=empty), exp.CountIf(this=column(_OUTSIDE))]
    (found,) = connection.run(exp.select(*counted).from_(rows))
    return Survey(*(int(n) for n in found))


def _is_outside(plain: MetastoreTable) -> exp.Expr:
    """Whether a row lies in a file outside of its table's folder."""
    path = urlsplit(plain.location).path.rstrip("/") + "/"
    file = exp.Anonymous(this="input_file_name", expressions=[])
    inside = [
        exp.Anonymous(this="contains", expressions=[file.copy(), exp.Literal.string(text)])
        for text in (path, quote(path))
    ]
    return exp.Not(this=exp.paren(exp.or_(*inside)))


def count(connection: HiveConnection, plain: MetastoreTable) -> int:
    """How many rows a table has."""
    query = exp.select(exp.Count(this=exp.Star())).from_(plain.place)
    return int(connection.run(query)[0][0])


def rename(connection: HiveConnection, database: str, old: str, new: str) -> None:
    """Give a table another name; the files of an external one stay where they are."""
    action = exp.AlterRename(this=table(database, new))
    place = table(database, old)
    connection.execute(exp.Alter(this=place, kind="TABLE", actions=[action]))


def mark(connection: HiveConnection, plain: exp.Table, name: str | None) -> None:
    """Note for whom a table stands; None: for nobody."""
    key = engine_text(exp.Literal.string(MARK))
    value = f"SET TBLPROPERTIES ({key} = {engine_text(exp.Literal.string(name))})" if name else ""
    value = value or f"UNSET TBLPROPERTIES IF EXISTS ({key})"
    connection.execute(f"ALTER TABLE {engine_text(plain)} {value}")


def over_folder(
    connection: HiveConnection, database: str, name: str, folder: str, stands_for: str
) -> None:
    """Make an external table over a folder of Parquet files, with its partitions."""
    _check_looks_into_folders(connection)
    place = table(database, name)
    parquet = exp.FileFormatProperty(this=exp.Var(this="PARQUET"))
    where = exp.LocationProperty(this=exp.Literal.string(folder))
    marked = exp.Property(this=exp.Literal.string(MARK), value=exp.Literal.string(stands_for))
    properties = exp.Properties(expressions=[parquet, where, marked])
    with _reading_folder(folder):
        connection.execute(exp.Create(this=place, kind="TABLE", properties=properties))
    found = find(connection, database, name)
    if found is not None and found.partitioned:
        connection.execute(f"MSCK REPAIR TABLE {engine_text(place)}")


@contextmanager
def glimpse(connection: HiveConnection, name: str, folder: str) -> Iterator[MetastoreTable]:
    """A folder of Parquet files as a table of this connection alone, which no metastore lists.

    Which of its columns are those of partitions is not told.
    """
    _check_looks_into_folders(connection)
    shown = exp.table_(ident(name))
    path = engine_text(exp.Literal.string(folder))
    with _reading_folder(folder):
        connection.execute(
            f"CREATE TEMPORARY VIEW {engine_text(shown)} USING PARQUET OPTIONS (path {path})"
        )
    try:
        rows = connection.run(f"DESCRIBE TABLE {engine_text(shown)}")
        columns = tuple((str(name), str(kind)) for name, kind, _ in rows)
        yield MetastoreTable(
            shown, columns=columns, location=folder, is_external=True, format="parquet"
        )
    finally:
        drop(connection, shown, "VIEW")


_PLACE_ADVICE = (
    "--from is a place as the server sees it, with its scheme: file:///lake/depts on the server's"
    " machine, hdfs://host/lake/depts, s3a://bucket/depts; check the spelling, and that it holds"
    " files that end in .parquet"
)


@contextmanager
def _reading_folder(folder: str) -> Iterator[None]:
    """Raise FILE_ACCESS, which names the folder, where the server cannot read Parquet files."""
    try:
        yield
    except PalimpsestError as error:
        if error.code is Code.FILE_ACCESS or error.message.startswith(_NO_PATH):
            said, advice = f"the server finds no Parquet files in {folder}", _PLACE_ADVICE
        elif error.code is Code.SEGMENT_DAMAGED:
            said = f"a file in {folder} is no Parquet file, or is damaged: {error.message}"
            advice = "repair it, or move it out of the folder"
        elif error.code in {Code.STORE, Code.STORE_GRANT}:
            said = f"the server cannot read {folder}: {error.message}"
            advice = "check scheme, host and permissions; for some file systems a server of Spark"
            advice += " needs jars and settings of its own"
        else:
            raise
        raise PalimpsestError(Code.FILE_ACCESS, said, advice=advice) from error


def _check_looks_into_folders(connection: HiveConnection) -> None:
    if connection.engine is HiveEngine.APACHE:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "Apache Hive does not look into a folder for columns and partitions",
            advice="make an external table over it in Hive, and adopt that",
        )


def table_as(
    connection: HiveConnection, target: exp.Table, rows: exp.Expr, partitioned: Sequence[str]
) -> None:
    """Make a plain Parquet table of a query's rows."""
    properties: list[exp.Expr] = [exp.FileFormatProperty(this=exp.Var(this="PARQUET"))]
    if partitioned:
        by = exp.Schema(expressions=[ident(c) for c in partitioned])
        properties.append(exp.PartitionedByProperty(this=by))
    kept = exp.Properties(expressions=properties)
    connection.execute(exp.Create(this=target, kind="TABLE", properties=kept, expression=rows))


def drop(connection: HiveConnection, target: exp.Table, kind: str = "TABLE") -> None:
    """Drop a table or view, if it is there; of an external table the files stay."""
    connection.execute(exp.Drop(tables=[target], kind=kind, exists=True))


def all_rows(plain: MetastoreTable) -> exp.Select:
    """What stands under a plain table's name while it is being adopted."""
    return exp.select(*[column(n) for n, _ in plain.columns]).from_(plain.place)


def show_segment(
    connection: HiveConnection, names: layout.Names, path: str, taken: Table, version: Version
) -> None:
    """Show a plain table's rows as those of one segment, all written at ``version``."""
    start = version_value(taken, exp.Literal.number(version))
    end = exp.Cast(this=exp.Null(), to=exp.DataType.build(version_type(taken), dialect="duckdb"))
    name, _, segment = path.partition("/")
    outputs = [
        *(exp.alias_(column(c.name), ident(c.physical)) for c in taken.columns),
        exp.alias_(start, ident(taken.format.version_column)),
        exp.alias_(end, ident(taken.format.subsequent_column)),
        exp.alias_(exp.Literal.string(segment), ident(layout.PARTITION)),
    ]
    database, _, plain = dict(taken.properties)[TAKEN].partition(".")
    body = exp.select(*outputs).from_(table(database, plain))
    connection.execute(create_view(names.table(name), body))


def source_of(connection: HiveConnection, names: layout.Names, path: str) -> MetastoreTable | None:
    """The plain table behind a segment that was adopted; None if it or its view is gone."""
    told = relation_at(connection, names.table(path.partition("/")[0]))
    if told is None:
        return None
    read = connection.engine.dialect
    source = sqlglot.parse_one(told.view_text, read=read).find(exp.Table)
    return None if source is None else relation_at(connection, table(source.db, source.name))


def remove(connection: HiveConnection, names: layout.Names, path: str) -> None:
    """Remove the rows of a segment that was adopted: files, plain table and view.

    Of an external table the metastore leaves the files, so its folder is written anew as empty.
    """
    plain = source_of(connection, names, path)
    if plain is not None and plain.mark is not None:
        if plain.is_external and connection.engine is HiveEngine.APACHE:
            purged = "SET TBLPROPERTIES ('external.table.purge' = 'true')"
            connection.execute(f"ALTER TABLE {engine_text(plain.place)} {purged}")
        elif plain.is_external:
            folder = engine_text(exp.Literal.string(plain.location))
            nothing = engine_text(exp.select(exp.alias_(exp.Literal.number(1), "nothing")))
            connection.execute(
                f"INSERT OVERWRITE DIRECTORY {folder} USING PARQUET {nothing} WHERE false"
            )
        drop(connection, plain.place)
    drop(connection, names.table(path.partition("/")[0]), "VIEW")
