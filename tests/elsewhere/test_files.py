"""Files with URLs: COPY, import, export and packages, on a server that speaks S3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gateway
from journal.files.object_storage import Folder, local_copy_of
from journal.model.errors import PalimpsestError
from tests.support.client import Client
from tests.support.prompt import palimpsest
from tests.support.relay import Relay
from tests.support.s3 import Cutting, Server, let_in, objects

ROWS = [(1, "a"), (2, None), (3, 'x,"y"')]


@pytest.fixture
def table(run: Client) -> Client:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR) WITH (erasure = 'name AS nick')")
    for row in ROWS:
        run("INSERT INTO t VALUES (?, ?)", *row)
    return run


@pytest.mark.first(2)
@pytest.mark.parametrize("file", ["t.parquet", "deep/down/t.csv", "t.json", "t.csv.gz"])
def test_copy_goes_there_and_comes_back(
    table: Client, server: Server, bucket: str, file: str
) -> None:
    assert table(f"COPY t TO 's3://{bucket}/{file}'") == 3
    assert objects(server, bucket) == [file]
    table("CREATE TABLE again (id INTEGER PRIMARY KEY, name VARCHAR)")
    assert table(f"COPY again FROM 's3://{bucket}/{file}'") == 3
    assert table.sorted("SELECT * FROM again") == sorted(ROWS, key=str)
    table("DELETE FROM again")
    table(f"COPY (SELECT 9 AS id, 'new' AS name) TO 's3://{bucket}/{file}'")
    assert table(f"COPY again FROM 's3://{bucket}/{file}'") == 1, "read anew each time"


def test_files_of_this_machine_may_have_a_url(table: Client, tmp_path: Path) -> None:
    table(f"COPY t TO 'file://{tmp_path}/t.parquet'")
    table("DELETE FROM t")
    assert table(f"COPY t FROM 'file://{tmp_path}/t.parquet'") == 3
    assert table.error(f"COPY t TO 'file://{table.root}/t.parquet'") == ("PAL-507", "58P01")


def test_import_export_and_packages(table: Client, bucket: str, tmp_path: Path) -> None:
    table.close()
    done = palimpsest(table.root, "export", "t", f"s3://{bucket}/t.parquet", "--json")
    assert json.loads(done.stdout)["rows"] == 3, done.stderr
    source = f"s3://{bucket}/t.parquet"
    done = palimpsest(table.root, "import", source, "u", "--create", "--key", "id")
    assert "3 rows" in done.stdout, done.stderr
    package = f"s3://{bucket}/ada.package"
    done = palimpsest(table.root, "access", "create", "--subject", "nick=a", package)
    assert done.exit_code == 0, done.stderr
    done = palimpsest(table.root, "access", "open", package, "--to", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert '"name": "a"' in (tmp_path / "out" / "main.t.jsonl").read_text()
    people = tmp_path / "ids.csv"
    people.write_text("nick\na\n")
    options = ["-o", f"subjects={people}", "-o", f"to=s3://{bucket}/packages"]
    done = palimpsest(table.root, "job", "access", "t", *options, "--json")
    assert done.exit_code == 0, done.stderr + done.stdout
    assert f"s3://{bucket}/packages/main.t-" in done.stdout


def test_a_folder_of_files_is_refused(table: Client, bucket: str) -> None:
    sql = f"COPY t TO 's3://{bucket}/t' (FORMAT parquet, PARTITION_BY (id))"
    assert table.error(sql) == ("PAL-110", "0A000")


NO_PLACES = [
    "memory://t.csv",
    "memory:////t.csv",
    "memory:/t.csv",
    "s3:/bucket/t.csv",
    "s3:///t.csv",
    "simplecache::s3://b/t.csv",
    "nosuch://b/t.csv",
    "no-such.scheme://b/t.csv",
    "no such://b/t.csv",
    "://t.csv",
    "data://t.csv",
]


@pytest.mark.first(1)
@pytest.mark.parametrize("url", NO_PLACES)
def test_what_is_no_place_is_refused(
    table: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """Nothing is written into a folder of this machine that is called like a scheme."""
    monkeypatch.chdir(tmp_path)
    known = set(tmp_path.iterdir())
    for sql in (
        f"COPY t TO '{url}'",
        f"COPY t TO '{url}' (FORMAT parquet, PARTITION_BY (id))",
        f"COPY t FROM '{url}'",
        f"CALL system.backup('t', to => '{url}')",
        f"CALL system.restore('t', from => '{url}')",
    ):
        assert table.error(sql)[0] in {"PAL-507", "PAL-604", "PAL-110"}, sql
    table.close()
    people = tmp_path / "ids.csv"
    people.write_text("nick\na\n")
    for words in (
        ("export", "t", url),
        ("import", url, "t"),
        ("access", "create", "--subject", "nick=a", url),
        ("access", "open", str(people), "--to", url),
        ("job", "access", "t", "-o", f"subjects={people}", "-o", f"to={url}"),
        ("eject", "t", "--to", url),
        ("adopt", "u", "--key", "id", "--from", url),
        ("init", url),
        ("demo", "--warehouse", url),
    ):
        assert palimpsest(table.root, *words).exit_code != 0, words
    with pytest.raises(gateway.Error):
        gateway.connect(f"palimpsest:///{url}")
    assert set(tmp_path.iterdir()) == known | {people}


def test_a_warehouse_elsewhere_is_refused_with_advice(tmp_path: Path) -> None:
    for url in ("s3://bucket/warehouse", "webhdfs://host:9870/w", "palimpsest:///s3://bucket/w"):
        done = palimpsest(tmp_path, "init", url)
        assert done.exit_code != 0
        assert "a folder of this machine" in done.stderr
        assert "system.backup" in done.stderr


def test_a_missing_bucket_is_not_made(table: Client, server: Server, bucket: str) -> None:
    with pytest.raises(gateway.Error, match="no such file, folder or bucket") as raised:
        table("COPY t TO 's3://no-such-bucket/t.parquet'")
    assert raised.value.code == "PAL-507"
    assert table.error(f"COPY t FROM 's3://{bucket}/nothing.parquet'") == ("PAL-507", "58P01")
    names = [b["Name"] for b in server.client().list_buckets()["Buckets"]]
    assert "no-such-bucket" not in names


def test_wrong_credentials_are_told_and_not_shown(
    table: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_in(server, monkeypatch, key="AKIAWRONG")
    for sql in (f"COPY t TO 's3://{bucket}/t.csv'", f"COPY t FROM 's3://{bucket}/t.csv'"):
        with pytest.raises(gateway.Error, match="does not accept the credentials") as raised:
            table(sql)
        assert "AKIAWRONG" not in str(raised.value)
        assert raised.value.__cause__ is None or "AKIAWRONG" not in str(raised.value.__cause__)
    let_in(server, monkeypatch)
    assert objects(server, bucket) == []


def test_a_login_in_a_url_is_not_shown(table: Client) -> None:
    with pytest.raises(gateway.Error) as raised:
        table("COPY t TO 'ftp://ada:hunter2@127.0.0.1:9/t.csv'")
    assert "hunter2" not in str(raised.value)
    assert "ftp://127.0.0.1:9" in str(raised.value)


def test_a_server_that_is_not_there(
    table: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Relay(server.port)
    relay.refuses = True
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    with pytest.raises(gateway.Error, match="cannot be reached") as raised:
        table(f"COPY t TO 's3://{bucket}/t.csv'")
    assert raised.value.code == "PAL-507"


def test_cut_in_the_middle_nothing_half_is_seen(
    table: Client, server: Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = Cutting(server.port)
    let_in(server, monkeypatch, url=f"http://127.0.0.1:{relay.port}")
    table("INSERT INTO t SELECT i, md5(i::VARCHAR) FROM range(10, 200000) r(i)")
    relay.word = b"PAR1"
    assert table.error(f"COPY t TO 's3://{bucket}/t.parquet' (FORMAT parquet)")[0] == "PAL-507"
    assert relay.refuses, "it was cut when the first bytes of the file came by"
    assert objects(server, bucket) == []


def test_a_draft_does_not_stay_where_names_can_change(tmp_path: Path) -> None:
    place = f"{tmp_path}/there"
    folder = Folder(f"file://{place}")
    source = tmp_path / "source"
    source.write_text("whole")
    folder.put(source, "a/b")
    assert [p.name for p in (tmp_path / "there" / "a").iterdir()] == ["b"]
    assert (folder.read("a/b"), folder.size("a/b"), folder.size("a/c")) == (b"whole", 5, None)
    with pytest.raises(PalimpsestError, match="PAL-507"):
        folder.put(tmp_path / "missing", "a/c")
    folder.remove("a/b")
    folder.remove("a/b")
    assert folder.read("a/b") is None


def test_a_copy_goes_with_its_block(server: Server, bucket: str) -> None:
    server.client().put_object(Bucket=bucket, Key="k", Body=b"1")
    with local_copy_of(f"s3://{bucket}/k") as path:
        assert path.read_bytes() == b"1"
    assert not path.exists()
