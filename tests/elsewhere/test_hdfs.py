"""What HDFS does in its own way: replacing files, permissions, a protocol that needs its client."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from journal.files.object_storage import Folder
from journal.model.errors import PalimpsestError
from tests.support.client import Client
from tests.support.hdfs import Hdfs

pytestmark = [pytest.mark.stores, pytest.mark.slow]


@pytest.fixture
def table(run: Client) -> Client:
    run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    run("INSERT INTO t VALUES (1)")
    return run


def test_what_may_not_be_written_is_told(table: Client, cluster: Hdfs) -> None:
    with pytest.raises(gateway.Error, match="does not accept the credentials") as raised:
        table(f"COPY t TO '{cluster.web}/closed/t.csv'")
    assert raised.value.code == "PAL-507"
    assert cluster.names("/closed") == []
    with pytest.raises(gateway.Error, match="cannot be reached"):
        table("COPY t TO 'webhdfs://127.0.0.1:9/t.csv'")


def test_hadoop_s_own_protocol_needs_its_client(table: Client, cluster: Hdfs) -> None:
    """Where that is not installed, the error names the URL that works without."""
    with pytest.raises(gateway.Error) as raised:
        table(f"COPY t TO '{cluster.native}/tests/t.csv'")
    assert raised.value.code == "PAL-604"
    assert "webhdfs://" in str(raised.value)


def test_files_are_replaced_in_one_step(cluster: Hdfs, tmp_path: Path) -> None:
    there = Folder(cluster.new_folder().url)
    source = tmp_path / "source"
    for text in ("first", "second", "", "x" * 9_000_000):
        source.write_text(text)
        there.put(source, "a/b")
        assert there.read("a/b") == text.encode()
        assert there.names() == ["a/b"]
    target = tmp_path / "target"
    there.fetch("a/b", target)
    assert target.read_bytes() == source.read_bytes()
    with pytest.raises(PalimpsestError, match="PAL-507"):
        there.put(tmp_path / "missing", "a/c")
    there.remove("a/b")
    there.remove("a/b")
    assert (there.read("a/b"), there.size("a/b"), there.names()) == (None, None, [])
