"""Files and backups on HDFS, over WebHDFS, on Google Cloud Storage and on Azure's blobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.away import Away
from tests.support.azure import azurite, new_container
from tests.support.client import Client
from tests.support.gcs import emulator, new_bucket
from tests.support.hdfs import Hdfs
from tests.support.prompt import palimpsest
from tests.support.traces import holders

pytestmark = pytest.mark.stores

ROWS = [(1, "a"), (2, None), (3, 'x,"y"')]
TOKEN = "Qz7-unmistakable-Xk9"


@pytest.fixture(scope="session")
def google() -> Iterator[str]:
    """The server's address."""
    with emulator() as address:
        yield address


@pytest.fixture(scope="session")
def azure() -> Iterator[str]:
    """How the server is connected to."""
    with azurite() as connection:
        yield connection


@pytest.fixture(params=[pytest.param("webhdfs", marks=pytest.mark.slow), "gs", "az"])
def away(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Away:
    """A folder that nobody used yet, in each of the stores."""
    if request.param == "webhdfs":
        cluster: Hdfs = request.getfixturevalue("cluster")
        return cluster.new_folder()
    if request.param == "az":
        connection: str = request.getfixturevalue("azure")
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        return new_container(connection)
    address = request.getfixturevalue("google")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
    return new_bucket(address)


@pytest.fixture
def table(run: Client) -> Client:
    run("SET job_engine = 'local'")
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR) WITH (erasure = 'name AS nick')")
    for row in ROWS:
        run("INSERT INTO t VALUES (?, ?)", *row)
    return run


@pytest.mark.parametrize("file", ["t.parquet", "deep/down/t.csv"])
def test_copy_goes_there_and_comes_back(table: Client, away: Away, file: str) -> None:
    url = f"{away.url}/{file}"
    assert table(f"COPY t TO '{url}'") == 3
    assert away.names() == [file]
    table("CREATE TABLE again (id INTEGER PRIMARY KEY, name VARCHAR)")
    assert table(f"COPY again FROM '{url}'") == 3
    assert table.sorted("SELECT * FROM again") == sorted(ROWS, key=str)
    table("DELETE FROM again")
    table(f"COPY (SELECT 9 AS id, 'new' AS name) TO '{url}'")
    assert away.names() == [file], "it takes the place of the file that was there"
    assert table(f"COPY again FROM '{url}'") == 1
    assert table.error(f"COPY t FROM '{url}x'") == ("PAL-507", "58P01")


def test_import_export_and_packages(table: Client, away: Away, tmp_path: Path) -> None:
    table.close()
    place = f"{away.url}"
    people = tmp_path / "ids.csv"
    people.write_text("nick\na\n")
    opened = tmp_path / "out"
    options = ["-o", f"subjects={people}", "-o", f"to={place}/packages"]
    for words in (
        ["export", "t", f"{place}/t.parquet"],
        ["import", f"{place}/t.parquet", "u", "--create", "--key", "id"],
        ["access", "create", "--subject", "nick=a", f"{place}/ada.package"],
        ["access", "open", f"{place}/ada.package", "--to", str(opened)],
        ["job", "access", "t", *options],
    ):
        assert palimpsest(table.root, *words).exit_code == 0, words
    assert '"name": "a"' in (opened / "main.t.jsonl").read_text()
    assert [n.partition("-")[0] for n in away.names()] == [
        "ada.package",
        "packages/main.t",
        "t.parquet",
    ]


def test_a_backup_is_restored_and_followed_by_an_erasure(
    table: Client, away: Away, tmp_path: Path
) -> None:
    table("INSERT INTO t VALUES (4, ?)", TOKEN)
    place = f"{away.url}"
    table(f"CALL system.backup('t', name => 'far', to => '{place}')")
    assert holders(away.fetch(tmp_path / "before"), TOKEN) != []
    table("UPDATE t SET name = 'lost' WHERE id = 2")
    table("CALL system.verify('t', copies => true)")
    table("ERASE FROM t WHERE id = 4")
    table("CALL system.purge('t')")
    assert holders(away.fetch(tmp_path / "after"), TOKEN) == []
    table("CALL system.verify('t', copies => true)")
    table("CALL system.restore('t', backup => 'far')")
    assert table.sorted("SELECT * FROM t") == sorted(ROWS, key=str)
    other = Client(tmp_path / "other")
    other("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR)")
    other(f"CALL system.restore('t', from => '{place}/main.t/far')")
    assert other.sorted("SELECT * FROM t") == sorted(ROWS, key=str)
    other.close()
    table("CALL system.backup('t', name => 'far', drop => true)")
    assert away.names() == []
