"""What a metastore says of a relation, asked in Spark's way or in Apache Hive's. Reads only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.connection import HiveConnection
from journal.stores.hive.engine import HiveEngine
from journal.stores.hive.text import written

_FORMATS = ("orc", "parquet")
_DETAILS, _PARTITIONS, _STORAGE, _VIEW = (
    f"# {part} Information" for part in ("Detailed Table", "Partition", "Storage", "View")
)
_GIVEN_OTHER_NAMES = {"timestamp": "timestamp_ntz"}
"""Types of Hive that Spark's names mean otherwise."""


@dataclass(frozen=True, slots=True)
class Described:
    """A relation; types are Spark's text, and ``format`` is parquet, orc or another's name."""

    columns: tuple[tuple[str, str], ...]
    partitioned: tuple[str, ...]
    bucketed: tuple[str, ...]
    buckets: int
    location: str
    is_table: bool
    is_external: bool
    format: str
    properties: Mapping[str, str]
    view_text: str


def described(connection: HiveConnection, place: exp.Table) -> Described | None:
    """What there is of a name; None where the metastore has none."""
    asked = _of_apache if connection.engine is HiveEngine.APACHE else _of_spark
    try:
        return asked(connection, written(place))
    except PalimpsestError as error:
        if error.code in {Code.UNKNOWN_TABLE, Code.UNKNOWN_SCHEMA}:
            return None
        raise


def _of_spark(connection: HiveConnection, place: str) -> Described:
    ((text,),) = connection.run(f"DESCRIBE TABLE EXTENDED {place} AS JSON")
    columns = _columns(connection.run(f"DESCRIBE TABLE {place}"))
    told: dict[str, Any] = json.loads(text)
    provider = str(told.get("provider", "")).lower()
    return Described(
        tuple(columns),
        tuple(told.get("partition_columns", ())),
        tuple(told.get("bucket_columns", ())),
        int(told.get("num_buckets") or 0),
        told.get("location", ""),
        told.get("type") in {"MANAGED", "EXTERNAL"},
        told.get("type") == "EXTERNAL",
        _format(str(told.get("serde_library", ""))) if provider == "hive" else provider,
        told.get("table_properties", {}),
        told.get("view_text", ""),
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


def _of_apache(connection: HiveConnection, place: str) -> Described:
    rows = connection.run(f"DESCRIBE FORMATTED {place}")
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
    return Described(
        tuple((n, _GIVEN_OTHER_NAMES.get(k, k)) for n, k in (*_columns(rows), *partitions)),
        tuple(name for name, _ in partitions),
        tuple(name.strip() for name in into.split(",") if name.strip()),
        max(int(storage.get("Num Buckets", "0")), 0),
        details.get("Location", ""),
        kind in {"MANAGED_TABLE", "EXTERNAL_TABLE"},
        kind == "EXTERNAL_TABLE",
        _format(library),
        properties,
        _named(sections.get(_VIEW, [])).get("Expanded Query", ""),
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
