"""Filling staged tables by Spark instead of by the server: what is read, and where it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table, fold
from journal.model.segment import Fields, Tier
from journal.sql.relations import column, ident
from journal.stores.postgres.dialect.text import shortened
from journal.stores.postgres.layout import insert_fields
from journal.stores.postgres.store import PostgresSession
from spark_compaction.backend import JoinedRows
from spark_compaction.contract import Engine, Json, Progress
from spark_compaction.programs.journal_rows import query_of

FUNCTION = "spark_compaction.engines.jdbc:fill"


@dataclass(frozen=True, slots=True)
class Filling:
    """A target, and the rows that it shall hold."""

    table: Table
    target: exp.Table
    fields: Fields
    rows: JoinedRows


Fill = Callable[[PostgresSession, Filling], None]
"""Fills a target that the session's transaction has made."""


def by_server(session: PostgresSession, filling: Filling) -> None:
    """Let the server do it, in the same transaction."""
    table, fields = filling.table, filling.fields
    session.run(insert_fields(table, filling.target, fields, query_of(table, filling.rows)))


def by_spark(engine: Engine, progress: Progress) -> Fill:
    """Let Spark do it through JDBC; the target is committed first, so that Spark sees it."""

    def fill(session: PostgresSession, filling: Filling) -> None:
        task = {**_task(session, filling), **_jdbc(session)}
        session.commit()
        engine.run(FUNCTION, task, progress)
        session.begin()

    return fill


def _task(session: PostgresSession, filling: Filling) -> dict[str, Json]:
    rows = filling.rows

    def texts(queries: Iterable[exp.Select]) -> list[str]:
        return [session.rendered(_as_text(query)).sql for query in queries]

    *_, start, end = columns = [shortened(fold(n)) for n in rows.names]
    return {
        "target": session.rendered(filling.target).sql,
        "columns": columns,
        "keys": list(rows.keys),
        "start": start,
        "end": end,
        "is_base": rows.tier is Tier.BASE,
        "opens": texts(rows.opens),
        "closings": texts(rows.closings),
        "archived": texts(rows.as_written),
    }


def _as_text(query: exp.Select) -> exp.Select:
    """The same rows, every value as text."""
    names = [e.alias_or_name for e in query.selects]
    texts = [exp.alias_(exp.cast(column(n, "r"), "TEXT"), ident(n)) for n in names]
    return exp.select(*texts).from_(query.subquery("r"))


def _jdbc(session: PostgresSession) -> dict[str, str]:
    """Where a JDBC driver finds the database, and as whom; refused for a local socket."""
    info = session.place
    if info.host.startswith("/"):
        raise PalimpsestError(
            Code.JOB_ENGINE,
            "JDBC reaches a server by TCP, and this connection goes through a local socket",
            advice="name a host in the URL, or SET job_engine = 'auto'",
        )
    url = f"jdbc:postgresql://{info.host}:{info.port}/{info.dbname}"
    return {"url": url, "user": info.user, "password": info.password}
