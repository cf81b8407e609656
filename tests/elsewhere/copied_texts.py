"""The values in copies of a server's backups, which are files of text: changed, and read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from journal.files.parquet_files import checksum


def spell(place: Path, old: str, new: str) -> None:
    """Let a copy hold another value, as if it had been changed in the store since."""
    manifest = next(place.rglob("backup.json"))
    listed = json.loads(manifest.read_text())
    for segment in listed["segments"]:
        for file in segment["files"]:
            path = manifest.parent / file["path"]
            table = pq.read_table(path)
            texts = table.column("b").to_pylist()
            if old in texts:
                values = pa.array([new if t == old else t for t in texts])
                pq.write_table(table.set_column(table.column_names.index("b"), "b", values), path)
                file |= {"bytes": path.stat().st_size, "checksum": checksum(path)}
    manifest.write_text(json.dumps(listed))


def texts_in(folder: Path) -> bytes:
    """What all values of all files are, decompressed."""
    found = b""
    for path in (p for p in folder.rglob("*") if p.is_file()):
        is_parquet = path.suffix == ".parquet"
        found += str(pq.read_table(path).to_pylist()).encode() if is_parquet else path.read_bytes()
    return found
