"""Finds the keys in which two states of a table differ, range by range.

Of each state only keys and versions are read: rows of one version are the same. A unit looks at one
range of keys, in a database of its own in memory; the keys it finds are a file. So whoever restores
a large table joins the rows that differ, not the table. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlglot import exp

from journal.files.memory import memory_session
from journal.files.parquet_files import write_parquet
from journal.files.staging import attempt, attempt_id
from journal.local_engine.layout import refresh_tiers
from journal.local_engine.session import DuckDBSession
from journal.model.catalog import change_from_json, change_to_json
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import STORE_SCHEMA, PutRelation, Query
from journal.model.schema import Table
from journal.model.segment import Manifest
from journal.sql.relations import Output, Reader, column, ident
from journal.stores.embedded.journal import Journal
from spark_compaction.contract import Engine, Progress
from spark_compaction.programs.key_ranges import KeyColumn

UNIT = "spark_compaction.programs.differences:find"
_ROWS = 2_000_000
"""About how many rows of either state a unit looks at."""
_OPTIONS = {
    "COMPRESSION": "lz4_raw",
    "ROW_GROUPS_PER_FILE": "8",
    # The folder of an attempt is there before its files are.
    "OVERWRITE_OR_IGNORE": "true",
}


@dataclass(frozen=True, slots=True)
class States:
    """Two states of a table, sealed, the other one shown under an id of its own."""

    table: Table
    now: Manifest
    shown: Table
    then: Manifest

    @property
    def rows(self) -> int:
        """Journal rows of the larger one."""
        return max(sum(s.counts.total for s in m.segments) for m in (self.now, self.then))


def differing(
    journal: Journal, states: States, folder: str, engine: Engine, progress: Progress
) -> list[str]:
    """Files of the keys whose rows differ, written into a folder that is open."""

    def advance(_function: str, done: int, total: int) -> None:
        progress("compare", done, total)

    units = [
        {
            "root": str(journal.root),
            "table": change_to_json(PutRelation(states.table)),
            "shown": states.shown.id,
            "now": states.now.to_json(),
            "then": states.then.to_json(),
            "low": low,
            "high": high,
            "folder": folder,
        }
        for low, high in pairwise(_ends(journal, states))
    ]
    return [path for found in engine.map(UNIT, units, advance) for path in found]


def _ends(journal: Journal, states: States) -> list[str | None]:
    """Where the ranges of the units begin and end; None is before and behind all keys."""
    parts = -(-states.rows // _ROWS)
    with journal.reading_session() as session:
        keys = KeyColumn.of(session, journal.root, states.table)
        if keys is None or parts < 2:
            return [None, None]
        files = {f.path for m in (states.now, states.then) for s in m.segments for f in s.files}
        return [None, *keys.cuts(sorted(files), None, None, parts), None]


def find(unit: Mapping[str, Any]) -> list[str]:
    """The files of keys of one range whose rows differ, relative to the warehouse."""
    root = Path(unit["root"])
    change = change_from_json(unit["table"])
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    table = change.relation
    with memory_session(root, unit["folder"], unit.get("settings")) as session:
        create = exp.Create(this=exp.to_table(STORE_SCHEMA), kind="SCHEMA", exists=True)
        session.execute(Query(create, ()), {})
        sides = [
            _side(session, replace(table, id=number), Manifest.from_json(manifest), root, unit)
            for number, manifest in ((table.id, unit["now"]), (unit["shown"], unit["then"]))
        ]
        key = table.key
        version = table.format.version_column
        outputs = [
            exp.alias_(exp.Coalesce(this=column(k, "n"), expressions=[column(k, "t")]), ident(k))
            for k in key
        ]
        same = exp.and_(*[exp.EQ(this=column(k, "n"), expression=column(k, "t")) for k in key])
        rows = exp.select(*outputs).from_(sides[0].subquery("n"))
        rows = rows.join(sides[1].subquery("t"), on=same, join_type="full")
        rows = rows.where(
            exp.NullSafeNEQ(this=column(version, "n"), expression=column(version, "t"))
        )
        with attempt(root, unit["folder"]) as place:
            options = {**_OPTIONS, "FILENAME_PATTERN": f"part_{attempt_id(place)}_{{i}}"}
            written = write_parquet(session, Query(rows, ()), {}, root, place, options, None)
    return [f"{unit['folder']}/{Path(f.path).name}" for f in written if f.rows]


def _side(
    session: DuckDBSession, table: Table, manifest: Manifest, root: Path, unit: Mapping[str, Any]
) -> exp.Select:
    """Keys and versions of one state's rows, within the unit's range."""
    refresh_tiers(session, table, manifest, root)
    names = [*table.key, table.format.version_column]
    outputs: list[Output] = [(column(name), name) for name in names]
    tiers = frozenset(s.tier for s in manifest.segments)
    rows = exp.select("*").from_(Reader(table, tiers).current(outputs).subquery("s"))
    keys = KeyColumn.of(session, root, table)
    return rows if keys is None else rows.where(*keys.between(unit["low"], unit["high"]))
