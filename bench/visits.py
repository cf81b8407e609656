"""A journal of many files for the benchmarks of erasures: visits of people, some in few files.

400 files by default, in one segment, as one load writes them. A ``visitor`` is in 2 % of the files
(8 of 400), an ``account`` in every 27th (15 of 400). The rest of a row is like that of any log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contenders import Gateway, fresh_gateway
from gateway.procedures.procedures import embedded
from journal.stores.embedded import warehouse
from journal.stores.embedded.journal import Journal

FILES = 400
_VECTOR = 2048
VISITOR_GROUPS = 50
ACCOUNT_GROUPS = 27
CROWD = 1200
"""At least so many accounts share the files they are in: enough for a batch of a thousand."""
DESCRIPTOR = "visitor FPP 0.001, account FPP 0.0001"
CREATE = (
    "CREATE TABLE visits (k BIGINT PRIMARY KEY, visitor VARCHAR, account VARCHAR, url VARCHAR,"
    " agent VARCHAR, price INTEGER, session VARCHAR, at TIMESTAMP, country SMALLINT,"
    f" amount DECIMAL(18,2), trace VARCHAR) WITH (erasure = '{DESCRIPTOR}')"
)
_OTHERS = (
    "'https://www.example.org/catalogue/' || (hash(i, 1) % 50000) || '/item' AS url,"
    " 'Mozilla/5.0 (X11; Linux x86_64) rv:' || (hash(i, 2) % 120) AS agent,"
    " (hash(i, 3) % 100000)::INTEGER AS price, hash(i, 4)::VARCHAR AS session,"
    " TIMESTAMP '2024-01-01' + to_seconds(i) AS at, (hash(i, 5) % 250)::SMALLINT AS country,"
    " (hash(i, 6) % 1000000)::DECIMAL(18,2) AS amount, md5((i + 7)::VARCHAR) AS trace"
)


@contextmanager
def visits(work: Path, rows_per_file: int, files: int = FILES) -> Iterator[tuple[Gateway, Journal]]:
    """A fresh warehouse with the table ``visits``."""
    kept = dict(warehouse.PARQUET_OPTIONS)
    # As many small files as a large table has large ones.
    warehouse.PARQUET_OPTIONS["ROW_GROUP_SIZE"] = str(rows_per_file)
    warehouse.PARQUET_OPTIONS["ROW_GROUPS_PER_FILE"] = "1"
    try:
        with fresh_gateway(work / "visits") as ours:
            ours.run(CREATE)
            ours.run(f"INSERT INTO visits {rows(files * rows_per_file, rows_per_file)}")
            yield ours, embedded(ours.connection.session, "the benchmark")
    finally:
        warehouse.PARQUET_OPTIONS.update(kept)


def per_file(rows: int) -> int:
    """Rows of a file when so many rows lie in the usual number of files; whole vectors."""
    return max(1, -(-rows // (FILES * _VECTOR))) * _VECTOR


def rows(count: int, rows_per_file: int) -> str:
    """The query that makes so many rows."""
    file = f"(i // {rows_per_file})"
    distinct = max(1, rows_per_file // 3)
    visitor = f"md5(({file} % {VISITOR_GROUPS} * 1000003 + hash(i) % {distinct})::VARCHAR)"
    crowd = max(CROWD, distinct)
    account = f"'acct-' || ({file} % {ACCOUNT_GROUPS}) || '-' || (hash(i, 9) % {crowd})"
    return (
        f"SELECT i AS k, {visitor} AS visitor, {account} AS account, {_OTHERS}"
        f" FROM range({count}) r(i)"
    )
