"""The registry of error codes, and the exception that carries code, message and advice.

An error says what happened, why, and what to do; it carries a stable code (``PAL-nnn``), the
SQLSTATE a client may act on, and the position in the statement where one is known. Front ends map
these to their own trees (``gateway.errors``); nothing here knows any of them.
"""

from __future__ import annotations

from enum import Enum

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CodeInfo:
    """What stands behind a code: its public name, the SQLSTATE, and a short title."""

    code: str
    sqlstate: str
    title: str


class Code(Enum):
    """Every error the project raises. docs/errors.md has one section per member."""

    SYNTAX = CodeInfo("PAL-101", "42601", "syntax error")
    STATEMENT_TOO_LONG = CodeInfo("PAL-102", "54000", "statement too long")
    NESTING_TOO_DEEP = CodeInfo("PAL-103", "54001", "statement nested too deeply")
    TOO_MANY_ITEMS = CodeInfo("PAL-104", "54000", "list too long")
    RESULT_SIZE = CodeInfo("PAL-105", "54000", "result too large")
    NOT_SUPPORTED = CodeInfo("PAL-110", "0A000", "statement or clause not supported")
    JOURNAL_WRITE = CodeInfo("PAL-111", "42501", "journals are written only by the gateway")
    INVARIANT = CodeInfo("PAL-112", "XX000", "a rewrite broke one of its invariants")
    RESERVED_NAME = CodeInfo("PAL-113", "42939", "reserved name")
    UNKNOWN_TABLE = CodeInfo("PAL-201", "42P01", "unknown table")
    UNKNOWN_COLUMN = CodeInfo("PAL-202", "42703", "unknown column")
    AMBIGUOUS_COLUMN = CodeInfo("PAL-203", "42702", "ambiguous column")
    UNKNOWN_SCHEMA = CodeInfo("PAL-204", "3F000", "unknown schema")
    DUPLICATE_TABLE = CodeInfo("PAL-205", "42P07", "table exists already")
    DUPLICATE_COLUMN = CodeInfo("PAL-206", "42701", "column named twice")
    DUPLICATE_SCHEMA = CodeInfo("PAL-207", "42P06", "schema exists already")
    UNKNOWN_FUNCTION = CodeInfo("PAL-208", "42883", "unknown function or wrong argument types")
    WRONG_OBJECT = CodeInfo("PAL-209", "42809", "wrong kind of object")
    DEPENDENT_OBJECTS = CodeInfo("PAL-210", "2BP01", "other objects depend on the object")
    INVALID_DEFINITION = CodeInfo("PAL-211", "42P16", "invalid table definition")
    TYPE_MISMATCH = CodeInfo("PAL-212", "42804", "types do not fit")
    COLUMN_COUNT = CodeInfo("PAL-213", "42601", "number of values and columns differ")
    GROUPING = CodeInfo("PAL-214", "42803", "column is neither grouped nor aggregated")
    NO_UNIQUE_CONSTRAINT = CodeInfo("PAL-215", "42P10", "no unique constraint matches")
    OUTPUT_PLACE = CodeInfo("PAL-219", "42P10", "no output at that place")
    DUPLICATE_ALIAS = CodeInfo("PAL-218", "42712", "alias given to two relations")
    UNKNOWN_INDEX = CodeInfo("PAL-217", "42704", "unknown index")
    BIND = CodeInfo("PAL-216", "42000", "statement does not fit the tables")
    PARAMETERS = CodeInfo("PAL-220", "07001", "parameters do not fit the statement")
    UNKNOWN_SETTING = CodeInfo("PAL-221", "42704", "unknown setting")
    SETTING_VALUE = CodeInfo("PAL-222", "22023", "invalid setting or argument value")
    UNKNOWN_PREPARED = CodeInfo("PAL-223", "26000", "unknown prepared statement")
    DUPLICATE_PREPARED = CodeInfo("PAL-224", "42P05", "prepared statement exists already")
    SEQUENCE_UNUSED = CodeInfo("PAL-225", "55000", "sequence not used in this session yet")
    UNKNOWN_TYPE = CodeInfo("PAL-226", "42704", "unknown type or collation")
    DUPLICATE_TYPE = CodeInfo("PAL-227", "42710", "type, macro or constraint exists already")
    NOT_POPULATED = CodeInfo("PAL-228", "55000", "materialized view not ready for this")
    UNKNOWN_CONSTRAINT = CodeInfo("PAL-229", "42704", "unknown constraint")
    TIME_POINT = CodeInfo("PAL-230", "22007", "invalid point in time")
    STALE_PREPARED = CodeInfo("PAL-231", "0A000", "prepared statement of a changed table")
    GENERATED_FROM_GENERATED = CodeInfo("PAL-232", "42P17", "generated column of a generated one")
    RECURSION = CodeInfo("PAL-233", "42P19", "recursive query refers to itself wrongly")
    DUPLICATE_FUNCTION = CodeInfo("PAL-236", "42723", "function exists already")
    INVALID_FUNCTION = CodeInfo("PAL-237", "42P13", "invalid definition of a function")
    RAISED = CodeInfo("PAL-238", "P0001", "raised by a block or a function")
    UNKNOWN_TRIGGER = CodeInfo("PAL-239", "42704", "unknown trigger")
    INVALID_TRIGGER = CodeInfo("PAL-271", "42P17", "invalid definition of a trigger")
    DUPLICATE_TRIGGER = CodeInfo("PAL-270", "42710", "trigger exists already")
    POLICY = CodeInfo("PAL-240", "22023", "invalid policy")
    HELD = CodeInfo("PAL-241", "55000", "legal hold protects the rows")
    PRIVILEGE = CodeInfo("PAL-250", "42501", "privilege missing")
    UNKNOWN_ROLE = CodeInfo("PAL-251", "42704", "unknown role")
    DUPLICATE_ROLE = CodeInfo("PAL-252", "42710", "role exists already")
    GRANT = CodeInfo("PAL-253", "0LP01", "invalid GRANT or REVOKE")
    ROW_POLICY = CodeInfo("PAL-254", "42501", "row hidden by a row policy")
    EXPRESSION = CodeInfo("PAL-260", "22023", "invalid instance expression")
    ENTITY = CodeInfo("PAL-261", "22023", "invalid entity")
    UNKNOWN_ENTITY = CodeInfo("PAL-262", "42704", "unknown entity")
    DUPLICATE_ENTITY = CodeInfo("PAL-263", "42710", "entity exists already")
    DUPLICATE_KEY = CodeInfo("PAL-301", "23505", "duplicate key")
    NOT_NULL = CodeInfo("PAL-302", "23502", "null in a NOT NULL column")
    CHECK = CodeInfo("PAL-303", "23514", "check constraint violated")
    ROW_TWICE = CodeInfo("PAL-304", "21000", "statement would change a row twice")
    GENERATED_COLUMN = CodeInfo("PAL-305", "428C9", "generated column given a value")
    ERASED = CodeInfo("PAL-306", "23001", "erased identifier may not be written again")
    FOREIGN_KEY = CodeInfo("PAL-307", "23503", "foreign key violated")
    CASCADE_ROWS = CodeInfo("PAL-319", "54000", "foreign keys would change too many rows")
    MERGE_ERROR = CodeInfo("PAL-309", "23000", "MERGE met a THEN ERROR clause")
    CONVERSION = CodeInfo("PAL-310", "22P02", "value cannot be converted")
    OUT_OF_RANGE = CodeInfo("PAL-311", "22003", "value out of range")
    SEQUENCE_END = CodeInfo("PAL-308", "2200H", "sequence has reached its limit")
    DIVISION_BY_ZERO = CodeInfo("PAL-314", "22012", "division by zero")
    DATA = CodeInfo("PAL-312", "22000", "data error")
    MOMENT_RANGE = CodeInfo("PAL-316", "22008", "date or time out of range")
    MOMENT_TEXT = CodeInfo("PAL-317", "22007", "invalid text of a date, time or interval")
    LOGARITHM = CodeInfo("PAL-318", "2201E", "invalid argument of a logarithm")
    POWER = CodeInfo("PAL-320", "2201F", "invalid argument of a power or root")
    BUCKETS = CodeInfo("PAL-321", "2201G", "invalid argument of width_bucket")
    SUBSTRING = CodeInfo("PAL-322", "22011", "negative length of a substring")
    PATH_VARIABLE = CodeInfo("PAL-323", "42704", "unknown variable of a JSON path")
    PATTERN = CodeInfo("PAL-324", "2201B", "invalid regular expression")
    TEXT_LENGTH = CodeInfo("PAL-315", "22001", "text is too long for its column")
    CARDINALITY = CodeInfo("PAL-313", "21000", "subquery returned more than one row")
    SERIALIZATION = CodeInfo("PAL-401", "40001", "could not serialize access")
    FAILED_TRANSACTION = CodeInfo("PAL-402", "25P02", "transaction is aborted")
    READ_ONLY = CodeInfo("PAL-403", "25006", "read-only transaction")
    NO_TRANSACTION = CodeInfo("PAL-404", "25P01", "no transaction in progress")
    ACTIVE_TRANSACTION = CodeInfo("PAL-405", "25001", "transaction in progress")
    UNKNOWN_SAVEPOINT = CodeInfo("PAL-406", "3B001", "unknown savepoint")
    CANCELLED = CodeInfo("PAL-407", "57014", "statement cancelled")
    STATEMENT_TIME = CodeInfo("PAL-408", "57014", "statement took too long")
    LOCK_TIME = CodeInfo("PAL-409", "55P03", "lock took too long")
    WAREHOUSE_LOCKED = CodeInfo("PAL-501", "55006", "warehouse in use by another process")
    WAREHOUSE_FORMAT = CodeInfo("PAL-502", "58000", "not a warehouse this version can open")
    SEGMENT_DAMAGED = CodeInfo("PAL-503", "58030", "segment missing or damaged")
    STORE_WRITE = CodeInfo("PAL-504", "58030", "store could not be written")
    STORE = CodeInfo("PAL-505", "58000", "error of the store")
    OUT_OF_MEMORY = CodeInfo("PAL-506", "53200", "out of memory")
    FILE_ACCESS = CodeInfo("PAL-507", "58P01", "file cannot be read or written")
    OWNER_STOPPED = CodeInfo("PAL-530", "57P03", "the process that owns the warehouse is stopped")
    OWNER_LOST = CodeInfo("PAL-531", "08006", "the process that owned the warehouse has ended")
    NOT_SHARED = CodeInfo("PAL-532", "55006", "warehouse in use, and cannot be shared")
    ROWS_LOST = CodeInfo("PAL-533", "08007", "committed, but the rows it returns are lost")
    STORE_UNREACHABLE = CodeInfo("PAL-520", "08001", "server cannot be reached")
    STORE_LOGIN = CodeInfo("PAL-521", "28000", "server refuses the login")
    STORE_LOST = CodeInfo("PAL-522", "08006", "connection to the server lost")
    STORE_GRANT = CodeInfo("PAL-523", "42501", "missing grant in the database")
    STORE_READ_ONLY = CodeInfo("PAL-524", "25006", "server takes no writes")
    OUTCOME_UNKNOWN = CodeInfo("PAL-525", "08007", "outcome of a commit unknown")
    JOURNAL_SHAPE = CodeInfo("PAL-526", "42P16", "not a journal of the classic convention")
    FOREIGN_WRITE = CodeInfo("PAL-527", "40001", "somebody else wrote to the journal")
    VERSION_AHEAD = CodeInfo("PAL-528", "55000", "a version lies too far ahead of the clock")
    CLOSED = CodeInfo("PAL-601", "08003", "connection or cursor is closed")
    NO_RESULT = CodeInfo("PAL-602", "24000", "no result to fetch")
    URL = CodeInfo("PAL-603", "08001", "cannot connect with this URL")
    DRIVER_MISSING = CodeInfo("PAL-604", "08001", "a package the store needs is not installed")
    INTERFACE = CodeInfo("PAL-605", "HY000", "wrong use of the interface")
    PROTOCOL = CodeInfo("PAL-606", "08P01", "protocol violation")
    ENCODING = CodeInfo("PAL-607", "22021", "text that is not UTF-8")
    TOO_MANY_CONNECTIONS = CodeInfo("PAL-608", "53300", "too many connections")
    LOGIN = CodeInfo("PAL-609", "28000", "login refused")
    PASSWORD = CodeInfo("PAL-611", "28P01", "password authentication failed")
    IDLE = CodeInfo("PAL-612", "57P05", "connection idle for too long")
    IDLE_TRANSACTION = CodeInfo("PAL-613", "25P03", "transaction idle for too long")
    TERMINATED = CodeInfo("PAL-614", "57P01", "connection ended by the server")
    NO_CURSOR = CodeInfo("PAL-610", "34000", "unknown portal or cursor")
    CURSOR_DIRECTION = CodeInfo("PAL-619", "55000", "cursor can only scan forward")
    INSTANCE_FENCED = CodeInfo("PAL-620", "40001", "attempt of an instance may no longer commit")
    PROCESS_SQL = CodeInfo("PAL-621", "42601", "process cannot run this statement")
    APPLICATION_FAILED = CodeInfo("PAL-622", "58000", "application of a process failed")
    UNKNOWN_INSTANCE = CodeInfo("PAL-623", "42704", "unknown instance")
    PROCESS_STORE = CodeInfo("PAL-624", "08001", "the store of a process cannot be reached")
    SAFE_MODE = CodeInfo("PAL-650", "55000", "the store is in safe mode")
    STALE_ENTITY = CodeInfo("PAL-651", "40001", "entity changed meanwhile")
    HTTP_REQUEST = CodeInfo("PAL-652", "22023", "invalid request over HTTP")
    REPLICA = CodeInfo("PAL-640", "25006", "replica takes no writes")
    REPLICATION = CodeInfo("PAL-641", "55000", "the target cannot take the replica")
    DIVERGED = CodeInfo("PAL-642", "55000", "replica and source have both changed")
    UNKNOWN_REPLICA = CodeInfo("PAL-643", "42704", "unknown replica")
    EXECUTE_VALUES = CodeInfo("PAL-644", "42601", "wrong values for EXECUTE")
    ARRAY_SIZES = CodeInfo("PAL-660", "2202E", "array parts that do not fit")
    UNKNOWN_POLICY = CodeInfo("PAL-648", "42704", "unknown policy")
    DUPLICATE_POLICY = CodeInfo("PAL-649", "42710", "policy exists already")
    PRIVACY_REQUEST = CodeInfo("PAL-630", "22023", "invalid privacy request")
    UNKNOWN_PRIVACY_REQUEST = CodeInfo("PAL-631", "42704", "unknown privacy request")
    PRIVACY_POLICY = CodeInfo("PAL-632", "22023", "invalid policy of the privacy desk")
    EVIDENCE = CodeInfo("PAL-633", "XX001", "evidence does not verify")
    LOGIN_RATE = CodeInfo("PAL-636", "53400", "too many logins")
    ROW_POLICY_LOOP = CodeInfo("PAL-635", "42P17", "infinite recursion in a row policy")
    PRIVACY_ACTION = CodeInfo("PAL-634", "22023", "erasure cannot change this column")
    ERASURE = CodeInfo("PAL-510", "55000", "erasure cannot be done as asked")
    DUPLICATE_ERASURE = CodeInfo("PAL-512", "42710", "an open request erases the same people")
    NORMALISER = CodeInfo("PAL-513", "55000", "normaliser differs from that of recorded hashes")
    PACKAGE = CodeInfo("PAL-511", "58030", "access package cannot be opened")
    JOB_FAILED = CodeInfo("PAL-701", "58000", "job failed")
    JOB_VERIFICATION = CodeInfo("PAL-702", "XX001", "a job's result did not verify")
    JOB_BUSY = CodeInfo("PAL-703", "55P03", "another job holds the table")
    BACKUP = CodeInfo("PAL-705", "55000", "no backup to restore, or name of a backup taken")
    JOB_ENGINE = CodeInfo("PAL-704", "58000", "the engine of jobs could not be started")


OF_VALUES = frozenset(
    {
        *(Code.CONVERSION, Code.OUT_OF_RANGE, Code.DATA, Code.MOMENT_RANGE, Code.MOMENT_TEXT),
        *(Code.LOGARITHM, Code.POWER, Code.BUCKETS, Code.SUBSTRING),
    }
)
"""What stores say of a value, which the rows or the statement itself may have given."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the statement text: 1-based line and column."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


_OF_DATA = frozenset({"22", "23"})
"""Classes of SQLSTATE whose messages quote values that rows have, or would have."""
_OF_DEFINITIONS = frozenset({Code.SETTING_VALUE, Code.POLICY, Code.EXPRESSION, Code.ENTITY})
"""Codes of these classes that speak of settings and declarations."""


class PalimpsestError(Exception):
    """One error of the project: code, message, advice, and where known the position."""

    quotes = False
    """Whether the message may quote values of rows, so that no record keeps it."""

    def __init__(
        self, code: Code, message: str, *, advice: str = "", position: Position | None = None
    ) -> None:
        self.code = code
        self.message = message
        self.advice = advice
        self.position = position
        super().__init__(message)

    @property
    def sqlstate(self) -> str:
        """The five-character SQLSTATE of the code."""
        return self.code.value.sqlstate

    @property
    def recorded(self) -> str:
        """The message for a record that is kept: its code's title where it may quote rows.

        >>> PalimpsestError(Code.CONVERSION, "'ada@x.org' is no INTEGER").recorded
        'value cannot be converted'
        """
        is_of_data = self.sqlstate[:2] in _OF_DATA and self.code not in _OF_DEFINITIONS
        quotes = is_of_data or (self.quotes and self.code is not Code.HELD)
        return self.code.value.title if quotes else self.message

    def __str__(self) -> str:
        where = f" ({self.position})" if self.position else ""
        help_line = f" Hint: {self.advice}" if self.advice else ""
        return f"[{self.code.value.code}] {self.message}{where}{help_line}"
