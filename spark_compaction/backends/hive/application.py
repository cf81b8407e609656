"""Connections whose statements run in the Spark application of a job, not in the server.

The server goes on answering those who query it; the application has executors of its own. Both read
one metastore, so what the application writes the server finds.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.store_session import Parameters
from journal.stores.hive.client.connection import HiveConnection, Row
from journal.stores.hive.client.cursor import Column, plain_values
from journal.stores.hive.client.errors import cancelled, translate
from journal.stores.hive.client.login import Server
from journal.stores.hive.client.opening import spark_settings
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.journal import HiveJournal
from spark_compaction.contract import Engine, silent

_MODULE = "spark_compaction.engines.spark_sql"
_ADVICE = (
    "give the application the server's metastore: hive-site.xml in the folder that SPARK_CONF_DIR"
    " names, or spark.hadoop.hive.metastore.uris in its spark-defaults.conf (docs/hive.md)"
)


class ApplicationConnection(HiveConnection):
    """A session of the application; ``server`` says which settings and database it has."""

    engine = HiveEngine.SPARK

    def __init__(self, application: Engine, server: Server) -> None:
        super().__init__()
        self._application = application
        self._session = {
            "connection": uuid.uuid4().hex,
            "settings": spark_settings(server),
            "database": server.database,
        }
        self._names: list[str] = []
        self._types: list[tuple[str, str]] = []
        self._columns: list[Column] = []
        self._is_stopped = False

    def execute(
        self,
        statement: str | exp.Expr,
        parameters: Parameters | None = None,
        beside: Sequence[str] = (),
    ) -> list[list[Row]]:
        """Run a statement to its end, and then those ``beside`` it."""
        sql = statement if isinstance(statement, str) else self.text(statement, parameters)
        self._is_stopped = False
        self._names, self._types, self._columns = self._run(sql)
        return [self.short_query(text) for text in beside]

    def _run(self, sql: str) -> tuple[list[str], list[tuple[str, str]], list[Column]]:
        task = {**self._session, "statement": sql}
        try:
            found = self._application.run(f"{_MODULE}:execute", task, self._check_not_stopped)
        finally:
            # What stops a statement stops no later one, such as those that clear up behind it.
            self._is_stopped = False
        if "error" in found:
            raise translate(found["error"])
        types = [(word, kind) for word, kind in found["types"]]
        columns: list[Column] = [
            [None if v is None else bytes.fromhex(v) for v in values]
            if word == "BINARY_TYPE"
            else values
            for (word, _), values in zip(types, found["columns"], strict=True)
        ]
        return found["names"], types, columns

    def short_query(self, sql: str) -> list[Row]:
        """The rows of a short statement; those of the one executed last are left to be fetched."""
        _, types, columns = self._run(sql)
        plain = (plain_values(word, c) for (word, _), c in zip(types, columns, strict=True))
        return list(zip(*plain, strict=True))

    def described(self) -> list[tuple[str, str]]:
        """Name and type of each column of the statement executed last."""
        return [(n, word) for n, (word, _) in zip(self._names, self._types, strict=True)]

    def types(self) -> list[tuple[str, str]]:
        """The type of each column: HiveServer2's word for it, and Spark's name."""
        return list(self._types)

    def columns(self, size: int | None = None) -> list[Column]:
        """The values of the next rows by column."""
        last = len(self._columns[0]) if self._columns and size is None else size
        found = [values[:last] for values in self._columns]
        self._columns = [values[last:] for values in self._columns]
        return found

    def interrupt(self) -> None:
        """Stop the statement that runs: the engine asks every half second whether it goes on."""
        self._is_stopped = True

    def _check_not_stopped(self, _step: str, _done: int, _total: int) -> None:
        if self._is_stopped:
            raise cancelled()

    def is_quiet(self) -> bool:
        """True: nobody but us ends the application."""
        return True

    def close(self) -> None:
        """Have the application forget the session."""
        self.is_usable = False
        with suppress(PalimpsestError):
            self._application.run(f"{_MODULE}:close", self._session, silent)


@contextmanager
def running_in(application: Engine, journal: HiveJournal) -> Iterator[None]:
    """Have what this thread does to a journal in the block run in the application.

    Raises JOB_ENGINE where the application reads another metastore than the server, or the server
    is Apache Hive, whose files Spark would not write alike.
    """
    store = journal.store
    if store.engine is not HiveEngine.SPARK:
        raise PalimpsestError(
            Code.JOB_ENGINE,
            "jobs on Apache Hive run in its server, not on Spark",
            advice="SET job_engine = 'auto'",
        )
    _check_metastore(application, journal)
    connect: Callable[[], HiveConnection] = lambda: ApplicationConnection(  # noqa: E731
        application, store.server
    )
    with store.connecting_with(connect):
        yield


def _check_metastore(application: Engine, journal: HiveJournal) -> None:
    """Raise JOB_ENGINE unless the application sees the very journals that the server sees."""
    if application.run(f"{_MODULE}:metastore", {}, silent) is None:
        raise PalimpsestError(
            Code.JOB_ENGINE, "the Spark application has no metastore", advice=_ADVICE
        )
    names = journal.names
    with journal.store.connection() as connection:
        there = connection.tables_of(names.journal_database, f"{names.journals}*")
    other = ApplicationConnection(application, journal.store.server)
    try:
        found = other.tables_of(names.journal_database, f"{names.journals}*")
    finally:
        other.close()
    if set(there) != set(found):
        raise PalimpsestError(
            Code.JOB_ENGINE,
            "the Spark application reads another metastore than the server: of"
            f" {len(there)} journals it sees {len(found)}",
            advice=_ADVICE,
        )
