"""What a metastore says of a relation, asked in Spark's way or in Apache Hive's. Reads only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.stores.hive.client.connection import HiveConnection
from journal.stores.hive.dialect.text import engine_text
from journal.stores.hive.engine import HiveEngine

MARK = "palimpsest.stands_for"
"""Property of a table that the gateway gave another name: the name it stands for."""
_FORMATS = ("orc", "parquet")
_DETAILS, _PARTITIONS, _STORAGE, _VIEW = (
    f"# {part} Information" for part in ("Detailed Table", "Partition", "Storage", "View")
)
_GIVEN_OTHER_NAMES = {"timestamp": "timestamp_ntz"}
"""Types of Hive that Spark's names mean otherwise."""


@dataclass(frozen=True, slots=True)
class MetastoreTable:
    """A relation of the metastore; types are Spark's text.

    ``format`` is parquet, orc or another's name. ``place`` has no database where the relation is
    one of the connection's own.
    """

    place: exp.Table
    columns: tuple[tuple[str, str], ...]
    location: str
    is_external: bool
    format: str
    partitioned: tuple[str, ...] = ()
    bucketed: tuple[str, ...] = ()
    buckets: int = 0
    is_table: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    view_text: str = ""

    @property
    def database(self) -> str:
        """The database it is in."""
        return self.place.db

    @property
    def name(self) -> str:
        """Its name in the database."""
        return self.place.name

    @property
    def mark(self) -> str | None:
        """What it is called while the gateway does not look after it."""
        return self.properties.get(MARK)

    @property
    def display_name(self) -> str:
        """The table, for people, by the name it has when the gateway does not look after it."""
        return f"{self.database}.{self.mark or self.name}" if self.database else self.location

    @property
    def is_readable(self) -> bool:
        """True for files that Spark reads without anybody's transaction log."""
        return self.is_table and self.format in _FORMATS


def relation_at(connection: HiveConnection, place: exp.Table) -> MetastoreTable | None:
    """What the metastore says of a relation; None where it has none of that name."""
    asked = _of_apache if connection.engine is HiveEngine.APACHE else _of_spark
    try:
        return asked(connection, place)
    except PalimpsestError as error:
        if error.code in {Code.UNKNOWN_TABLE, Code.UNKNOWN_SCHEMA}:
            return None
        raise


def _of_spark(connection: HiveConnection, place: exp.Table) -> MetastoreTable:
    ((text,),) = connection.run(f"DESCRIBE TABLE EXTENDED {engine_text(place)} AS JSON")
    columns = _columns(connection.run(f"DESCRIBE TABLE {engine_text(place)}"))
    told: dict[str, Any] = json.loads(text)
    provider = str(told.get("provider", "")).lower()
    return MetastoreTable(
        place,
        columns=tuple(columns),
        location=told.get("location", ""),
        is_external=told.get("type") == "EXTERNAL",
        format=_format(str(told.get("serde_library", ""))) if provider == "hive" else provider,
        partitioned=tuple(told.get("partition_columns", ())),
        bucketed=tuple(told.get("bucket_columns", ())),
        buckets=int(told.get("num_buckets") or 0),
        is_table=told.get("type") in {"MANAGED", "EXTERNAL"},
        properties=told.get("table_properties", {}),
        view_text=told.get("view_text", ""),
    )


def _columns(rows: Iterable[Sequence[Any]]) -> list[tuple[str, str]]:
    """Columns up to the first line that is none."""
    found: list[tuple[str, str]] = []
    for name, kind, *_ in rows:
        if not name or str(name).startswith("# "):
            break
        found.append((str(name), str(kind)))
    return found


def _format(library: str) -> str:
    lowered = library.lower()
    return next((f for f in _FORMATS if f".{f}." in lowered), lowered)


def _of_apache(connection: HiveConnection, place: exp.Table) -> MetastoreTable:
    rows = connection.run(f"DESCRIBE FORMATTED {engine_text(place)}")
    sections = _sections(rows)
    partitions = _columns(sections.get(_PARTITIONS, [])[1:])
    details, storage = _named(sections.get(_DETAILS, [])), _named(sections.get(_STORAGE, []))
    properties = {
        str(key).strip(): str(value).strip()
        for name, key, value in sections.get(_DETAILS, [])
        if not str(name).strip() and key and value is not None
    }
    kind = details.get("Table Type", "")
    is_transactional = properties.get("transactional", "").lower() == "true"
    library = "transactional" if is_transactional else storage.get("SerDe Library", "")
    into = storage.get("Bucket Columns", "").strip("[]")
    return MetastoreTable(
        place,
        columns=tuple((n, _GIVEN_OTHER_NAMES.get(k, k)) for n, k in (*_columns(rows), *partitions)),
        location=details.get("Location", ""),
        is_external=kind == "EXTERNAL_TABLE",
        format=_format(library),
        partitioned=tuple(name for name, _ in partitions),
        bucketed=tuple(name.strip() for name in into.split(",") if name.strip()),
        buckets=max(int(storage.get("Num Buckets", "0")), 0),
        is_table=kind in {"MANAGED_TABLE", "EXTERNAL_TABLE"},
        properties=properties,
        view_text=_named(sections.get(_VIEW, [])).get("Expanded Query", ""),
    )


def _sections(rows: Iterable[Sequence[Any]]) -> dict[str, list[Sequence[Any]]]:
    """The lines below each head."""
    found: dict[str, list[Sequence[Any]]] = {}
    below: list[Sequence[Any]] = []
    for row in rows:
        head = str(row[0]).strip()
        if head.startswith("# ") and head != "# col_name":
            below = found[head] = []
        elif head or row[1]:
            below.append(row)
    return found


def _named(rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Lines of the form ``name: value``."""
    return {str(r[0]).strip().rstrip(":"): str(r[1]).strip() for r in rows if r[0] and r[1]}
