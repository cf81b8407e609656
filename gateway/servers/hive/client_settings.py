"""Statements that clients of Hive send for themselves: SET, USE default, SHOW, DESCRIBE.

Settings of Hive, Hadoop and Spark are kept and shown again, and change nothing. What the gateway's
own session answers in another shape is answered here as Hive does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from gateway.access.run_as import RUN_AS
from gateway.servers.hive.catalog_tables import CatalogTables
from gateway.session.outcome import StatementOutcome
from gateway.session.session import Session
from journal.model.errors import Code, PalimpsestError

Work = Callable[[], StatementOutcome]
DIALECT = "palimpsest.dialect"
PROXY_USER = "hive.server2.proxy.user"
_OWN = "palimpsest."
_FOREIGN = re.compile(
    r"(hive|spark|mapred|mapreduce|tez|dfs|fs|yarn|parquet|orc|io|hadoop|metastore|datanucleus"
    r"|javax|hiveconf|hivevar|system|env|metaconf|impala|kyuubi)[.:].*|(silent|stats_.*)",
    re.IGNORECASE | re.DOTALL,
)
_ZONES = frozenset({"spark.sql.session.timezone", "hive.local.time.zone"})
_PREFIXES = ("set:hiveconf:", "set:hivevar:", "set:system:", "set:", "hiveconf:", "hivevar:")
_SET = re.compile(r"\s*set(?:\s+(?P<rest>.*?))?\s*;?\s*", re.IGNORECASE | re.DOTALL)
_RESET = re.compile(r"\s*reset(?:\s+(?P<name>[\w.:]+))?\s*;?\s*", re.IGNORECASE)
_USE = re.compile(r"\s*use\s+[`\"]?default[`\"]?\s*;?\s*", re.IGNORECASE)
_CURRENT_DATABASE = re.compile(
    r"\s*select\s+current_database\s*\(\s*\)(?:\s+(?:as\s+)?(?P<name>\w+))?\s*;?\s*", re.IGNORECASE
)
_NAME = r"`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|\w+"
_SHOW_SCHEMAS = re.compile(
    r"\s*show\s+(?:databases|schemas)(?:\s+(?:like\s+)?'(?P<like>[^']*)')?\s*;?\s*", re.IGNORECASE
)
_SHOW_TABLES = re.compile(
    rf"\s*show\s+(?P<what>tables|views)(?:\s+(?:in|from)\s+(?P<schema>{_NAME}))?"
    r"(?:\s+(?:like\s+)?'(?P<like>[^']*)')?\s*;?\s*",
    re.IGNORECASE,
)
_DESCRIBE = re.compile(
    r"\s*desc(?:ribe)?\s+(?:table\s+)?(?:(?:formatted|extended)\s+)?"
    rf"(?P<name>(?:{_NAME})(?:\s*\.\s*(?:{_NAME}))?)\s*;?\s*",
    re.IGNORECASE,
)


def run_as_of(given: Mapping[str, str]) -> dict[str, str]:
    """For whom a client connects, as the setting of our own; nothing where it is for itself."""
    found = [value for key, value in given.items() if _plain_name(key).lower() == PROXY_USER]
    return {RUN_AS: found[-1]} if found else {}


def _plain_name(key: str) -> str:
    for prefix in _PREFIXES:
        key = key.removeprefix(prefix)
    return key


class ClientSettings:
    """The settings that a client has given, and its statements that are answered here."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def start(self, session: Session, given: Mapping[str, str]) -> None:
        """Take what a client gives as it connects; raises UNKNOWN_SCHEMA, SETTING_VALUE."""
        schema = None
        for key, value in given.items():
            if key == "use:database":
                schema = value
                continue
            name = _plain_name(key)
            if name.lower().startswith(_OWN) or name.lower() in _ZONES:
                self._set(session, name, value)
            else:
                self._kept[name] = value
        if schema and not self._is_default(session, schema):
            quoted = schema.replace("`", "``")
            session.execute(f"USE `{quoted}`")

    def answer_to(self, text: str, session: Session) -> Work | None:
        """What answers a statement in the session's place; None where the session does."""
        if found := _SET.fullmatch(text):
            return self._answer_to_set(found["rest"] or "", session)
        if found := _RESET.fullmatch(text):
            return self._answer_to_reset(found["name"], session)
        if _USE.fullmatch(text) and self._is_default(session, "default"):
            return lambda: self._use_home(session)
        if session.dialect != "hive":
            return None
        if found := _CURRENT_DATABASE.fullmatch(text):
            # What Hive calls a database is a schema.
            text = f"SELECT current_schema() AS `{found['name'] or '_c0'}`"
            return lambda: session.execute(text)
        if found := _SHOW_SCHEMAS.fullmatch(text):
            like = found["like"]
            return lambda: _table(session, CatalogTables(session).schema_names(like))
        if found := _SHOW_TABLES.fullmatch(text):
            what, like = found["what"].lower(), found["like"]
            schema = _unquoted(found["schema"]) if found["schema"] else None
            return lambda: _table(session, CatalogTables(session).table_names(schema, what, like))
        if found := _DESCRIBE.fullmatch(text):
            names = [_unquoted(name) for name in re.findall(_NAME, found["name"])]
            if names[0].lower() not in {"query", "history", "function", "database", "schema"}:
                return lambda: _table(session, CatalogTables(session).described(names))
        return None

    def _answer_to_set(self, rest: str, session: Session) -> Work | None:
        if rest.lower() in {"", "-v"}:
            return lambda: _table(session, self._all_settings(session))
        name, sign, value = (part.strip() for part in rest.partition("="))
        lower = name.lower()
        if not sign:
            is_ours = lower.startswith(_OWN)
            if not (is_ours or _FOREIGN.fullmatch(name) or name in self._kept):
                return None
            return lambda: _table(session, self._one(session, name))
        if lower == PROXY_USER:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{PROXY_USER} counts as a session begins, not later",
                advice="connect anew, with the setting in the URL",
            )
        if lower.startswith(_OWN) or lower in _ZONES:
            return lambda: self._set(session, name, value)
        if _FOREIGN.fullmatch(name):
            return lambda: self._keep(name, value)
        return None

    def _answer_to_reset(self, name: str | None, session: Session) -> Work | None:
        if name is None:

            def forget() -> StatementOutcome:
                self._kept.clear()
                return session.execute("RESET ALL")

            return forget
        if name in self._kept:
            return lambda: self._keep(name, None)
        return None

    def _keep(self, name: str, value: str | None) -> StatementOutcome:
        if value is None:
            self._kept.pop(name, None)
        else:
            self._kept[name] = value
        return StatementOutcome("SET")

    def _set(self, session: Session, name: str, value: str) -> StatementOutcome:
        """Change a setting of the session's own."""
        plain = value.strip().strip("'\"")
        if name.lower() == DIALECT:
            if plain not in {"hive", "spark"}:
                raise PalimpsestError(
                    Code.SETTING_VALUE,
                    f"clients of Hive cannot speak the dialect {plain!r}",
                    advice="set palimpsest.dialect to hive or spark",
                )
            session.dialect = plain
            session.settings = replace(session.settings, dialect=plain)
            return StatementOutcome("SET")
        if name.lower() in _ZONES:
            session.settings = session.settings.with_setting("timezone", plain)
            return self._keep(name, plain)
        session.settings = session.settings.with_setting(name[len(_OWN) :], plain)
        return StatementOutcome("SET")

    def _one(self, session: Session, name: str) -> pa.Table:
        if name.lower() == DIALECT:
            text = f"{name}={session.dialect}"
        elif name.lower().startswith(_OWN):
            text = f"{name}={session.settings.text_of(name[len(_OWN) :])}"
        else:
            kept = self._kept.get(name)
            text = f"{name} is undefined" if kept is None else f"{name}={kept}"
        return pa.table({"set": pa.array([text], pa.string())})

    def _all_settings(self, session: Session) -> pa.Table:
        own = {f"{_OWN}{name}": value for name, value, _ in session.settings.rows()}
        every = {**own, DIALECT: session.dialect, **self._kept}
        lines = [f"{name}={'' if value is None else value}" for name, value in every.items()]
        return pa.table({"set": pa.array(sorted(lines), pa.string())})

    def _is_default(self, session: Session, schema: str) -> bool:
        """True for Hive's default schema where the warehouse's own has another name."""
        catalog = session.catalog
        return schema.lower() == "default" and "default" not in catalog.schemas

    def _use_home(self, session: Session) -> StatementOutcome:
        session.settings = session.settings.with_search_path((session.catalog.home,))
        return StatementOutcome("SET")


def _table(session: Session, table: pa.Table) -> StatementOutcome:
    return session.executor.table_outcome("SHOW", table)


def _unquoted(name: str) -> str:
    if name[:1] in {"`", '"'}:
        return name[1:-1].replace(name[0] * 2, name[0])
    return name
