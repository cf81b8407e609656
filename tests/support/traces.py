"""What is left of somebody in a folder: in the bytes of its files, or in their values."""

from __future__ import annotations

from pathlib import Path

import duckdb


def holders(root: Path, token: str) -> list[str]:
    """Files with the token in their bytes, or in a value of a Parquet file."""
    found = []
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        data = path.read_bytes().lower()
        if token.lower().encode() in data:
            found.append(str(path.relative_to(root)))
        elif path.suffix in {".parquet", ".keys"}:
            rows = duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
            if any(token.lower() in str(row).lower() for row in rows):
                found.append(str(path.relative_to(root)))
    return found
