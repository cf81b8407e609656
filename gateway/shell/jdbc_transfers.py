"""Tables out of databases and into them, whole or what is new, by Spark's JDBC.

    database --Spark--> Parquet files --one transaction--> table      (import)
    table --one query--> Parquet files --Spark, one transaction--> database      (export)

How far an incremental import has come stands in the message of the commit that brought its rows,
so that both are there or neither.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.jobs.engines import ENGINES
from gateway.shell.exports import export_rows
from gateway.shell.files import (
    import_file,
    no_such_table,
    table_name,
    table_node,
)
from gateway.shell.jdbc_databases import JdbcLogin, check_jdbc_url, dialect_of, driver_of
from gateway.shell.key_conflicts import APPEND, check_key
from gateway.shell.running import Advance
from journal.local_engine.scratch import scratch
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from spark_compaction.engines.jdbc_transfers import HIGHEST, READ, WRITE

_APPLICATION = "palimpsest import"
_FILES = "part-*.parquet"


@dataclass(frozen=True, slots=True)
class JdbcSource:
    """What is read of a database: a table or a query, some columns or all.

    With ``incremental``, only rows whose value in that column lies above the last one read.
    """

    url: str
    login: JdbcLogin
    table: str | None = None
    query: str | None = None
    columns: tuple[str, ...] = ()
    incremental: str | None = None

    @property
    def relation(self) -> str:
        """The table, or the query, as Spark names it."""
        if self.query is not None:
            return f"({self.query.rstrip().rstrip(';')}) AS source_rows"
        return self.table or ""

    def digest(self, target: str) -> str:
        """What tells an incremental import from others."""
        told = json.dumps([self.url, self.relation, self.incremental, target])
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class JdbcTarget:
    """Where rows go in a database, and how: they replace all, are appended, or merged by a key.

    With ``incremental``, only rows whose value in that column lies above the highest one there.
    """

    url: str
    login: JdbcLogin
    table: str
    load: str = "replace"
    key: tuple[str, ...] = ()
    incremental: str | None = None


@dataclass(frozen=True, slots=True)
class Transferred:
    """What a transfer did; ``last`` is the last value of an incremental import."""

    table: str
    rows: int
    last: str | None = None


def import_jdbc(
    connection: Connection,
    source: JdbcSource,
    name: str,
    *,
    load: str = APPEND,
    create: bool = False,
    key: Sequence[str] = (),
    advance: Advance | None = None,
) -> Transferred:
    """Load rows of a database into a table, all or none; see ``JdbcSource``.

    ``load`` says what becomes of rows whose key is there, see ``key_conflicts``. Raises
    SETTING_VALUE for options that contradict each other, JOB_ENGINE without Spark or a driver.
    """
    with mapping():
        check_jdbc_url(source.url)
        target = table_name(connection, name)
        found = connection.client_session.catalog.get(target)
        table = found if isinstance(found, Table) else None
        if table is None and not create:
            raise no_such_table(target)
        _check_load(table, load, source)
        last = _last_value(connection, source, str(target))
        with scratch() as place:
            folder = place / "rows"
            done = _spark(connection).run(
                READ, _reading(source, folder, last, again=load != APPEND), _silent
            )
            if not done["rows"] and table is not None:
                return Transferred(str(target), 0, last)
            told = _commit_message(source, str(target), done["last"])
            with commit_message(connection, told):
                import_file(
                    connection,
                    str(folder / _FILES),
                    name,
                    create=table is None,
                    key=key,
                    advance=advance,
                    shown=source.url,
                    load=load,
                )
    return Transferred(str(target), done["rows"], done["last"])


def export_jdbc(
    connection: Connection, source: str, target: JdbcTarget, advance: Advance | None = None
) -> Transferred:
    """Write a table or a query into a table of a database, in one transaction there.

    It is made where there is none.
    """
    with mapping():
        check_jdbc_url(target.url)
        if target.load == "merge" and not target.key:
            raise _setting_error("merge needs the key by which rows meet", "give --key COL,..")
        chosen = source if target.incremental is None else _newer_rows(connection, source, target)
    with scratch() as place:
        path = place / "part-0.parquet"
        rows = export_rows(connection, chosen, path, "parquet", advance=advance)
        with mapping():
            columns = file_column_names(path)
            _spark(connection).run(WRITE, _writing(target, path, columns), _silent)
    return Transferred(target.table, rows)


def _newer_rows(connection: Connection, source: str, target: JdbcTarget) -> str:
    """The query for the rows of a table that lie above what the database has."""
    if target.load == "replace":
        raise _setting_error("replace writes all rows", "give --load append or merge")
    name = table_name(connection, source)
    table = connection.client_session.catalog.get(name)
    column = table.find(target.incremental or "") if isinstance(table, Table) else None
    if column is None:
        raise _setting_error(
            f"{source} is no table with a column {target.incremental}",
            "export a table, and name a column of it",
        )
    dialect = dialect_of(target.url)
    there = exp.to_table(target.table, dialect=dialect)
    wanted = exp.column(column.name, quoted=True)
    highest = exp.select(exp.alias_(exp.Max(this=wanted), "h")).from_(there.copy())
    probe = exp.select(exp.Literal.number(1)).from_(there).where(exp.false())
    task = {
        "url": target.url,
        "driver": driver_of(target.url),
        **target.login.credentials(),
        "probe": probe.sql(dialect=dialect),
        "highest": highest.subquery("m").sql(dialect=dialect),
    }
    last = _spark(connection).run(HIGHEST, task, _silent)
    query = exp.select("*").from_(table_node(name))
    if last is not None:
        value = exp.cast(exp.Literal.string(last), column.type, dialect="duckdb")
        kind = exp.GTE if target.load == "merge" else exp.GT
        query = query.where(kind(this=wanted.copy(), expression=value))
    return query.sql(dialect=connection.client_session.dialect.replace("ansi", ""))


def _check_load(table: Table | None, load: str, source: JdbcSource) -> None:
    if (source.table is None) == (source.query is None):
        raise _setting_error(
            "name one table or one query of the database", "give --from or --query"
        )
    if load != APPEND and table is not None:
        check_key(table)
    names = {c.casefold() for c in source.columns}
    if source.incremental and names and source.incremental.casefold() not in names:
        raise _setting_error(
            f"{source.incremental} is not among the columns", "add it to --columns"
        )


def _reading(source: JdbcSource, folder: Path, last: str | None, *, again: bool) -> dict[str, Any]:
    return {
        "url": source.url,
        "driver": driver_of(source.url),
        **source.login.credentials(),
        "table": source.relation,
        "columns": list(source.columns),
        "incremental": source.incremental,
        "last": last,
        "again": again,
        "folder": str(folder),
    }


def _writing(target: JdbcTarget, path: Path, columns: Sequence[str]) -> dict[str, Any]:
    dialect = dialect_of(target.url)
    there = exp.to_table(target.table, dialect=dialect)
    staged = there.copy()
    staged.set("this", exp.to_identifier(f"{there.name}_staged_{uuid.uuid4().hex[:8]}"))

    def text(ast: exp.Expr) -> str:
        return ast.sql(dialect=dialect)

    names = [exp.to_identifier(c, quoted=True) for c in columns]
    rows = exp.select(*[exp.column(n.copy()) for n in names]).from_(staged.copy())
    into = exp.Schema(this=there.copy(), expressions=names)
    publish: list[exp.Expr] = []
    if target.load == "replace":
        publish.append(exp.Delete(this=there.copy()))
    elif target.load == "merge":
        known = {c.casefold(): c for c in columns}
        missing = [k for k in target.key if k.casefold() not in known]
        if missing:
            raise _setting_error(f"the rows have no column {missing[0]}", "name columns of them")
        same = [
            exp.EQ(
                this=exp.column(exp.to_identifier(known[k.casefold()], quoted=True), table="s"),
                expression=exp.column(
                    exp.to_identifier(known[k.casefold()], quoted=True), table=there.name
                ),
            )
            for k in target.key
        ]
        new = exp.select(exp.Literal.number(1)).from_(exp.alias_(staged.copy(), "s", table=True))
        met = exp.Exists(this=new.where(exp.and_(*same)))
        publish.append(exp.Delete(this=there.copy(), where=exp.Where(this=met)))
    publish.append(exp.Insert(this=into, expression=rows))
    drop = exp.Drop(tables=[staged.copy()], kind="TABLE", exists=True)
    renamed = exp.Alter(
        this=staged.copy(),
        kind="TABLE",
        actions=[exp.AlterRename(this=exp.to_table(there.name))],
    )
    empty = exp.select(*[exp.column(n.copy()) for n in names]).from_(there.copy())
    like = exp.Create(this=staged.copy(), kind="TABLE", expression=empty.where(exp.false()))
    return {
        "url": target.url,
        "driver": driver_of(target.url),
        **target.login.credentials(),
        "folder": str(path.parent),
        "staged": text(staged),
        "probe": text(exp.select(exp.Literal.number(1)).from_(there.copy()).where(exp.false())),
        "clean": [text(drop)],
        "stage": [text(like)],
        "publish": [*map(text, publish), text(drop)],
        "rename": [text(renamed)],
    }


def file_column_names(path: Path) -> list[str]:
    """The columns of a Parquet file."""
    return [str(name) for name in pq.read_schema(path).names]


def _last_value(connection: Connection, source: JdbcSource, target: str) -> str | None:
    """The last value that an incremental import has read; None before the first."""
    if source.incremental is None:
        return None
    query = (
        "SELECT message FROM system.transactions WHERE application = $1 AND message LIKE $2"
        " ORDER BY version DESC LIMIT 1"
    )
    like = _message_head(source, target) + "%"
    cursor = connection.execute(_in_dialect(connection, query), [_APPLICATION, like])
    row = cursor.fetchone()
    found = None if row is None else json.loads(row[0])["last"]
    return None if found is None else str(found)


def _in_dialect(connection: Connection, query: str) -> str:
    dialect = connection.client_session.dialect
    (tree,) = sqlglot.parse(query, dialect="duckdb")
    assert tree is not None
    for place in list(tree.find_all(exp.Parameter)):
        place.replace(exp.Placeholder())
    return tree.sql(dialect="" if dialect == "ansi" else dialect)


def _message_head(source: JdbcSource, target: str) -> str:
    return '{"import": "' + source.digest(target) + '"'


def _commit_message(source: JdbcSource, target: str, last: str | None) -> str | None:
    if source.incremental is None:
        return None
    told = json.dumps({"column": source.incremental, "last": last})
    return f"{_message_head(source, target)}, {told[1:]}"


@contextmanager
def commit_message(connection: Connection, message: str | None) -> Iterator[None]:
    """Commits inside the block carry a message, if there is one."""
    session = connection.client_session
    before = session.settings
    if message is not None:
        session.settings = before.with_setting("commit_message", message)
    try:
        yield
    finally:
        session.settings = before


def _spark(connection: Connection) -> Any:
    return ENGINES.jdbc(connection.client_session.settings.spark_master)


def _silent(*_done: object) -> None:
    """Progress that nobody looks at."""


def _setting_error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice)
