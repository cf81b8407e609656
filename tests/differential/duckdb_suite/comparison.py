"""Runs one file of DuckDB's suite on plain DuckDB and on the gateway; says what differs.

A record counts where plain DuckDB gives what the suite says of it. Both fail: alike. The rows are
compared as text, in order where the query orders them. A file that names random values or the time
runs on a second plain DuckDB, its twin: an answer that the twin gives otherwise is left to chance.
"""

import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import duckdb
import psycopg
from psycopg.sql import SQL, Identifier

import gateway
from gateway.dbapi.connection import Connection
from tests.differential.duckdb_suite.records import Record, read_file
from tests.differential.suites.differences import FileTally, without_quotes
from tests.support.values import render

INTERNAL = {
    "EXPLAIN text": r"^\s*(EXPLAIN|PROFILE)\b",
    "ATTACH, other databases": r"^\s*(ATTACH|DETACH|USE|COPY FROM|EXPORT|IMPORT)\b"
    r"|\['storage_version'\]|\bversion_1_\d_0\.",
    "PRAGMA": r"^\s*(PRAGMA|CHECKPOINT|FORCE CHECKPOINT)\b",
    "logs and profiles": r"duckdb_(logs|profil|eviction|connection_count)|\bwrite_log\("
    r"|(en|dis)able_(logging|profil)|TRUNCATE_DUCKDB"
    r"|logging_storage|profile_attach|profiling_output|metrics_output|replay_metrics",
    "extensions and secrets": r"^\s*(INSTALL|LOAD|UPDATE EXT|(CREATE|DROP) (\w+ )*SECRET)\b",
    "storage of DuckDB": r"pragma_storage_info|pragma_database_size|duckdb_(temporary|memory|opt)"
    r"|duckdb_(variables|functions|types|keywords|extensions|secrets|log)|pragma_\w+\(|\bstats\("
    r"|\bindex_key\(|external_resource|\bread_duckdb\(|\bFROM\s+'[^']*\.db'",
    "rowid": r"\browid\b",
    "settings of the engine": r"'~/|current_setting\(|USING COMPRESSION|duckdb_prepared|"
    r"^\s*(RESET|SET)\s+(GLOBAL |SESSION |LOCAL )?(debug_|threads|memory"
    r"|disabled|max_|preserve_insertion|enable_|temp_dir|perfect|prefer_|ordered_agg|checkpoint"
    r"|wal_|pivot_|force_|explain|profil|custom_|storage|allow_|external|async|http|arrow|index_"
    r"|dynamic|merge_join|nested_loop|late_|catalog_|partitioned|write_|zstd|home|extension|auto"
    r"|immediate|streaming|experimental|operator|asof|errors|schema\b|current_transaction|logging_"
    r"|default_block|secret)",
    "states of aggregates": r"\bEXPORT_STATE\b|\bfinalize\(",
    "triggers": r"\bTRIGGER\b",
    "lists of databases": r"\bduckdb_(databases|schemas)\b",
    "aggregates in USING KEY": r"\bUSING\s+KEY\s*\([^()]*\(",
    "types that are refused": r"\bUNION\s*\(\s*\"?\w+\"?\s+\w+",
}
"""What is DuckDB's own machinery, by the text of a record."""


DOCUMENTED = {
    "conflicts are reported at COMMIT": r"^accepted\nTransactionContext Error|PAL-401\]",
    "accepted here and refused by DuckDB": r"^accepted\n"
    r"(Not implemented|Invalid type|Dependency) Error|"
    r"^accepted\n(Parser|Binder|Catalog) Error: .*(not supported|cannot use CASCADE|Unsupported|"
    r"pivot elements extracted from the data|"
    r"cannot contain|Cannot (rename|change|drop)|generated column|SUBQUERY)|"
    r"^accepted\n.*Can not create a STORED generated column",
    "limits of DuckDB's process": r"^accepted\n(Out of Memory|Permission) Error|"
    r"^accepted\n.*(expression depth limit|not supported in storage versions prior)",
    "an error ends the transaction": r"PAL-402\]",
    "self-referencing rows": r"^accepted\nConstraint Error: Violates foreign key",
    "nested schemas": r"a schema inside of a schema",
    "sequence calls in places that are refused": r"no number of a sequence can be taken|"
    r"\w+ takes names that are constants|OWNED BY needs a table and a column",
    "currval of another session": r"PAL-225\]",
    "settings that would change answers": r"PAL-222\]|PAL-221\].*invalidation_policy",
    "query(), read_text() and read_blob()": r"the function (query|read_text|read_blob|"
    r"json_execute_serialized_sql) is not",
    "random numbers of a session": r"the function setseed is not",
    "formats of extensions": r"COPY does not know the format",
    "tables of rejected rows": r"table main\.reject_(errors|scans) does not exist",
    "macros that differ by types": r"differ by the types of their parameters|"
    r"which no macro can hide",
    "SECURE views and deferred binding": r"a SECURE view is not supported|DEFER_BINDING",
    "statistics of files": r"the COPY option (RETURN_(STATS|FILES)|GEOPARQUET_VERSION) is not",
    "rows in no defined order": r"^chosen freely\n",
    "features that PostgreSQL stores lack": r"(a PostgreSQL|this) store has no|"
    r"merge-joinable or hash-joinable|recursive reference to query|"
    r"not allowed in a recursive query's|set-returning functions are not allowed in (CASE|COAL)|"
    r"(DISTINCT is not implemented for|OVER is not supported for) ",
    "quoted names of types": r"a type's name with a dot or a quote",
    "types that are refused": r"columns of type (NULL|TIMESTAMPTZ_NS|.*UNION)"
    r"|no type TIMESTAMPTZ_NS",
    "queries where values are listed": r"ENUM of a query|a query inside PIVOT"
    r"|PIVOT without a list of values inside a write",
    "pg_catalog": r"PAL-201\].*ask the server itself for its own catalog|"
    r"PAL-110\] the function has_\w+_privilege is not",
    "values at random": r"^at random\n",
}
"""What docs/sql.md and its neighbours tell of the differences from DuckDB, by their texts."""


class _Sides:
    """Plain DuckDB, its twin, and the gateway, with the sessions of a file."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._folder, self._url = folder, url
        self.folders = (folder / "files1", folder / "files2", folder / "files3")
        for own in self.folders:
            own.mkdir()
        self._generation = 0
        self.begin_anew()

    def begin_anew(self) -> None:
        """Go to an empty database and an empty warehouse."""
        self.close()
        self._generation += 1
        # A database is called after its file, and a warehouse palimpsest.
        self._paths = []
        for side in ("plain", "twin"):
            own = self._folder / f"{side}{self._generation}"
            own.mkdir()
            self._paths.append(str(own / "palimpsest.duckdb"))
        if self._url is not None and self._generation > 1:
            self._url = _beside(self._url, self._generation)
        self._warehouse = self._url or f"palimpsest:///{self._folder}/warehouse{self._generation}"
        self.open()

    def open(self) -> None:
        """Open all, as after a restart."""
        self._databases = [duckdb.connect(path) for path in self._paths]
        self._plain: dict[tuple[int, str], duckdb.DuckDBPyConnection] = {}
        self._ours: dict[str, Connection] = {}
        self._settings: list[str] = []

    def close(self) -> None:
        """Close all."""
        for connection in getattr(self, "_ours", {}).values():
            connection.close()
        for plain in getattr(self, "_plain", {}).values():
            plain.close()
        for database in getattr(self, "_databases", ()):
            database.close()

    def set_everywhere(self, sql: str) -> None:
        """Set what DuckDB sets for all sessions in all of ours but the one that has it."""
        self._settings.append(sql)
        for connection in self._ours.values():
            _our_outcome(connection, sql)

    def plain(self, name: str) -> duckdb.DuckDBPyConnection:
        """The session of that name on plain DuckDB."""
        return self._of_database(0, name)

    def twin(self, name: str) -> duckdb.DuckDBPyConnection:
        """The session of that name on the second plain DuckDB."""
        return self._of_database(1, name)

    def _of_database(self, number: int, name: str) -> duckdb.DuckDBPyConnection:
        return self._plain.setdefault((number, name), self._databases[number].cursor())

    def ours(self, name: str) -> Connection:
        """The session of that name on the gateway."""
        if name not in self._ours:
            self._ours[name] = gateway.connect(self._warehouse, autocommit=True)
            for sql in self._settings:
                _our_outcome(self._ours[name], sql)
        return self._ours[name]


def _beside(url: str, generation: int) -> str:
    """An empty database of the same server."""
    server, _, name = url.removeprefix("palimpsest+").rpartition("/")
    name = f"{name.split('_load_')[0]}_load_{generation}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as session:
        session.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return f"palimpsest+{server}/{name}"


def compare_file(path: str, url: str | None, root: str) -> dict[str, object]:
    """How many records were run, and the differences, as values of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"TEST_DIR": _OWN_FOLDER, "WORKING_DIRECTORY": root, "UUID": "0"}
        places |= {"BUILD_DIR": root, "DATA_DIR": f"{root}/data"}
        records = read_file(Path(path), places)
        sides = _Sides(Path(folder), url)
        try:
            return _compared(path, records, sides)
        finally:
            sides.close()


def _compared(path: str, records: Sequence[Record], sides: _Sides) -> dict[str, object]:
    tally = FileTally(path, INTERNAL, DOCUMENTED)
    has_twin = any(_VOLATILE.search(record.text) for record in records)
    for record in records:
        if record.kind == "restart":
            sides.close()
            sides.open()
            continue
        if record.kind == "load":
            sides.begin_anew()
            continue
        text, own, twins = (record.text.replace(_OWN_FOLDER, str(f)) for f in sides.folders)
        own = _with_header(own)
        expected = _plain_outcome(sides.plain(record.connection), text)
        other = _plain_outcome(sides.twin(record.connection), twins) if has_twin else expected
        if _GLOBAL.search(record.text):
            sides.set_everywhere(record.text)
        wanted = {"ok": False, "query": False, "error": True}.get(record.kind)
        if wanted is not None and wanted != isinstance(expected, str):
            continue  # What DuckDB does not take is no record of this suite: neither side runs it.
        ours = _our_outcome(sides.ours(record.connection), own)
        why = _difference(record, expected, ours)
        if why is not None and why.startswith("rows"):
            session = sides.plain(record.connection), sides.ours(record.connection)
            if _difference(record, expected, other) is not None:
                why = f"at random\n{why}"
            elif len(expected[1]) == len(ours[1]) and _chosen_freely(record, *session, (text, own)):
                why = f"chosen freely\n{why}"
        cause = "" if why is None else _cause_of(why, expected, ours)
        tally.add(record.line, record.text, why, cause)
    return tally.values()


_VOLATILE = re.compile(
    r"\b(random|rand|uuid|uuidv[47]|gen_random_uuid|now|reservoir_quantile|approx_quantile)\s*\("
    r"|\b(current_timestamp|SAMPLE|TABLESAMPLE)\b",
    re.I,
)
"""What no two runs need have in common."""
_TO_CSV = re.compile(r"^\s*COPY\b.*\bTO\s+'[^']*'", re.I | re.S)


def _with_header(sql: str) -> str:
    """A COPY that writes CSV with the HEADER that DuckDB writes where nothing is said of one."""
    written = _TO_CSV.match(sql)
    if written is None or re.search(r"\bHEADER\b", sql, re.I):
        return sql
    place, options = written.end(), sql[written.end() :]
    form = re.search(r"\bFORMAT\s+'?(\w+)", options, re.I)
    if form[1].lower() != "csv" if form else not re.search(r"\.csv(\.gz|\.zst)?'$", written[0]):
        return sql
    opening = options.find("(")
    if opening < 0:
        return f"{sql[:place]} (HEADER){options}"
    return f"{sql[:place]}{options[: opening + 1]}HEADER, {options[opening + 1 :]}"


_OWN_FOLDER = "{own folder}"
"""Stands for the folder of files of each side."""
_FILES = re.compile(r"/files[123]/")

Outcome = str | tuple[list[str], list[tuple[str, ...]]]
"""The text of an error, or names and rows of the last result."""


def _plain_outcome(session: duckdb.DuckDBPyConnection, sql: str) -> Outcome:
    try:
        result = session.execute(sql)
        names = [str(column[0]) for column in result.description or ()]
        return names, [tuple(_shown(v) for v in row) for row in result.fetchall()]
    except (duckdb.Error, RuntimeError, ValueError, OverflowError, UnicodeError) as error:
        return str(error)


def _our_outcome(session: Connection, sql: str) -> Outcome:
    try:
        parts = [part.query for part in duckdb.extract_statements(sql)]
    except duckdb.Error:
        parts = [sql]
    made: Outcome = ([], [])
    for part in parts:
        try:
            cursor = session.execute(part)
            names = [str(column[0]) for column in cursor.description or ()]
            rows = cursor.fetchall() if cursor.description else []
            made = (names, [tuple(_shown(v) for v in row) for row in rows])
        except gateway.Error as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - what gets out raw is what we look for
            return f"RAW {type(error).__name__}: {error}"
    return made


def _shown(value: object) -> str:
    with suppress(ValueError, TypeError, OverflowError):
        if isinstance(value, float):
            return f"{value:.9g}"
        return _FILES.sub("/files/", render(value))
    return str(value)


def _difference(record: Record, expected: Outcome, ours: Outcome) -> str | None:
    if isinstance(ours, str):
        if ours.startswith("RAW ") or not isinstance(expected, str):
            return ours
        return None
    if isinstance(expected, str):
        return f"accepted\n{expected}"
    names, rows = expected
    if _no_result(names):
        return None
    if len(names) != len(ours[0]):
        return f"columns\n{names}\n{ours[0]}"
    theirs, got = (r if record.ordered else sorted(r) for r in (rows, ours[1]))
    if theirs != got:
        return f"rows\n{theirs[:20]}\n{got[:20]}"
    given = [(a, b) for a, b in zip(names, ours[0], strict=True) if a.isidentifier()]
    return None if all(a == b for a, b in given) else f"names\n{names}\n{ours[0]}"


_LIMIT = re.compile(r"\s+limit\s+\d+(\s+offset\s+\d+)?\s*;?\s*$", re.I)
"""What takes some rows of a query."""


def _chosen_freely(
    record: Record, plain: duckdb.DuckDBPyConnection, ours: Connection, texts: tuple[str, str]
) -> bool:
    """True for a query that takes some of its rows without an order, where all of them agree."""
    if not _LIMIT.search(record.text) or "order by" in record.text.lower():
        return False
    text, own = (_LIMIT.sub("", text) for text in texts)
    return _difference(record, _plain_outcome(plain, text), _our_outcome(ours, own)) is None


def _no_result(names: list[str]) -> bool:
    """True for a statement of which DuckDB answers a count or nothing, as results."""
    return names in (["Count"], ["Success"], [])


def _cause_of(why: str, expected: Outcome, ours: Outcome) -> str:
    """The message of a refusal; what DuckDB says against a statement that was taken."""
    if isinstance(ours, str):
        return without_quotes(why)
    return (
        f"accepted: {without_quotes(expected)}" if isinstance(expected, str) else why.split("\n")[0]
    )


_GLOBAL = re.compile(r"^\s*(SET|RESET)\s+(?!VARIABLE|SESSION|LOCAL|schema|search_path)", re.I)
