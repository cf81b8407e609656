"""A client for tests: one call per statement, rows or the row count back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gateway


class Client:
    """A connection that runs statements and gives rows, or the row count where there are none."""

    def __init__(self, place: Path | str, **options: Any) -> None:
        """Connect to a warehouse by its directory, or to any store by its URL."""
        self.root = Path(place)
        url = place if isinstance(place, str) else f"palimpsest:///{place}"
        self.connection = gateway.connect(url, **{"autocommit": True, **options})

    def __call__(self, sql: str, *parameters: Any) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, list(parameters) or None)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def sorted(self, sql: str) -> list[Any]:
        """Rows in order."""
        return sorted(self(sql), key=str)

    def error(self, sql: str) -> tuple[str, str]:
        """Code and SQLSTATE of the error that a statement raises."""
        with pytest.raises(gateway.Error) as raised:
            self(sql)
        return raised.value.code, raised.value.sqlstate

    def files(self) -> list[Path]:
        """The segment files on disk."""
        return sorted(self.root.glob("*/*/*/*.parquet"))

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
