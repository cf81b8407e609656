"""Settings: of the process when it opens a warehouse, and of a session while it lasts.

Each has a default, a type and one line that says what it is; ``system.settings`` shows them.
"""

from __future__ import annotations

import re
from dataclasses import Field, field, fields, replace
from difflib import get_close_matches
from typing import Any

from gateway.session.durations import duration_text, milliseconds
from gateway.session.taken_settings import taken_settings
from gateway.sharing.time_zone import process_zone
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import DEFAULT_SCHEMA
from rewriter.dialect_semantics import (
    NULLS_FIRST,
    NULLS_LARGE,
    NULLS_LAST,
    NULLS_SMALL,
    VARIABLE,
    QuerySettings,
)
from rewriter.limits import Limits


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


class ProcessCache(dict[str, Any]):
    """What this process has computed of a value; the value goes to other processes without it."""

    def __reduce__(self) -> tuple[type[ProcessCache], tuple[()]]:
        return ProcessCache, ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What SET changes; a frozen value, replaced whole."""

    schema: str = _setting(DEFAULT_SCHEMA, "schema of names without one")
    as_of: str | None = _setting(None, "point in time the whole connection reads; empty: now")
    commit_message: str | None = _setting(None, "message recorded with the next commits")
    application: str | None = _setting(None, "application name recorded with commits")
    retries: int = _setting(10, "how often an autocommit statement is tried again on a conflict")
    flush_rows: int = _setting(250_000, "rows in a head after which it is sealed; 0: never")
    memory_rows: int = _setting(50_000, "rows a statement may buffer; above, they go to a file")
    max_statement_chars: int = _setting(16_000_000, "longest statement, in characters")
    max_nesting_depth: int = _setting(100, "deepest nesting of parentheses")
    max_list_items: int = _setting(100_000, "most rows of VALUES, most items of an IN list")
    max_cascade_rows: int = _setting(1_000_000, "most rows that foreign keys change in a statement")
    job_engine: str = _setting("auto", "where jobs run: spark, local, or auto: where it is sooner")
    spark_master: str = _setting("local[*]", "Spark master of jobs")
    partial_history: int = _setting(0, "1: read a past whose versions a policy has removed")
    suppressed_rows: str = _setting("refuse", "erased rows of bulk loads: refuse all, or skip them")
    timezone: str | None = _setting(None, "time zone in which timestamps are read and shown")
    statement_timeout: int = _setting(0, "longest time of a statement, 500ms or 5s; 0: any")
    lock_timeout: int = _setting(0, "longest wait for an advisory lock, 500ms or 5s; 0: any")
    idle_in_transaction_session_timeout: int = _setting(
        0, "after which a server ends a connection that leaves a transaction idle; 0: never"
    )
    idle_session_timeout: int = _setting(
        0, "after which a server ends a connection that is idle; 0: never"
    )
    default_transaction_read_only: str = _setting(
        "off", "on: transactions write only after BEGIN READ WRITE"
    )
    default_null_order: str = _setting(NULLS_LAST, "where NULL stands in an ORDER BY")
    default_order: str = _setting("asc", "direction of an ORDER BY that gives none")
    order_by_non_integer_literal: str = _setting("false", "true: ORDER BY a text orders nothing")
    scalar_subquery_error_on_multiple_rows: str = _setting("true", "false: the first row counts")
    integer_division: str = _setting("false", "true: / divides as // does")
    dialect: str = "duckdb"
    """That of the session; not a setting."""
    taken: tuple[tuple[str, str], ...] = ()
    """Values of settings without effect, by name, where they are not the default."""
    prepared: tuple[tuple[str, str], ...] = ()
    """The texts of PREPARE statements by folded name; they go where the session goes."""
    variables: tuple[tuple[str, str], ...] = ()
    """The values of SET VARIABLE by folded name, as SQL."""
    home: str = DEFAULT_SCHEMA
    """The default schema of the store; not a setting."""
    role: int | None = None
    """The role whose privileges count, by its id; None may do everything. SET ROLE changes it."""
    login_role: int | None = None
    """The role that has logged in, to which RESET ROLE goes back."""
    control_store: str | None = None
    """The control store that is named for the session, where it is another; not a setting."""
    path: tuple[str, ...] = ()
    """The schemas that were set by SET or USE, of which ``schema`` is the first; none before."""
    cache: ProcessCache = field(init=False, default_factory=ProcessCache, compare=False, repr=False)
    """What was computed of these settings, by a name for each; not a setting."""

    def in_home_schema(self, schema: str) -> Settings:
        """These settings in a store with another default schema."""
        moved = schema if self.schema == self.home else self.schema
        return replace(self, schema=moved, home=schema)

    @property
    def unrestricted(self) -> Settings:
        """These settings for what the gateway itself does, whoever the client is."""
        return self if self.role is None else replace(self, role=None)

    @property
    def query_settings(self) -> QuerySettings:
        """What changes the meaning of queries."""
        return QuerySettings(
            self.default_null_order,
            self.default_order == "desc",
            self.order_by_non_integer_literal == "true",
            self.scalar_subquery_error_on_multiple_rows == "false",
            self.integer_division == "true",
            bool(self.path) and self.dialect == "duckdb",
        )

    @property
    def is_read_only(self) -> bool:
        """True for a session that writes nothing."""
        return self.default_transaction_read_only == "on"

    @property
    def limits(self) -> Limits:
        """The limits of a statement."""
        return Limits(
            self.max_statement_chars,
            self.max_nesting_depth,
            self.max_list_items,
            self.max_cascade_rows,
        )

    @property
    def search_path(self) -> tuple[str, ...]:
        """The schemas, in order, that the gateway searches for names without one."""
        return self.path or (self.schema,)

    def with_search_path(self, schemas: tuple[str, ...]) -> Settings:
        """These settings with another ``search_path``."""
        return replace(self, schema=schemas[0], path=schemas)

    def with_setting(self, name: str, value: Any) -> Settings:
        """A copy with one setting changed; None sets its default."""
        key = _ALIASES.get(name.lower(), name.lower())
        if self.role is not None and key in _OF_OPERATORS:
            raise PalimpsestError(
                Code.PRIVILEGE,
                f"permission denied to set {key}: it says where programs of the server run",
                advice="who runs the server sets it",
            )
        known = {f.name: f for f in _settable()}
        others = taken_settings(self.dialect)
        if key in others:
            rest = tuple(pair for pair in self.taken if pair[0] != key)
            given = () if value is None else ((key, others[key].checked(key, str(value))),)
            return replace(self, taken=rest + given)
        if self._is_custom(key):
            rest = tuple(pair for pair in self.taken if pair[0] != key)
            # As in PostgreSQL it stays known, as an empty text.
            return replace(self, taken=(*rest, (key, "" if value is None else str(value))))
        if key not in known or (key in _DUCKDB_ONLY and self.dialect != "duckdb"):
            raise self._unknown_setting(name)
        if value is None:
            if key == "schema":
                return replace(self, schema=self.home, path=())
            return self._replaced(key, known[key].default)
        if key in _DURATIONS:
            return self._replaced(key, milliseconds(key, str(value)))
        if "int" in str(known[key].type):
            try:
                number = int(value)
            except (TypeError, ValueError):
                number = -1
            if number < 0:
                raise PalimpsestError(
                    Code.SETTING_VALUE,
                    f"{key} needs a whole number, not {value!r}",
                    advice="give 0 or more",
                )
            return self._replaced(key, number)
        if key in _CHOICES:
            return self._replaced(key, _chosen(key, value))
        if key == "timezone":
            is_posix = self.dialect in {"postgres", "postgresql"}
            return self._replaced(key, zone_name(str(value), is_posix=is_posix))
        return self._replaced(key, str(value) or None)

    def with_start(self, name: str, start: Settings) -> Settings:
        """A copy with one setting as a session began with it; raises UNKNOWN_SETTING."""
        reset = self.with_setting(name, None)
        key = _ALIASES.get(name.lower(), name.lower())
        if key == "schema":
            return replace(reset, schema=start.schema, path=start.path)
        if key in {f.name for f in _settable()}:
            return replace(reset, **{key: getattr(start, key)})
        given = tuple(pair for pair in start.taken if pair[0] == key)
        rest = tuple(pair for pair in reset.taken if pair[0] != key)
        return replace(reset, taken=rest + given) if given else reset

    def _is_custom(self, key: str) -> bool:
        """True for a name that only programs know, ``app.tenant``, in PostgreSQL's dialect."""
        return "." in key and self.dialect in {"postgres", "postgresql"}

    def _unknown_setting(self, name: str) -> PalimpsestError:
        known = [found for found, _, _ in self.rows()]
        close = get_close_matches(name.lower(), [*known, *_ALIASES], n=3, cutoff=0.7)
        close = [found for found in close if _ALIASES.get(found, found) in known]
        advice = "SELECT * FROM system.settings lists them"
        if close:
            advice = f"did you mean {' or '.join(close)}? {advice}"
        return PalimpsestError(Code.UNKNOWN_SETTING, f'there is no setting "{name}"', advice=advice)

    def _replaced(self, key: str, value: Any) -> Settings:
        change: dict[str, Any] = {key: value}
        if key == "schema":
            change["path"] = (value,) if value else ()
        return replace(self, **change)

    def with_variable(self, name: str, value: str | None) -> Settings:
        """A copy with one variable changed; None takes it away."""
        rest = tuple(pair for pair in self.variables if pair[0] != name.lower())
        given = () if value is None else ((name.lower(), value),)
        return replace(self, variables=rest + given)

    def text_of(self, name: str) -> str | None:
        """The value of one setting as text, of a variable as SQL; raises UNKNOWN_SETTING."""
        key = name.lower()
        if key.startswith(VARIABLE):
            return dict(self.variables).get(key.removeprefix(VARIABLE))
        if key == "search_path":
            return ", ".join(self.search_path)
        if self._is_custom(key):
            if key not in dict(self.taken):
                raise self._unknown_setting(name)
            return dict(self.taken)[key]
        self.with_setting(name, None)
        key = _ALIASES.get(key, key)
        return next(value for found, value, _ in self.rows() if found == key)

    def _when_unset(self, name: str) -> str | None:
        """What is shown of a setting without a value: in PostgreSQL's dialect always a text."""
        is_postgres = self.dialect in {"postgres", "postgresql"}
        if name == "timezone" and (is_postgres or self.dialect == "duckdb"):
            return process_zone()
        return "" if is_postgres else None

    def rows(self) -> list[tuple[str, str | None, str]]:
        """Name, value and meaning of each setting."""
        found = []
        for entry in _settable():
            if entry.name in _DUCKDB_ONLY and self.dialect != "duckdb":
                continue
            value = getattr(self, entry.name)
            shown = self._when_unset(entry.name) if value is None else str(value)
            shown = duration_text(value) if entry.name in _DURATIONS else shown
            found.append((entry.name, shown, str(entry.metadata["about"])))
        given = dict(self.taken)
        for name, taken in sorted(taken_settings(self.dialect).items()):
            found.append((name, given.pop(name, taken.default), taken.about))
        found += [(name, value, _CUSTOM) for name, value in sorted(given.items())]
        return found


def _chosen(key: str, value: Any) -> str:
    """The value of a setting that has a few; raises SETTING_VALUE for others."""
    choices, advice = _CHOICES[key]
    given = "_".join(str(value).lower().split())
    if given not in choices:
        shown = " or ".join(dict.fromkeys(choices.values()))
        raise PalimpsestError(Code.SETTING_VALUE, f"{key} is {shown}, not {value!r}", advice=advice)
    return choices[given]


def _settable() -> list[Field[Any]]:
    return [f for f in fields(Settings) if "about" in f.metadata]


def zone_name(text: str, *, is_posix: bool) -> str | None:
    """The name of a time zone, or of an offset of whole hours; None: that of the process.

    ``is_posix``: UTC-05 and -05:00 lie east of Greenwich, as for PostgreSQL, which reads -5 alone
    by the signs of ISO. Raises SETTING_VALUE for such an offset that is no whole hour.
    """
    if text.upper() in {"", "LOCAL", "DEFAULT", "SYSTEM"}:
        return None
    posix = _POSIX.fullmatch(text) if is_posix else None
    offset = _OFFSET.fullmatch(text)
    if posix is not None:
        if posix[3] not in {None, "00"}:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"timezone is a name or an offset of whole hours, not {text!r}",
                advice="name a place, such as Asia/Kolkata",
            )
        sign, hours = posix[1] or "+", int(posix[2])
    elif offset is not None:
        # In names of this kind the sign says how far Greenwich is behind.
        sign, hours = "-" if offset[1] == "+" else "+", int(offset[2])
    else:
        return text
    return "UTC" if not hours else f"Etc/GMT{sign}{hours}"


_DURATIONS = frozenset(
    {
        *("statement_timeout", "lock_timeout"),
        *("idle_in_transaction_session_timeout", "idle_session_timeout"),
    }
)
_OF_OPERATORS = frozenset({"job_engine", "spark_master"})
_CUSTOM = "a program's own"
_NULL_ORDERS = {
    **dict.fromkeys((NULLS_FIRST, "null_first", "first"), NULLS_FIRST),
    **dict.fromkeys((NULLS_LAST, "null_last", "last"), NULLS_LAST),
    **dict.fromkeys((NULLS_SMALL, "sqlite", "mysql"), NULLS_SMALL),
    **dict.fromkeys((NULLS_LARGE, "postgres"), NULLS_LARGE),
}
_FLAGS = {
    **dict.fromkeys(("true", "on", "1", "yes"), "true"),
    **dict.fromkeys(("false", "off", "0", "no"), "false"),
}
_CHOICES: dict[str, tuple[dict[str, str], str]] = {
    "default_transaction_read_only": (
        {**dict.fromkeys(_FLAGS, "off"), **{k: "on" for k, v in _FLAGS.items() if v == "true"}},
        "on refuses whatever would write",
    ),
    "suppressed_rows": (
        {"refuse": "refuse", "skip": "skip"},
        "skip leaves out rows that were erased, and counts them",
    ),
    "default_null_order": (_NULL_ORDERS, "write NULLS FIRST or NULLS LAST where it matters"),
    "default_order": (
        {"asc": "asc", "ascending": "asc", "desc": "desc", "descending": "desc"},
        "write ASC or DESC where it matters",
    ),
    "order_by_non_integer_literal": (_FLAGS, "true lets ORDER BY name a text, which does nothing"),
    "integer_division": (_FLAGS, "true makes / divide as // does"),
    "scalar_subquery_error_on_multiple_rows": (_FLAGS, "false takes the first of several rows"),
}
"""What a value may be, as it is given and as it is kept, and advice."""
_DUCKDB_ONLY = frozenset(_CHOICES) - {"suppressed_rows", "default_transaction_read_only"}
_POSIX = re.compile(r"(?:[A-Za-z]{3,}(?=[-+\d])|(?=[-+]\d+:))([+-]?)(\d{1,2})(?::(\d\d))?")
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?00)?")
_ALIASES = {
    "search_path": "schema",
    "application_name": "application",
    "system_versioning_asof": "as_of",
    "time_zone": "timezone",
    "null_order": "default_null_order",
    "read_only": "default_transaction_read_only",
    "transaction_read_only": "default_transaction_read_only",
}
