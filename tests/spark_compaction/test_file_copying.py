"""Files are copied whole or not at all, in this process and on Spark (F43)."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from journal.files.staging import open_folders
from journal.model.errors import Code, PalimpsestError
from spark_compaction.contract import Engine, silent
from spark_compaction.engines.client import SparkEngine
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs.file_copying import COPY, copy_units


def _files(tmp_path: Path, count: int = 3, size: int = 100_000) -> list[dict[str, Any]]:
    (tmp_path / "from").mkdir()
    found = []
    for number in range(count):
        content = bytes([number]) * size
        (tmp_path / "from" / f"{number}.parquet").write_bytes(content)
        found.append(
            {
                "source": str(tmp_path / "from" / f"{number}.parquet"),
                "root": str(tmp_path / "to"),
                "folder": f"s/t/{number % 2}",
                "name": f"{number}.parquet",
                "bytes": size,
                "checksum": zlib.crc32(content),
            }
        )
    (tmp_path / "to").mkdir()
    open_folders(tmp_path / "to", ["s/t/0", "s/t/1"])
    return found


def _check(engine: Engine, tmp_path: Path) -> None:
    files = _files(tmp_path)
    assert engine.map(COPY, copy_units(files, 2, None, 150_000), silent) == [100_000] * 3
    for file in files:
        copied = tmp_path / "to" / file["folder"] / file["name"]
        assert copied.read_bytes() == Path(file["source"]).read_bytes()
    damaged = {**files[0], "checksum": 1, "name": "damaged.parquet"}
    with pytest.raises(PalimpsestError) as caught:
        engine.map(COPY, copy_units([damaged], 1, None), silent)
    assert caught.value.code in {Code.SEGMENT_DAMAGED, Code.JOB_FAILED}
    assert not list((tmp_path / "to").rglob("damaged*"))


def test_f43_files_are_copied_with_their_checksums(tmp_path: Path) -> None:
    _check(LocalEngine(), tmp_path)


@pytest.mark.slow
def test_f43_files_are_copied_by_spark(tmp_path: Path, spark: SparkEngine) -> None:
    _check(spark, tmp_path)


def test_f43_no_more_bytes_a_second_are_copied_than_were_allowed(tmp_path: Path) -> None:
    files = _files(tmp_path)
    began = time.monotonic()
    LocalEngine().map(COPY, copy_units(files, 3, 1_000_000), silent)
    assert time.monotonic() - began >= 0.29
