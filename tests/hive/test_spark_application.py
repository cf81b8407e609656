"""Jobs of a Hive store in a Spark application of their own, over the metastore of the server.

The metastore is in PostgreSQL, so that a Thrift Server and the application may both have it open.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.jobs.engines import ENGINES
from tests.support import postgres
from tests.support.connections import opening
from tests.support.standalone_cluster import standalone_cluster
from tests.support.thrift_server import ThriftServer, own

DRIVER = Path("/usr/share/java/postgresql.jar")
_MODEL = (
    "MDatabase MTable MPartition MStorageDescriptor MColumnDescriptor MSerDeInfo MFieldSchema"
    " MOrder MStringList MType MConstraint MIndex MFunction MResourceUri MVersionTable MRole"
    " MRoleMap MGlobalPrivilege MDBPrivilege MTablePrivilege MPartitionPrivilege"
    " MTableColumnPrivilege MPartitionColumnPrivilege MTableColumnStatistics"
    " MPartitionColumnStatistics MPartitionEvent"
    " MMasterKey MDelegationToken MNotificationLog MNotificationNextId"
)
"""What a metastore keeps. Its tables are made at once: made later, amid a transaction that has
rows of others, they would wait for that transaction, and it for them."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def _hive_site(folder: Path, cluster: postgres.Cluster, warehouse: Path) -> None:
    """Write what leads Spark to the metastore, as an operator would."""
    values = {
        "javax.jdo.option.ConnectionURL": f"jdbc:postgresql://127.0.0.1:{cluster.port}/metastore",
        "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
        "javax.jdo.option.ConnectionUserName": "tester",
        "javax.jdo.option.ConnectionPassword": "",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.autoStartMechanism": "Classes",
        "datanucleus.autoStartClassNames": ",".join(
            f"org.apache.hadoop.hive.metastore.model.{name}" for name in _MODEL.split()
        ),
        "datanucleus.connectionPoolingType": "NONE",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file:{warehouse}",
    }
    properties = "".join(
        f"<property><name>{k}</name><value>{v}</value></property>" for k, v in values.items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    (folder / "spark-defaults.conf").write_text(
        f"spark.driver.extraClassPath {DRIVER}\n"
        f"spark.sql.warehouse.dir file:{warehouse}\n"
        "spark.driver.memory 1g\n"
    )


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the configuration of a metastore in PostgreSQL; Spark programs read it."""
    if not DRIVER.is_file():
        pytest.skip("no JDBC driver: apt-get install libpostgresql-jdbc-java")
    folder = tmp_path_factory.mktemp("metastore")
    with postgres.running() as cluster, pytest.MonkeyPatch.context() as patch:
        with psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as admin:
            admin.execute("CREATE DATABASE metastore")
        _hive_site(folder, cluster, folder / "warehouse")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        yield folder
        ENGINES.close()


@pytest.fixture(scope="module")
def shared_server(configured: Path) -> Iterator[ThriftServer]:
    """A Thrift Server over that metastore."""
    place = f"file:{configured}/warehouse"
    settings = {"hive.metastore.warehouse.dir": place}
    with own(settings, conf={"spark.sql.warehouse.dir": place}) as server:
        yield server


@pytest.fixture(scope="module")
def standalone(configured: Path) -> Iterator[str]:
    """The master of a cluster of Spark's own kind, on this machine."""
    with standalone_cluster(configured) as master:
        yield master


def _fill(con: Connection) -> None:
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v VARCHAR, d DECIMAL(10, 2), day DATE)")
    con.execute(
        "INSERT INTO t SELECT i, 'v' || i, i / 4.0, DATE '2024-01-01' + CAST(i AS INTEGER)"
        " FROM range(20) r(i)"
    )
    con.execute("UPDATE t SET v = 'changed', d = NULL WHERE k < 5")
    con.execute("DELETE FROM t WHERE k > 15")


def _statements(server: ThriftServer) -> int:
    """How many statements of jobs the server was asked."""
    log = (server.folder / "server.log").read_text(errors="replace")
    return log.count("Submitting query")


@pytest.mark.parametrize("where", ["local[2]", "standalone"])
def test_a_compaction_runs_in_the_application(
    shared_server: ThriftServer, tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    master = where if where != "standalone" else request.getfixturevalue("standalone")
    with opening(shared_server.new_store(tmp_path), autocommit=True) as connect:
        con = connect()
        _fill(con)
        now = "SELECT * FROM t ORDER BY k"
        past = "SELECT k, v, d FROM t FOR SYSTEM_TIME ALL ORDER BY k, v"
        before = con.execute(now).fetchall(), con.execute(past).fetchall()
        con.execute("SET job_engine = 'spark'")
        con.execute(f"SET spark_master = '{master}'")
        asked = _statements(shared_server)
        (run,) = con.execute("CALL system.compact('t')").fetchall()
        assert run[3] == "SUCCEEDED", run
        assert _statements(shared_server) - asked < 10, "the server did the work of the job"
        assert (con.execute(now).fetchall(), con.execute(past).fetchall()) == before
        tiers = con.execute('SELECT tier, "rows" FROM system.segments ORDER BY tier').fetchall()
        assert tiers == [("base", 16), ("history", 9)]
        assert con.session.executor.upkeep.verify().is_clean


def test_another_metastore_is_refused(
    shared_server: ThriftServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.chdir(tmp_path)
    with opening(shared_server.new_store(tmp_path), autocommit=True) as connect:
        con = connect()
        _fill(con)
        con.execute("SET job_engine = 'spark'")
        con.execute("SET spark_master = 'local[1]'")
        with pytest.raises(gateway.OperationalError, match=r"PAL-704.* has no metastore"):
            con.execute("CALL system.compact('t')")
