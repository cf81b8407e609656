"""Random upkeep of the tables of a program: jobs between its statements, and how its tables lie.

No job changes an answer, but for what it is asked to: a retention removes the rows past their date,
and a restore brings back the rows of a backup. What the oracle does in their place stands in the
step. Knows no engine; which jobs there are is said by an ``Upkeep``.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.support.programs.step import Adoption, Step
from tests.support.programs.tables import SCHEMA, Column, Kind, Table

Layout: TypeAlias = Literal["tiered", "timestamp", "bigint"]
LAYOUTS: tuple[Layout, ...] = ("tiered", "timestamp", "bigint")

_SPLIT_BY: frozenset[Kind] = frozenset({"int", "text", "decimal", "bool", "date", "timestamp"})
"""Kinds of columns that a table may be partitioned by."""
_DATED = {"date": "DATE", "timestamp": "TIMESTAMP"}
"""Kinds of columns by which rows are retained, and the words before their literals."""
_RETAINED_AT, _RETAINED_FROM = "2024-01-31 00:00:00", "2024-01-01"
"""When a retention of 30 days is said to run, and the first day whose rows it leaves."""
_JOURNAL_TYPES = {"DOUBLE": "DOUBLE PRECISION", "BLOB": "BYTEA", "HUGEINT": "DECIMAL(39, 0)"}
_NOT_IN_JOURNALS: frozenset[Kind] = frozenset({"struct"})


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Which jobs a store has, its modes of compaction, and how the tables of programs are to lie.

    Of the layouts, ``timestamp`` and ``bigint`` are classic journals of versions of that type,
    which are there before they are adopted.
    """

    modes: tuple[str, ...] = ("major", "minor")
    jobs: tuple[str, ...] = ("compact",)
    layout: Layout = "tiered"


@dataclass(slots=True)
class Keeper:
    """Makes upkeep, and remembers the backups that were made."""

    rng: random.Random
    upkeep: Upkeep
    _backups: list[tuple[str, Table]] = field(default_factory=list)

    def created(self, table: Table) -> list[Step]:
        """What creates a table, and has it lie as the upkeep says."""
        if self.upkeep.layout == "tiered":
            return [Step(table.ddl()), *_partitions(self.rng, table)]
        if not table.key or any(c.kind in _NOT_IN_JOURNALS for c in table.columns):
            return [Step(table.ddl())]
        return _adopted(table, self.upkeep.layout)

    def job(self, tables: Sequence[Table]) -> list[Step]:
        """A job on one of the tables, which no transaction surrounds."""
        table = self.rng.choice(tables)
        made = _JOBS[self.rng.choice(self.upkeep.jobs)](self, table)
        return made or self.compact(table)

    def compact(self, table: Table) -> list[Step]:
        """A compaction in one of the store's modes."""
        mode = self.rng.choice(("", *(f", mode => '{m}'" for m in self.upkeep.modes)))
        return [_call("compact", table, mode)]

    def purge(self, table: Table) -> list[Step]:
        """A purge, which finds nothing to erase."""
        return [_call("purge", table)]

    def vacuum(self, table: Table) -> list[Step]:
        """The end of what was replaced long ago, which is nothing."""
        return [Step(f"VACUUM {table.reference}", upkeep=True)]

    def retain(self, table: Table) -> list[Step]:
        """The rows go whose date lies before a day, in every version."""
        dated = [c for c in table.columns if c.kind in _DATED]
        if not dated:
            return []
        column = self.rng.choice(dated)
        bound = f"{_DATED[column.kind]} '{_RETAINED_FROM}'"
        gone = f"DELETE FROM {table.reference} WHERE {column.name} < {bound}"
        policy = f"ALTER TABLE {table.reference} SET POLICY (RETENTION = 30 DAYS ON COLUMN"
        return [
            Step(f"{policy} {column.name})", upkeep=True),
            _call("retain", table, f", now => '{_RETAINED_AT}'", instead=(gone,), removes=True),
            Step(f"ALTER TABLE {table.reference} UNSET POLICY (RETENTION)", upkeep=True),
        ]

    def backup(self, table: Table) -> list[Step]:
        """A named backup, and a mark by which the oracle knows what it holds."""
        name = f"b{len(self._backups)}"
        self._backups.append((name, table))
        return [Step(f"-- {name}", mark=name), _call("backup", table, f", name => '{name}'")]

    def restore(self, table: Table) -> list[Step]:
        """A backup of the table as it is defined now comes back."""
        kept = [name for name, then in self._backups if then == table]
        if not kept:
            return self.backup(table)
        name = self.rng.choice(kept)
        names = ", ".join(column.name for column in table.columns)
        back = f"INSERT INTO {table.reference} ({names}) SELECT {names} FROM"
        instead = (f"DELETE FROM {table.reference}", f"{back} {table.at(name).reference}")
        return [_call("restore", table, f", backup => '{name}'", instead=instead)]


_JOBS: dict[str, Callable[[Keeper, Table], list[Step]]] = {
    "compact": Keeper.compact,
    "purge": Keeper.purge,
    "vacuum": Keeper.vacuum,
    "retain": Keeper.retain,
    "backup": Keeper.backup,
    "restore": Keeper.restore,
}
ALL_JOBS = ("compact", "compact", "purge", "vacuum", "retain", "backup", "restore", "restore")
"""Jobs of a store that has them all; some are made more often."""


def _call(
    job: str,
    table: Table,
    more: str = "",
    *,
    instead: tuple[str, ...] = (),
    removes: bool = False,
) -> Step:
    sql = f"CALL system.{job}('{table.reference}'{more})"
    return Step(sql, upkeep=True, instead=instead, removes=removes)


def _partitions(rng: random.Random, table: Table) -> list[Step]:
    """What gives a table partitions or buckets; nothing for some tables."""
    columns = [column.name for column in table.columns if column.kind in _SPLIT_BY]
    if not columns or rng.random() < 0.3:
        return []
    name = rng.choice(columns)
    how = rng.choice((f"LIST ({name})", f"LIST ({name})", f"HASH ({name}) INTO 2"))
    return [Step(f"ALTER TABLE {table.reference} SET (partitions = '{how}')", upkeep=True)]


def _adopted(table: Table, versions: str) -> list[Step]:
    """A classic journal that was there before, adopted; what it does not say is told afterwards."""
    bare = table.name.strip('"')
    parts = [_in_journal(column, table.key) for column in table.columns]
    parts += [f"version_number {versions} NOT NULL", f"subsequent_version_number {versions}"]
    journal = f'CREATE TABLE {SCHEMA}."{bare}_journal" ({", ".join(parts)})'
    rules = [f"ADD UNIQUE ({', '.join(unique)})" for unique in table.uniques]
    for column in table.columns:
        if column.default:
            rules.append(f"ALTER COLUMN {column.name} SET DEFAULT {column.default}")
        if column.check:
            rules.append(f"ADD CHECK ({column.check})")
    key = tuple(name.strip('"') for name in table.key)
    return [
        Step(table.ddl(), adoption=Adoption(journal, f"{SCHEMA}.{bare}", key)),
        *(Step(f"ALTER TABLE {table.reference} {rule}", upkeep=True) for rule in rules),
    ]


def _in_journal(column: Column, key: tuple[str, ...]) -> str:
    """A column of a journal, as the server's own SQL creates it."""
    name = column.name.strip('"')
    kind = _JOURNAL_TYPES.get(column.type_name, column.type_name)
    return f'"{name}" {kind}' + (" NOT NULL" if column.not_null or column.name in key else "")
