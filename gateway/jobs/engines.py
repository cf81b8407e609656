"""Where jobs run: a warm Spark worker of this process, or this process itself for small tables.

One worker for each Spark master, shared by all warehouses open here; it starts with the first job
that needs it and ends with the process.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gateway.config import Settings
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from spark_compaction.contract import Engine

if TYPE_CHECKING:
    from spark_compaction.engines.client import SparkEngine

JDBC_JAR = "PALIMPSEST_JDBC_JAR"
"""Names the jar of the JDBC driver that Spark reads a database with."""
SMALL_BYTES = 64_000_000
"""Tables up to this size are worked on in this process, where the engine is ``auto``."""
_WITH_METASTORE = {"spark.sql.catalogImplementation": "hive"}


class Engines:
    """The engines of this process."""

    def __init__(self) -> None:
        self._workers: dict[str, SparkEngine] = {}
        self._lock = threading.Lock()

    def choose(self, settings: Settings, size: int) -> Engine:
        """The engine for a table of so many bytes; raises JOB_ENGINE where Spark is not there."""
        wanted = settings.job_engine.lower()
        if wanted not in {"auto", "spark", "local"}:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"there is no job engine {settings.job_engine}",
                advice="SET job_engine to spark, local or auto",
            )
        if wanted == "local" or (wanted == "auto" and size <= SMALL_BYTES):
            from spark_compaction.engines.local import LocalEngine

            return LocalEngine()
        return self.spark(settings.spark_master)

    def jdbc(self, master: str) -> Engine:
        """The worker of a Spark master with a database's driver; raises JOB_ENGINE without one."""
        jar = os.environ.get(JDBC_JAR)
        if not jar or not Path(jar).is_file():
            raise PalimpsestError(
                Code.JOB_ENGINE,
                "Spark reads a database through its JDBC driver, and none was given"
                if not jar
                else f"there is no JDBC driver {jar}",
                advice=f"let {JDBC_JAR} name postgresql.jar (Debian: libpostgresql-jdbc-java), or"
                " SET job_engine = 'auto', and the server does it",
            )
        return self.spark(master, {"spark.jars": jar})

    def spark(
        self,
        master: str,
        conf: Mapping[str, str] = MappingProxyType({}),
        *,
        shares_files: bool = False,
    ) -> Engine:
        """The worker of a Spark master, with settings of its own."""
        if importlib.util.find_spec("pyspark") is None:
            raise PalimpsestError(
                Code.JOB_ENGINE,
                "this job runs on Spark, and pyspark is not installed",
                advice="pip install 'palimpsest-gateway[spark]', or SET job_engine = 'local'",
            )
        from spark_compaction.engines.client import SparkEngine, SparkOptions

        with self._lock:
            key = f"{master} {sorted(conf.items())}"
            if key not in self._workers:
                options = SparkOptions(master=master, conf=conf, shares_files=shares_files)
                self._workers[key] = SparkEngine(options)
            return self._workers[key]

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            while self._workers:
                self._workers.popitem()[1].close()


@dataclass(frozen=True, slots=True)
class ChosenWorkers:
    """The workers that a session's settings choose for jobs and erasures; see ``Workers``."""

    engines: Engines
    settings: Settings
    lent: Callable[[int], Engine] | None = None
    """The engine that a client in another process lends for so many bytes, if there is one."""

    @property
    def _wants_spark(self) -> bool:
        return self.settings.job_engine.lower() == "spark"

    def files(self, size: int) -> Engine:
        """The engine for so many bytes of files."""
        return self.lent(size) if self.lent else self.engines.choose(self.settings, size)

    def jdbc(self) -> Engine | None:
        """Spark with a database's driver, if jobs are to run there."""
        return self.engines.jdbc(self.settings.spark_master) if self._wants_spark else None

    def application(self) -> Engine | None:
        """Spark with the metastore of a server, if jobs are to run there."""
        if not self._wants_spark:
            return None
        return self.engines.spark(self.settings.spark_master, _WITH_METASTORE, shares_files=True)


def workers_of(settings: Settings, lent: Callable[[int], Engine] | None) -> ChosenWorkers:
    """The workers for jobs: what a client has lent, else those of this process by the settings."""
    return ChosenWorkers(ENGINES, settings, lent)


ENGINES = Engines()
atexit.register(ENGINES.close)
