"""What a store can do, as one value that is fixed while its journals are open. Pure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table


def _no_lag(_table: Table) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What statements, jobs and front ends may ask of a store, instead of asking which it is.

    - ``raises_in_sql``: a query can fail on purpose, by a function ``error``.
    - ``foreign_keys``: commits check them against what others did.
    - ``expands_lists``: SQL looks into the lists of a value.
    - ``accesses_files``: it reads and writes files of this machine; else the gateway does.
    - ``folder``: the one of this machine that holds the journals, None where a server holds them.
    - ``collations``: texts compare and sort by other orders than that of their bytes.
    - ``equates_texts``: a collation may call texts equal whose bytes differ.
    - ``enums``: columns and casts of a type with values in an order.
    - ``enums_are_texts``: beside a text, another enum or an operator of texts an enum is a text.
    - ``addresses``: columns and casts of the types inet and cidr.
    - ``addresses_are_texts``: it keeps these as texts, in whose order they are not.
    - ``inline_commits``: small commits may stay in its catalog until a flush, as a table asks for.
      Readers past the gateway then lag by at most ``lag_ms`` milliseconds; None: by none.
    - ``access_control``: changes of roles and grants enter an audit log in their commit.
    - ``fences_by_offset``: a query with OFFSET 0 is what the optimizer moves no condition into;
      else it moves none below one that calls a random number.
    - ``plans_unions_apart``: the optimizer orders the joins below a UNION ALL by themselves, and
      knows of the whole how many rows and different values it has.
    - ``indexes_endings``: a head has an index of the rows that are not open, found without reading
      the others; and the planner takes a union for one relation if no part has a condition.
    - ``analyzes``: its optimizer goes by what it saw when it looked at a table, as ANALYZE asks.
    - ``counts_rows``: what is on record of a table tells how many rows it has, since nobody else
      can write it.
    - ``replicates_to``: how the URLs begin of stores that can have replicas of its tables.
    - ``postgres_functions``: it is PostgreSQL: functions, operators and numbers of its dialect mean
      what they mean there, and a NUMERIC without digits has as many as a number needs.
    - ``divides_by_type``: ``//`` divides whole numbers as such and others as they are, and fails at
      a division by zero, as ``/`` does in PostgreSQL.
    - ``joins_in_place``: a star over JOIN .. USING has the columns that are joined where the first
      table has them; else before all others.
    - ``names_outputs``: it calls a result column without an alias as DuckDB calls it.
    - ``rounds_seconds``: it computes moments to a microsecond, and so those with fewer digits.
    - ``normalizes_json``: it writes JSON with keys in one order and without blanks.
    - ``scalar_json``: a number or a text alone becomes JSON, and such JSON is a part of other JSON.
    - ``skips_locked``: SKIP LOCKED leaves out what other transactions hold, in all processes.
    - ``lists_rows``: it looks a row up in a long list of rows at once, and is slow to read as many
      conditions joined by OR.
    - ``column_name``: what journals call a new column; the same, unless the store lacks the name.
    """

    raises_in_sql: bool = True
    foreign_keys: bool = True
    expands_lists: bool = True
    collations: bool = False
    equates_texts: bool = False
    enums: bool = False
    enums_are_texts: bool = False
    addresses: bool = False
    addresses_are_texts: bool = False
    inline_commits: bool = False
    lag_ms: Callable[[Table], int | None] = _no_lag
    accesses_files: bool = False
    access_control: bool = False
    fences_by_offset: bool = False
    plans_unions_apart: bool = False
    indexes_endings: bool = False
    analyzes: bool = False
    counts_rows: bool = False
    replicates_to: tuple[str, ...] = ()
    postgres_functions: bool = False
    divides_by_type: bool = False
    joins_in_place: bool = False
    names_outputs: bool = False
    rounds_seconds: bool = False
    normalizes_json: bool = False
    scalar_json: bool = True
    skips_locked: bool = False
    lists_rows: bool = False
    folder: Path | None = None
    column_name: Callable[[str], str] = str
