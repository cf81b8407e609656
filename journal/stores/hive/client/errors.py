"""Errors of HiveServer2 and Spark as errors of the project; the driver stays outside.

Spark names its errors by condition (``[TABLE_OR_VIEW_NOT_FOUND]``) and often by SQLSTATE; what a
server says besides, stack traces above all, is left out. Pure.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from journal.model.errors import Code, PalimpsestError
from journal.stores.hive.client.spark_words import reworded
from journal.stores.hive.dialect.enums import INVALID

_CONDITION = re.compile(r"\[([A-Z0-9_]+)(?:\.([A-Z0-9_]+))?\]\s*")
_STATE = re.compile(r"SQLSTATE:\s*([0-9A-Z]{5})")
_BY_CODE = {
    Code.UNKNOWN_TABLE: "TABLE_OR_VIEW_NOT_FOUND",
    Code.UNKNOWN_COLUMN: "UNRESOLVED_COLUMN",
    Code.AMBIGUOUS_COLUMN: "AMBIGUOUS_REFERENCE",
    Code.UNKNOWN_FUNCTION: "UNRESOLVED_ROUTINE WRONG_NUM_ARGS",
    Code.UNKNOWN_SCHEMA: "SCHEMA_NOT_FOUND",
    Code.DUPLICATE_TABLE: "TABLE_OR_VIEW_ALREADY_EXISTS",
    Code.TYPE_MISMATCH: "DATATYPE_MISMATCH",
    Code.DIVISION_BY_ZERO: "DIVIDE_BY_ZERO REMAINDER_BY_ZERO",
    Code.CONVERSION: "CAST_INVALID_INPUT MALFORMED_RECORD_IN_PARSING",
    Code.OUT_OF_RANGE: (
        "CAST_OVERFLOW ARITHMETIC_OVERFLOW BINARY_ARITHMETIC_OVERFLOW NUMERIC_VALUE_OUT_OF_RANGE"
    ),
    Code.GROUPING: "MISSING_AGGREGATION MISSING_GROUP_BY NESTED_AGGREGATE_FUNCTION",
    Code.OUTPUT_PLACE: "GROUP_BY_POS_OUT_OF_RANGE ORDER_BY_POS_OUT_OF_RANGE",
    Code.CARDINALITY: "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    Code.BIND: "PARSE_SYNTAX_ERROR",
    Code.COLUMN_COUNT: (
        "NUM_COLUMNS_MISMATCH INSERT_COLUMN_ARITY_MISMATCH INSERT_PARTITION_COLUMN_ARITY_MISMATCH"
    ),
    Code.NOT_SUPPORTED: "UNSUPPORTED_FEATURE UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
    Code.SEGMENT_DAMAGED: "PATH_NOT_FOUND FAILED_READ_FILE",
    Code.FILE_ACCESS: "UNABLE_TO_INFER_SCHEMA",
    Code.WRONG_OBJECT: "WRONG_COMMAND_FOR_OBJECT_TYPE",
}
_CONDITIONS = {name: code for code, names in _BY_CODE.items() for name in names.split()}
_APACHE = re.compile(r"\[Error (\d+)\]:?\s*")
_APACHE_CODES = {
    "10001": Code.UNKNOWN_TABLE,
    "10002": Code.UNKNOWN_COLUMN,
    "10004": Code.UNKNOWN_COLUMN,
    "10007": Code.AMBIGUOUS_COLUMN,
    "10011": Code.UNKNOWN_FUNCTION,
    "10016": Code.NOT_SUPPORTED,
    "10025": Code.GROUPING,
    "10072": Code.UNKNOWN_SCHEMA,
    "10249": Code.NOT_SUPPORTED,
}
"""Numbers that Apache Hive gives its errors."""
_QUALIFIED = re.compile(r"with name (`[^`]+`)\.`")
_UNRESOLVED = re.compile(
    r"A column, variable, or function parameter with name (?P<column>(?:`[^`]+`\.?)+) cannot be"
    r" resolved(?:\. Did you mean one of the following\? \[(?P<known>[^\]]*)\])?"
    r"|Cannot resolve routine (?P<function>(?:`[^`]+`\.?)+) on search path"
)
"""How Spark names a column or a function that it does not find."""
_CLASSES = {"22": Code.DATA, "42": Code.BIND, "0A": Code.NOT_SUPPORTED, "53": Code.OUT_OF_MEMORY}
_LACKING = "does not have following privileges"
_SETTING = re.compile(r"not in list of params that are allowed to be modified")
_UNSURE = re.compile(
    r"numBuckets in width_bucket function must be above 0|Error evaluating .*width_bucket\("
)
"""How a server refuses a value; see ``hive_refused``."""
_SAID = (
    (re.compile(r"Malformed JSON when casting"), Code.CONVERSION),
    (re.compile(INVALID), Code.CONVERSION),
    (re.compile(r"invalid input syntax for type (inet|cidr)"), Code.CONVERSION),
    (re.compile(r"invalid mask length|cannot (AND|OR|merge) (inet|addr)"), Code.SETTING_VALUE),
    (re.compile(r"addresses of the version 6 are not"), Code.NOT_SUPPORTED),
    (re.compile(r"result is out of range"), Code.OUT_OF_RANGE),
    (re.compile(r"Malformed JSON"), Code.DATA),
    (re.compile(r"ParseException line"), Code.NOT_SUPPORTED),
    (_SETTING, Code.STORE_GRANT),
    (re.compile(r"Unsafe compares between different types"), Code.NOT_SUPPORTED),
    (_UNSURE, Code.CONVERSION),
    (re.compile(r"Scalar subquery expression returns more than one row"), Code.CARDINALITY),
    (re.compile(r"AlreadyExistsException|Table already exists"), Code.DUPLICATE_TABLE),
    (
        re.compile(
            r"No space left on device|disk quota|Read-only file system|Mkdirs failed"
            r"|unable to create one",
            re.I,
        ),
        Code.STORE_WRITE,
    ),
    (re.compile(r"FileNotFoundException|does not exist.*\.parquet", re.I), Code.SEGMENT_DAMAGED),
    (
        re.compile(
            r"\[USER_RAISED_EXCEPTION\] cannot (cast jsonb|call jsonb?_|get array length of"
            r"|extract elements from|deconstruct)"
        ),
        Code.SETTING_VALUE,
    ),
    (re.compile(r"INVALID_PARAMETER_VALUE\.PATTERN|PatternSyntaxException"), Code.PATTERN),
    (
        re.compile(r"\[USER_RAISED_EXCEPTION\] date(/time)? field value out of range"),
        Code.MOMENT_RANGE,
    ),
    (re.compile(r"Permission denied|AccessControlException|not allowed", re.I), Code.STORE_GRANT),
    (re.compile(r"OutOfMemoryError|GC overhead", re.I), Code.OUT_OF_MEMORY),
    (re.compile(r"\bcancell?ed\b", re.I), Code.CANCELLED),
    (re.compile(r"timed out|timeout", re.I), Code.CANCELLED),
    # What a statement raises itself: it was given a value that it does not take.
    (re.compile(r"\[USER_RAISED_EXCEPTION\]"), Code.DATA),
)
_LOGIN = re.compile(
    r"Bad status|Error validating the login|authentication|unauthori[sz]ed|GSS|SASL|Kerberos"
    r"|Login failed|PLAIN auth failed",
    re.I,
)
_TICKET = (
    "get a ticket with kinit (klist shows it), and check host and kerberos_service of the URL: the"
    " server's principal is kerberos_service/host"
)
_OTHER_AUTH = (
    "servers do so when the option auth of the URL is not theirs: try auth=NOSASL, NONE, LDAP or"
    " KERBEROS, or ask for hive.server2.authentication"
)
_STANDSTILL = (
    "look at the server: where its metastore, or all its threads, wait for what never comes, only a"
    " restart helps (docs/hive.md)"
)
_SETTINGS_ADVICE = (
    "have the server allow the settings of the gateway's sessions:"
    " hive.security.authorization.sqlstd.confwhitelist.append, see docs/hive.md"
)
_ADVICE = {
    Code.CONVERSION: "check the value, or convert it with TRY_CAST, which gives NULL instead",
    Code.OUT_OF_RANGE: "check the value, or use a wider type",
    Code.PATTERN: "close its brackets, and write a backslash before signs that mean themselves",
    Code.DIVISION_BY_ZERO: "write NULLIF(divisor, 0), which gives NULL instead",
    Code.UNKNOWN_FUNCTION: "check the spelling and the types of the arguments; functions are the"
    " server's, unless held_rows in the URL lets the gateway answer",
    Code.GROUPING: "add the column to GROUP BY, or aggregate it",
    Code.CANCELLED: "none of its changes were kept; run it again if you still want it",
    Code.STORE_LOST: "nothing of the statement was kept; run it again when the server is back",
    Code.STORE_GRANT: "grant the user what it needs; docs/hive.md lists it",
    Code.STORE_LOGIN: "check user, password and the option auth of the URL",
    Code.STORE_UNREACHABLE: "check host, port and auth, and that the server runs",
    Code.STORE_WRITE: "free space or fix permissions, then repeat; nothing was changed",
    Code.SEGMENT_DAMAGED: "restore the files of the journal from a backup",
}


def translate(message: str) -> PalimpsestError:
    """The project's error for what a server says of a failed statement."""
    text = message.partition("org.apache.hive.service.cli.HiveSQLException:")[2] or message
    text = text.strip().removeprefix("Error running query:").removeprefix("Error operating").strip()
    # Apache Hive puts the rights that somebody lacks in brackets, as Spark its conditions.
    found = None if _LACKING in text else _CONDITION.search(text)
    code = None
    if found is not None:
        code = _CONDITIONS.get(found.group(1))
        if found.group(2) == "SCALAR_SUBQUERY_TOO_MANY_ROWS":
            code = Code.CARDINALITY
        text = text[found.end() :]
        if code is Code.UNKNOWN_COLUMN and _names_no_source(text):
            code = Code.UNKNOWN_TABLE
        text = _CONDITION.sub("", text)
    numbered = _APACHE.search(text)
    if numbered is not None:
        code, text = _APACHE_CODES.get(numbered.group(1)), text[numbered.end() :]
    text = re.sub(r"^Error while compiling statement: |^FAILED: ", "", text.strip())
    text = re.sub(r"^(?:\S*Exception:\s*)*\S*UnknownHostException:\s*", "unknown host: ", text)
    text = re.sub(r"^(\S*Exception:\s*)+", "", text.strip())
    state = _STATE.search(message)
    if code is None:
        code = next((c for pattern, c in _SAID if pattern.search(message)), None)
    if code is None and state is not None:
        code = _CLASSES.get(state.group(1)[:2])
    if _UNSURE.search(message):
        text = "a value does not fit the type it is cast to, or Hive would read it otherwise"
    text = _STATE.sub("", text.split("\n")[0].split("== SQL")[0]).strip(" .;:")
    text = re.sub(r":\d+:\d+$", "", text).strip(" .;")
    # A place in the server's text is none in the statement of the client.
    text = re.sub(r"[ .;]*line \d+ pos \d+$", "", text)
    code = code or Code.STORE
    if (unresolved := _UNRESOLVED.match(text)) is not None:
        return _unknown_name(code, unresolved)
    if (said := reworded(code, text)) is not None:
        return said
    advice = _SETTINGS_ADVICE if _SETTING.search(message) else _ADVICE.get(code, "")
    return PalimpsestError(code, text or "the statement failed", advice=advice)


def _unknown_name(code: Code, found: re.Match[str]) -> PalimpsestError:
    """The error of a column or function that Spark does not find, as other stores word it."""
    name = _last_part(found["column"] or found["function"])
    if found["function"]:
        return PalimpsestError(
            code, f"function {name.lower()}() does not exist", advice=_ADVICE[Code.UNKNOWN_FUNCTION]
        )
    if code is Code.UNKNOWN_TABLE:
        table = re.findall(r"`([^`]+)`", found["column"])[0]
        said = f"table {table} does not exist"
        return PalimpsestError(code, said, advice="FROM names no table or alias of this name")
    # Spark lists every column there is; the gateway's own are none to write.
    known = [_last_part(part) for part in re.findall(r"(?:`[^`]+`\.?)+", found["known"] or "")]
    known = [part for part in known if not part.startswith("_palimpsest")]
    close = get_close_matches(name, dict.fromkeys(known), n=3)
    advice = "check the spelling; DESCRIBE shows the columns of a table"
    if close:
        advice = f"did you mean {' or '.join(close)}?"
    return PalimpsestError(code, f'column "{name}" does not exist', advice=advice)


def _last_part(path: str) -> str:
    """The name itself of one with those of its relation, schema and database before it."""
    return str(re.findall(r"`([^`]+)`", path)[-1])


def _names_no_source(text: str) -> bool:
    """True if an unknown column is looked for in a relation that the query does not have."""
    told = _QUALIFIED.search(text)
    if told is None:
        return False
    suggestions = text[told.end() :].partition("]")[0]
    return f"{told.group(1)}." not in suggestions


def server_gone(message: str) -> PalimpsestError:
    """The connection to the server is gone."""
    text = f"the connection to the server was lost: {' '.join(message.split())}"
    return PalimpsestError(Code.STORE_LOST, text, advice=_ADVICE[Code.STORE_LOST])


def silent(waited_s: float) -> PalimpsestError:
    """The server is there, and has not answered a call."""
    text = f"the server took a call and did not answer for {waited_s:g} s"
    return PalimpsestError(
        Code.STORE_LOST, text, advice=f"nothing of the statement was kept; {_STANDSTILL}"
    )


def metastore_hangs(limit_s: float) -> PalimpsestError:
    """The server says that a statement runs, and its metastore has answered nobody meanwhile."""
    return PalimpsestError(
        Code.STORE_LOST,
        f"the server's metastore stands still: it answered nobody for {limit_s:g} s"
        " (answer_timeout), and the statement was given up",
        advice=f"nothing of the statement was kept; {_STANDSTILL}",
    )


def silent_login(waited_s: float) -> PalimpsestError:
    """The server takes connections, and answers none."""
    text = f"cannot connect: the server takes connections and did not answer for {waited_s:g} s"
    advice = f"{_STANDSTILL}; where it is only slow, raise connect_timeout in the URL"
    return PalimpsestError(Code.STORE_UNREACHABLE, text, advice=advice)


def no_ticket(message: str) -> PalimpsestError:
    """Kerberos does not let in: there is no ticket, or none for this service."""
    text = f"Kerberos does not log in: {' '.join(message.split())}"
    return PalimpsestError(Code.STORE_LOGIN, text, advice=_TICKET)


def unreachable(message: str, *, is_kerberos: bool = False) -> PalimpsestError:
    """A connection could not be made."""
    text = " ".join(message.split())
    code = Code.STORE_LOGIN if _LOGIN.search(text) else Code.STORE_UNREACHABLE
    if is_kerberos and code is Code.STORE_LOGIN:
        return no_ticket(text)
    if "read 0 bytes" in text:
        said = "cannot connect: the server ended the connection at the login"
        return PalimpsestError(code, said, advice=_OTHER_AUTH)
    return PalimpsestError(code, f"cannot connect: {text}", advice=_ADVICE[code])


def stopped(timeout_ms: int) -> PalimpsestError:
    """A statement took longer than it may."""
    return PalimpsestError(
        Code.CANCELLED,
        f"the statement took longer than statement_timeout ({timeout_ms} ms) and was stopped",
        advice=_ADVICE[Code.CANCELLED],
    )


def cancelled() -> PalimpsestError:
    """A statement was stopped from outside."""
    return PalimpsestError(
        Code.CANCELLED, "the statement was cancelled", advice=_ADVICE[Code.CANCELLED]
    )
