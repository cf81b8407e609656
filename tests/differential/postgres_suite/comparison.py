"""Runs one script on a plain PostgreSQL and on the gateway; says what differs.

A statement that fails on both, on PostgreSQL because a thing that it names is missing there, does
not count. Both fail otherwise: alike. Rows are compared in order where the query orders them.
"""

import json
import re
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import gateway
from gateway.dbapi.connection import Connection
from tests.differential.postgres_suite.scripts import ScriptStatement, read_script
from tests.differential.suites.differences import FileTally, without_quotes
from tests.support.gateway_engine import GatewaySession
from tests.support.outcome import (
    Count,
    Done,
    Failure,
    Outcome,
    Rows,
    comparable,
    describe,
    difference,
)
from tests.support.postgres_oracle import UNREADABLE, PlainSession

INTERNAL = {
    "EXPLAIN": r"^\s*EXPLAIN\b",
    "functions and triggers": r"^\s*(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?(CONSTRAINT\s+)?"
    r"(FUNCTION|PROCEDURE|ROUTINE|TRIGGER|EVENT|AGGREGATE)\b|^\s*(DO|CALL)\b|"
    r"\b(ENABLE|DISABLE)\s+(REPLICA\s+|ALWAYS\s+)?TRIGGER\b",
    "rules": r"^\s*(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?RULE\b|\b(ENABLE|DISABLE)\s+RULE\b",
    "operators, casts, access methods": r"^\s*(CREATE|DROP|ALTER)\s+(DEFAULT\s+)?(OPERATOR|CAST|"
    r"ACCESS|COLLATION|CONVERSION|LANGUAGE|TEXT|TRANSFORM|STATISTICS|FOREIGN|SERVER|EXTENSION|"
    r"PUBLICATION|SUBSCRIPTION|TABLESPACE|DATABASE|LARGE)\b|"
    r"\blo_\w+\(|\blo(read|write)\(|<<<|"
    r"^\s*CREATE\s+TYPE\s+\w+\s*($|\(\s*\w+\s*=)|^\s*COMMENT\s+ON\s+(STATISTICS|CONVERSION)\b",
    "inheritance and partitions": r"\bINHERITS?\s*\(|\bPARTITION\s+(BY|OF)\b|\bPARTITION\s+\w+\s+"
    r"FOR\b|(ATTACH|DETACH)\s+PARTITION|^\s*(SELECT|UPDATE|DELETE).*\bONLY\b|\b(NO\s+)?INHERIT\b|"
    r"\bFROM\s+\w+\*",
    "system columns": r"\b(tableoid|ctid|xmin|xmax|cmin|cmax)\b",
    "internals of pg_catalog": r"\bpg_\w+|::\s*reg\w+|\binformation_schema\b|"
    r"\bobj_description\b|\w(send|recv)\(|"
    r"\b(int[248]|float[48]|bool)(pl|mi|mul|div|eq|ne|lt|gt|larger|smaller)\(|\btextcat\(|"
    r"\bfloat8_(regr_)?(accum|combine)\(|\bbool(and|or)_statefunc\(|\bcollation\s+for\b|\bgin_\w+\(|"
    r"\b(to_)?reg(class|proc|procedure|oper|operator|type|role|namespace|collation)\(",
    "cursors": r"^\s*(DECLARE|FETCH|MOVE|CLOSE)\b|\bCURRENT\s+OF\b",
    "storage": r"^\s*(CLUSTER|REINDEX|VACUUM|ANALYZE|LOCK|NOTIFY|LISTEN|UNLISTEN|SECURITY)\b|"
    r"\bUNLOGGED\b|\bSET\s+(STATISTICS|STORAGE|COMPRESSION|LOGGED|UNLOGGED|TABLESPACE)\b|"
    r"\bTABLESPACE\s+\w|\bfillfactor\b|\bautovacuum\w*|\bSET\s+\(\s*n_distinct",
    "server settings": r"^\s*(SET|RESET|SHOW)\b(?!\s+CONSTRAINTS)|\bcurrent_setting\(",
    "two-phase commit": r"^\s*PREPARE\s+TRANSACTION\b|\b(COMMIT|ROLLBACK)\s+PREPARED\b",
    "roles": r"\bhas_\w+_privilege\b|"
    r"\bROLE\b|^\s*(GRANT|REVOKE)\b|^\s*(CREATE|DROP|ALTER)\s+(USER|GROUP)\b|"
    r"\bSESSION\s+AUTHORIZATION\b|\bOWNER\s+TO\b|\bROW\s+LEVEL\s+SECURITY\b",
    "types that only PostgreSQL has": r"\b(box|point|polygon|circle|path|lseg|inet|cidr|macaddr8?|"
    r"\w*tsvector|\w*tsquery\w*|ts_\w+|hstore|\w*xml\w*|xpath|\w*range|money|bit|varbit|oid|name|"
    r"int2vector|oidvector|"
    r"line|xid8?|xid8cmp|txid\w*)\b(?!\s*=)",
    "operator classes and exclusion constraints": r"\bUSING\s+(gist|gin|brin|spgist|hash)\b|"
    r"_ops\b|\bEXCLUDE\b",
    "whole-row values": r"\bROW\s*\(|\)\.\*|\)\.\w+|^\s*CREATE\s+TYPE\s+\w+\s+AS\s*\(|"
    r"\bOF\s+\w+type\b",
}
"""What is PostgreSQL's own machinery, by the text of a statement.

docs/sql.md tells of each, and of `DOCUMENTED`, by the same name.
"""

DOCUMENTED = {
    "JSON path queries": r"PAL-110\] (\.(datetime|keyvalue)\(\)|a JSON path|\.\*\* before)|"
    r"PAL-226\] type jsonpath|PAL-312\] the id that \.keyvalue\(\)",
    "numbers of more than 38 digits": r"PAL-311\].* digits than the \d+ that this store|"
    r"PAL-310\] Could not c\w+ (string|value) \W*(nan|inf)\w*\W+ to DECIMAL",
    "conflicts are reported at COMMIT": r"PAL-401\]",
    "NULLS NOT DISTINCT and deferrable keys": r"NULLS NOT DISTINCT is|a key with DEFERR",
    "currval and nextval in one statement": r"beside a call that moves the sequence",
    "repeatable samples": r"no sample that can be repeated",
    "tables without columns": r"PAL-211\] \S+ has no columns|SELECT clause without selection list"
    r"|PAL-110\] a SELECT without a list",
    "whole-row values": r"PAL-110\] the whole row",
    "ALTER ROLE SET and schema elements": r"CREATE SCHEMA is not supported|"
    r"make what is to lie in the schema by|leave WITH CHECK OPTION out",
    "composite types": r"has no STRUCT types",
    "intervals with fields and digits": r"PAL-110\] INTERVAL\W.* of columns and computed values",
    "updatable views": r"PAL-209\] \S+ is not a table|"
    r"SET DEFAULT .* is not supported in ALTER",
    "recursive queries within the recursive part of another one": r"PAL-110\] a recursive query"
    r" within",
    "number literals of PostgreSQL 16": r"^accepted\n(invalid input syntax for type \w+: "
    r"|trailing junk after numeric literal at or near )\"[^\"]*(\d_\d|0[xob])",
    "SERIALIZABLE": r"PAL-110\] ISOLATION LEVEL SERIALIZABLE",
    "array bounds other than 1": r"an array begins with a brace, not with '\['|"
    r"PAL-110\] only (a list, or elements of one by numbers|whole columns can be assigned)",
    "domains with constraints inside arrays and rows": r"constraints, which are not checked inside",
    "floating-point numbers that overflow": r"^accepted\nvalue (out of range: \w+flow|overflows)",
    "regular expressions": r"PAL-312\] invalid (escape sequence: \\\d|perl operator: \(\?)",
    "time zone names": r"Unknown TimeZone",
    "custom collations": r"PAL-226\] collation|COMMENT ON COLLATION|"
    r"^accepted\ncollation \S+ for encoding|"
    r"PAL-110\] \w+\(\) (by the rules of|of a column with this)|"
    r"COLLATE (\S+ of a domain|in an index) is not supported",
    "collations that contradict": r"^accepted\n(collation mismatch|no collation was derived|"
    r"could not determine which collation)|Cannot combine types with different collation|"
    r"^accepted\nrecursive query .* has collation",
}
"""What docs/sql.md tells of the differences from PostgreSQL, by their texts."""
UNTRACED = frozenset(
    {
        "generated numbers after explicit ones",
        "trailing blanks beyond the length",
        "digits of avg, stddev, variance and quotients",
        "sums of REAL",
        "texts of jsonb",
        "hours that a zone repeats",
        "digits of seconds",
        "clock_timestamp()",
    }
)
"""What it tells besides, which no text shows: such rows count as differences."""

_TO_STDOUT = re.compile(r"^\s*copy\b.*\bto\s+stdout\b", re.I | re.S)
_MISSING = frozenset({"42P01", "42883", "42704", "3F000", "26000", "0A000", "42P02", "58P01"})


def compare_script(path: str, conninfo: str, url: str | None) -> dict[str, object]:
    """How many statements were run, and the differences, as values of JSON."""
    tally = FileTally(path, INTERNAL, DOCUMENTED)
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        where = url or f"palimpsest:///{folder}/warehouse"
        with (
            closing(PlainSession(conninfo, json_texts=True)) as plain,
            closing(gateway.connect(where, dialect="postgres", autocommit=True)) as ours,
        ):
            plain.run("GRANT ALL ON SCHEMA public TO public")  # as the suite's own beginning does
            for statement in read_script(text):
                _compare(statement, plain, ours, tally)
    return tally.values()


def _compare(
    statement: ScriptStatement, plain: PlainSession, ours: Connection, tally: FileTally
) -> None:
    expected = _plain_outcome(plain, statement)
    got = _our_outcome(ours, statement)
    both = isinstance(expected, Failure) and isinstance(got, Failure)
    if isinstance(expected, Failure) and (
        expected.sqlstate == UNREADABLE or (both and expected.sqlstate in _MISSING)
    ):
        return
    why = cause = None
    if isinstance(got, Failure) and (got.sqlstate == "RAW" or not both):
        why, cause = got.message, without_quotes(got.message)
    elif isinstance(expected, Failure) and not both:
        why, cause = (
            f"accepted\n{expected.message}",
            f"accepted: {without_quotes(expected.message)}",
        )
    elif not both and not isinstance(got, Failure):
        found = _result_difference(statement.text, expected, got)
        if found is not None:
            cause = re.sub(r"\d+|\[.*", "..", found)
            why = f"{found}\n{describe(expected)[:250]}\n--\n{describe(got)[:250]}"
    tally.add(statement.line, statement.text, why, cause or "")


def _result_difference(sql: str, expected: Outcome, got: Outcome) -> str | None:
    expected, got = comparable(expected), comparable(got)
    if isinstance(expected, Done) or (isinstance(expected, Count) and isinstance(got, Done)):
        return None
    if isinstance(expected, Rows) and isinstance(got, Rows):
        if len(expected.columns) != len(got.columns):
            return f"columns {list(expected.columns)} != {list(got.columns)}"
        expected, got = Rows((), _as_values(expected)), Rows((), _as_values(got))
    ordered = re.search(r"\border\s+by\b", _outermost(sql), re.I) is not None
    return difference(expected, got, ordered=ordered)


def _outermost(sql: str) -> str:
    """A statement without what stands in parentheses, such as the order of a window."""
    while (shorter := re.sub(r"\([^()]*\)", "", sql)) != sql:
        sql = shorter
    return sql


def _as_values(result: Rows) -> tuple[tuple[object, ...], ...]:
    """The rows with JSON in one spelling, as stores write it with spaces and without."""
    return tuple(tuple(_one_spelling(value) for value in row) for row in result.rows)


def _one_spelling(value: object) -> object:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        with suppress(ValueError):
            return json.dumps(json.loads(value))
    return value


def _plain_outcome(plain: PlainSession, statement: ScriptStatement) -> Outcome:
    if _TO_STDOUT.match(statement.text):
        return plain.copy_out(statement.text)
    if statement.rows is None:
        return plain.run(statement.text)
    return plain.copy_in(statement.text, statement.rows)


def _our_outcome(ours: Connection, statement: ScriptStatement) -> Outcome:
    try:
        if _TO_STDOUT.match(statement.text):
            with ours.cursor() as cursor, cursor.copy(statement.text) as copy:
                return Rows(("copy",), ((b"".join(map(bytes, copy)).decode(),),))
        if statement.rows is None:
            return GatewaySession(ours).run(statement.text)
        with ours.cursor() as cursor, cursor.copy(statement.text) as copy:
            copy.write(statement.rows)
    except gateway.Error as error:
        return Failure(error.sqlstate, str(error))
    except Exception as error:  # noqa: BLE001 - what gets out raw is what we look for
        return Failure("RAW", f"RAW {type(error).__name__}: {error}")
    return Done()
