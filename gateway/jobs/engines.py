"""Chooses where a job runs: in this process or on Spark, whichever takes less time.

One worker for each Spark master, shared by all warehouses open here; it starts with the first job
that needs it and ends with the process. ``engine_costs`` says what is sooner.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gateway.config import Settings
from gateway.jobs.engine_costs import cores_of, is_spark_sooner
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from spark_compaction.contract import Engine, Json, Progress
from spark_compaction.engines.local import LocalEngine

if TYPE_CHECKING:
    from spark_compaction.engines.client import SparkEngine

JDBC_JAR = "PALIMPSEST_JDBC_JAR"
"""Names the jar of the JDBC driver that Spark reads a database with."""
_JARS = ("/usr/share/java/postgresql.jar",)
"""Where Debian's package libpostgresql-jdbc-java has it."""
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
        if wanted == "local" or (wanted == "auto" and not self._spark_is_sooner(settings, size)):
            return LocalEngine()
        return self.spark(settings.spark_master)

    def choose_late(self, settings: Settings, size: int) -> Engine:
        """The engine for at most so many bytes; ``auto`` is chosen by the units that there are."""
        if settings.job_engine.lower() == "auto":
            return _BySize(self, settings)
        return self.choose(settings, size)

    def _spark_is_sooner(self, settings: Settings, size: int) -> bool:
        if not is_spark_sooner(size, cores := cores_of(settings.spark_master), is_warm=True):
            return False
        with self._lock:
            worker = self._workers.get(_key(settings.spark_master))
        if worker is not None and worker.is_warm:
            return True
        return is_spark_sooner(size, cores, is_warm=False) and _has_spark()

    def jdbc(self, master: str) -> Engine:
        """The worker of a Spark master with a database's driver; raises JOB_ENGINE without one."""
        jar = os.environ.get(JDBC_JAR) or next((p for p in _JARS if Path(p).is_file()), None)
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
    ) -> SparkEngine:
        """The worker of a Spark master, with settings of its own."""
        if not _has_pyspark():
            raise PalimpsestError(
                Code.JOB_ENGINE,
                "this job runs on Spark, and pyspark is not installed",
                advice="pip install 'palimpsest-gateway[spark]', or SET job_engine = 'local'",
            )
        from spark_compaction.engines.client import SparkEngine, SparkOptions

        with self._lock:
            key = _key(master, conf)
            if key not in self._workers:
                options = SparkOptions(master=master, conf=conf, shares_files=shares_files)
                self._workers[key] = SparkEngine(options)
            return self._workers[key]

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            while self._workers:
                self._workers.popitem()[1].close()


def _key(master: str, conf: Mapping[str, str] = MappingProxyType({})) -> str:
    """What a worker is found under."""
    return f"{master} {sorted(conf.items())}"


def _has_pyspark() -> bool:
    return importlib.util.find_spec("pyspark") is not None


def _has_spark() -> bool:
    """Whether a Spark worker could start here."""
    from spark_compaction.engines.client import check_java

    try:
        check_java()
    except PalimpsestError:
        return False
    return _has_pyspark()


class _BySize:
    """Chooses an engine for the ``bytes`` of the units that it is given."""

    def __init__(self, engines: Engines, settings: Settings) -> None:
        self._engines = engines
        self._settings = settings

    def map(self, function: str, units: Sequence[Json], progress: Progress) -> list[Json]:
        """``function(unit)`` for each unit; results in order."""
        engine = self._engines.choose(self._settings, sum(unit["bytes"] for unit in units))
        return engine.map(function, units, progress)

    def run(self, function: str, task: Mapping[str, Json], progress: Progress) -> Json:
        """``function(cluster, task, progress)``, which only Spark runs."""
        return self._engines.spark(self._settings.spark_master).run(function, task, progress)


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

    def some_files(self, size: int) -> Engine:
        """The engine for those that need it of so many bytes of files, which units tell."""
        return self.lent(size) if self.lent else self.engines.choose_late(self.settings, size)

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
