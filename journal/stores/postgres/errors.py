"""PostgreSQL's errors as errors of the project, told apart by SQLSTATE; the driver stays outside.

Positions are not taken over, because they point into rewritten SQL; names are, so that the gateway
can find them in the client's own text.
"""

from __future__ import annotations

import re

from journal.model.errors import Code, PalimpsestError
from journal.stores.postgres import grants
from journal.stores.postgres.dialect.unsupported_functions import lacking

SEGMENT_LOST = "58M01"
"""The state of errors of a Greenplum coordinator that does not reach a segment."""
_BY_CODE = {
    Code.UNKNOWN_TABLE: "42P01",
    Code.UNKNOWN_COLUMN: "42703",
    Code.AMBIGUOUS_COLUMN: "42702",
    Code.UNKNOWN_SCHEMA: "3F000",
    Code.DUPLICATE_TABLE: "42P07",
    Code.DUPLICATE_COLUMN: "42701",
    Code.UNKNOWN_FUNCTION: "42883",
    Code.UNKNOWN_TYPE: "42704",
    Code.TYPE_MISMATCH: "42804 42846",
    Code.DEPENDENT_OBJECTS: "2BP01",
    Code.WRONG_OBJECT: "42809",
    Code.GROUPING: "42803",
    Code.OUTPUT_PLACE: "42P10",
    Code.RECURSION: "42P19",
    Code.BIND: "42601",
    Code.CONVERSION: "22P02",
    Code.MOMENT_TEXT: "22007",
    Code.MOMENT_RANGE: "22008 22015",
    Code.LOGARITHM: "2201E",
    Code.POWER: "2201F",
    Code.BUCKETS: "2201G",
    Code.SUBSTRING: "22011",
    Code.PATTERN: "2201B",
    Code.SETTING_VALUE: "22023",
    Code.DUPLICATE_ALIAS: "42712",
    Code.OUT_OF_RANGE: "22003",
    Code.DIVISION_BY_ZERO: "22012",
    Code.CARDINALITY: "21000",
    Code.SERIALIZATION: "40001 40P01",
    Code.CANCELLED: "57014",
    Code.JOB_BUSY: "55P03",
    Code.STORE_GRANT: "42501",
    Code.STORE_WRITE: "53100",
    Code.OUT_OF_MEMORY: "53200",
    Code.STORE_UNREACHABLE: "53300",
    Code.NOT_SUPPORTED: "0A000",
    Code.STORE_READ_ONLY: "25006",
    Code.STORE_LOST: f"25P03 25P04 {SEGMENT_LOST}",
    Code.STORE_LOGIN: "28P01 28000 3D000",
    Code.DUPLICATE_KEY: "23505",
    Code.NOT_NULL: "23502",
    Code.CHECK: "23514",
    Code.ERASED: "23001",
    Code.TEXT_LENGTH: "22001",
}
_CODES = {state: code for code, states in _BY_CODE.items() for state in states.split()}
_CLASSES = {
    "08": Code.STORE_LOST,
    "22": Code.DATA,
    "42": Code.BIND,
    "53": Code.OUT_OF_MEMORY,
    "54": Code.NOT_SUPPORTED,
    "57": Code.STORE_LOST,
    "58": Code.STORE_WRITE,
}
_ADVICE = {
    Code.CONVERSION: "check the value, or convert it with TRY_CAST, which gives NULL instead",
    Code.OUT_OF_RANGE: "check the value, or use a wider type",
    Code.OUTPUT_PLACE: "count the outputs from 1, or write the expression",
    Code.MOMENT_RANGE: "check the value; months have 28 to 31 days, and days 24 hours",
    Code.MOMENT_TEXT: "write it as YYYY-MM-DD HH:MM:SS, an interval as '3 days 04:05:06'",
    Code.PATTERN: "close its brackets, and write a backslash before signs that mean themselves",
    Code.DIVISION_BY_ZERO: "write NULLIF(divisor, 0), which gives NULL instead",
    Code.UNKNOWN_FUNCTION: "check the spelling and the types of the arguments",
    Code.GROUPING: "add the column to GROUP BY, or aggregate it",
    Code.JOB_BUSY: "nothing was changed; run it again later, or raise lock_timeout",
    Code.CANCELLED: "none of its changes were kept; run it again if you still want it",
    Code.SERIALIZATION: "roll back and run the transaction again",
    Code.STORE_LOST: "nothing of the statement was kept; run it again when the server is back",
    Code.STORE_READ_ONLY: "connect to the primary server, not to a standby",
    Code.STORE_LOGIN: "check user, password and database in the URL",
    Code.STORE_UNREACHABLE: "check host and port, and that the server runs and takes connections",
    Code.STORE_WRITE: "free space or fix permissions, then repeat; nothing was changed",
}


_LOGIN = re.compile(
    r"password|authentication failed|pg_hba|(role|user|database) \"[^\"]*\" (does not|is not)"
    r"|not permitted to (log in|connect)|permission denied for database"
)


_LOGIN_ADVICE = (
    (r'database "[^"]*" does not exist', "make it with createdb, or name another in the URL"),
    (r'role "[^"]*" does not exist', "make it with createuser, or name another user in the URL"),
    (
        "permission denied for database",
        "GRANT CONNECT ON DATABASE .. TO the user of the URL",
    ),
    (
        "no password supplied",
        "give one in ~/.pgpass or PGPASSWORD; a URL without a host goes by the local socket",
    ),
)
"""What to do about the commonest reasons, before the advice of their code."""


_SEGMENT = re.compile(r"  \((?:seg\d+|entry db)[^()]*pid=\d+\)$")
"""Where in a Greenplum cluster an error arose, as it says at the end of each message."""


_OF_A_JOURNAL = re.compile(
    r"_palimpsest\.|relation \"(t\d+(x\d+)?(e\d+)?_(base|delta|history|head)|\w+_journal\b)"
)
_OF_WIDTH = re.compile(r"the same (number of columns|length)")
_OF_A_HEAD = re.compile(r"unique constraint \"t\d+_head_\d+_once\"")


_OF_JSON = re.compile(r"operator for type json\b|operator does not exist: (json\b|.* json$)")
_JSON_ADVICE = "compare JSON as text: a::text = b::text, SELECT DISTINCT a::text"


_RAISED = "P0001"
"""The state of errors that a rewritten statement raises itself."""
_RAISED_CODES = (
    (re.compile(r"value for domain \S+ violates check"), Code.CHECK),
    (re.compile(r"domain \S+ does not allow NULL"), Code.NOT_NULL),
)
_OF_DUCKDB = re.compile(
    r'type "(geometry|u(?:int(?:8|16|32|64|128)|tinyint|smallint|integer|bigint|hugeint))(?:\[\])*"'
    r" does not exist"
)
_TYPE_ADVICE = "use a type that PostgreSQL has, or make it there: CREATE EXTENSION postgis"


def is_starting(message: str) -> bool:
    """True when a server takes no connections yet."""
    return "starting up" in message or ("recovery" in message and "not yet" in message)


def translate(sqlstate: str | None, message: str, *, hint: str | None = None) -> PalimpsestError:
    """The project's error for one of the server's; without a state the connection is gone."""
    code = Code.STORE_LOST
    if sqlstate is not None:
        code = _CODES.get(sqlstate) or _CLASSES.get(sqlstate[:2], Code.STORE)
    text = _SEGMENT.sub("", message.strip().split("\nLINE ")[0].strip())
    if sqlstate == _RAISED:
        code = next((c for pattern, c in _RAISED_CODES if pattern.match(text)), code)
    if sqlstate in {"42P01", "42703"} and _OF_A_JOURNAL.search(text):
        return PalimpsestError(
            Code.SEGMENT_DAMAGED,
            f"a part of a journal is missing in the database: {text}",
            advice="somebody changed its tables; restore them from a backup, or adopt it again",
        )
    if code is Code.DUPLICATE_KEY and _OF_A_HEAD.search(text):
        return PalimpsestError(
            Code.FOREIGN_WRITE,
            f"the journal would hold a row twice: {text}",
            advice="somebody else wrote to it; palimpsest verify shows which rows",
        )
    if code is Code.BIND and _OF_WIDTH.search(text):
        code = Code.COLUMN_COUNT
    if code is Code.UNKNOWN_TYPE and (found := _OF_DUCKDB.fullmatch(text)) is not None:
        what = f"a PostgreSQL store has no type {found[1].upper()}"
        return PalimpsestError(Code.NOT_SUPPORTED, what, advice=_TYPE_ADVICE)
    missing = lacking(text) if code is Code.UNKNOWN_FUNCTION else None
    if missing is not None:
        name, advice = missing
        what = f"a PostgreSQL store has no function {name}, or none for these types"
        return PalimpsestError(Code.NOT_SUPPORTED, what, advice=advice)
    if code is Code.STORE_LOST:
        what = "a segment" if sqlstate == SEGMENT_LOST else "the server"
        text = f"the connection to {what} was lost: {text.splitlines()[0] if text else ''}"
    if code is Code.CANCELLED and "statement timeout" in text:
        text = "the statement took longer than statement_timeout and was stopped"
    if code is Code.STORE_READ_ONLY:
        text = f"the server takes no writes: {text}"
    if code is Code.JOB_BUSY:
        text = f"somebody else held a lock for too long: {text}"
    if code is Code.STORE_GRANT:
        return PalimpsestError(code, text, advice=grants.advice(text))
    advice = _JSON_ADVICE if code is Code.UNKNOWN_FUNCTION and _OF_JSON.search(text) else ""
    return PalimpsestError(code, text, advice=advice or _ADVICE.get(code) or hint or "")


def unreachable(message: str) -> PalimpsestError:
    """The error of a connection that could not be made, by what the client library says."""
    # What it says of each address of a host repeats what it says of the last.
    text = " ".join(message.split()).partition(" Multiple connection attempts failed.")[0]
    code = Code.STORE_LOGIN if _LOGIN.search(text) else Code.STORE_UNREACHABLE
    found = (advice for pattern, advice in _LOGIN_ADVICE if re.search(pattern, text))
    return PalimpsestError(code, f"cannot connect: {text}", advice=next(found, _ADVICE[code]))


def unknown_outcome(message: str) -> PalimpsestError:
    """The connection was cut while COMMIT was under way and nobody can be asked what became."""
    return PalimpsestError(
        Code.OUTCOME_UNKNOWN,
        f"the connection was lost during COMMIT, and the server cannot be asked: {message}",
        advice="the transaction is committed or rolled back as a whole; palimpsest log tells which",
    )


def still_under_way() -> PalimpsestError:
    """The connection was cut while COMMIT was under way, and the server is not done with it."""
    return PalimpsestError(
        Code.OUTCOME_UNKNOWN,
        "the connection was lost during COMMIT, and the server has not ended the transaction: it"
        " may wait for a standby or for its disk",
        advice="the transaction is committed or rolled back as a whole; palimpsest log tells which"
        " once pg_stat_activity does not show it any more",
    )


def rolled_back() -> PalimpsestError:
    """The server took a COMMIT and did the opposite."""
    return PalimpsestError(
        Code.STORE_WRITE,
        "the server rolled the transaction back instead of committing it",
        advice="run it again; nothing was changed",
    )


def lost_at_commit() -> PalimpsestError:
    """The connection was cut at COMMIT, and the server says that it rolled back."""
    return PalimpsestError(
        Code.STORE_LOST,
        "the connection to the server was lost during COMMIT; the transaction was rolled back",
        advice="run it again; nothing of it was kept",
    )
