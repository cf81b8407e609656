"""Triggers and functions in PL/pgSQL in ``pg_catalog``. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.servers.pg_catalog import numbering
from gateway.servers.pg_catalog.definitions import function_definition, quote_name
from gateway.servers.pg_catalog.shown_texts import shown_expression
from journal.model.named_definitions import Routine
from journal.model.schema import CatalogSnapshot, Table, TableName
from journal.model.triggers import INSERT, UPDATE, Trigger
from rewriter.definitions.canonical_texts import canonical_text
from rewriter.definitions.trigger_bodies import expression_of
from rewriter.syntax.statements.function_bodies import condition_of

Row = dict[str, Any]
TRIGGER_TEXTS = {
    "oid": "UINTEGER",
    **dict.fromkeys(("head", "nspname", "relname", "middle", "proschema", "proname"), "VARCHAR"),
}
"""The parts of a trigger's definition; schemas stand in it only where they are not searched."""
_ROW, _BEFORE, _BITS = 1, 2, {INSERT: 4, UPDATE: 16}
_TRIGGER, _VOID, _ANY, _PLPGSQL, _SQL = 2279, 2278, 2276, 13_553, 14


def add_triggers(
    rows: dict[str, list[Row]], catalog: CatalogSnapshot, shown: Callable[[str], str]
) -> None:
    """Put them into the rows by relation; ``shown`` is what clients read as a schema's name."""
    rows["pg_language"] = [
        {
            "oid": oid, "lanname": name, "lanowner": numbering.OWNER, "lanispl": oid == _PLPGSQL,
            "lanpltrusted": True, "lanplcallfoid": 0, "laninline": 0, "lanvalidator": 0,
        }
        for oid, name in ((_SQL, "sql"), (_PLPGSQL, "plpgsql"))
    ]  # fmt: skip
    for found in catalog.definitions.values():
        if isinstance(found, Routine):
            _add_routine(rows, found, catalog, shown)
    for table in catalog.tables():
        for trigger in table.triggers:
            _add_trigger(rows, table, trigger, shown, catalog.home)


def _add_routine(
    rows: dict[str, list[Row]],
    found: Routine,
    catalog: CatalogSnapshot,
    shown: Callable[[str], str],
) -> None:
    oid = numbering.routine_oid(found.name)
    rows.setdefault("pg_proc", []).append(
        {
            "oid": oid, "proname": found.name.name, "prokind": "f", "prolang": _PLPGSQL,
            "pronamespace": numbering.schema_oid(found.name.schema, catalog),
            "proowner": numbering.OWNER, "procost": 100.0, "prorows": 0.0, "provariadic": 0,
            "prosecdef": False, "proleakproof": False, "proisstrict": False, "proretset": False,
            "provolatile": "v", "proparallel": "u", "pronargs": len(found.parameters),
            "pronargdefaults": sum(default is not None for _, _, default in found.parameters),
            "prorettype": _TRIGGER if found.is_trigger else _VOID,
            "proargnames": [name for name, _, _ in found.parameters] or None,
            "proargtypes": [_ANY] * len(found.parameters), "prosupport": "-", "prosrc": found.body,
        }
    )  # fmt: skip
    named = [f"{parameter} {kind.lower()}" for parameter, kind, _ in found.parameters]
    defaults = [default for _, _, default in found.parameters]
    full = [n if d is None else f"{n} DEFAULT {d}" for n, d in zip(named, defaults, strict=True)]
    name = TableName(shown(found.name.schema), found.name.name)
    given = ", ".join(full)
    definition = function_definition(name, given, found.returns, "plpgsql", found.body)
    rows.setdefault("function_texts", []).append(
        {"oid": oid, "arguments": given, "identity": ", ".join(named),
         "result": found.returns, "definition": definition}
    )  # fmt: skip
    _describe(rows, "pg_proc", oid, found.comment)


def _add_trigger(
    rows: dict[str, list[Row]],
    table: Table,
    trigger: Trigger,
    shown: Callable[[str], str],
    home: str,
) -> None:
    oid = numbering.trigger_oid(table, trigger.name)
    places = {column.physical: n for n, column in enumerate(table.columns, 1)}
    names = {column.physical: column.name for column in table.columns}
    condition = None if trigger.condition is None else _condition(trigger.condition, home)
    rows.setdefault("pg_trigger", []).append(
        {
            "oid": oid, "tgrelid": numbering.relation_oid(table), "tgparentid": 0,
            "tgname": trigger.name, "tgfoid": numbering.routine_oid(TableName(*trigger.function)),
            "tgtype": _ROW | _BEFORE | sum(_BITS[event] for event in trigger.events),
            "tgenabled": "O" if trigger.enabled else "D", "tgisinternal": False,
            "tgconstrrelid": 0, "tgconstrindid": 0, "tgconstraint": 0, "tgdeferrable": False,
            "tginitdeferred": False, "tgnargs": len(trigger.arguments),
            "tgattr": [places[c] for c in trigger.columns], "tgargs": "", "tgqual": condition,
        }
    )  # fmt: skip
    columns = ", ".join(quote_name(names[c]) for c in trigger.columns)
    of = {UPDATE: f"UPDATE OF {columns}" if columns else UPDATE}
    # PostgreSQL names them in this order, however they were declared.
    events = " OR ".join(of.get(e, e) for e in (INSERT, UPDATE) if e in trigger.events)
    when = "" if condition is None else f"WHEN ({condition}) "
    schema, function = trigger.function
    given = ", ".join("'" + text.replace("'", "''") + "'" for text in trigger.arguments)
    rows.setdefault("trigger_texts", []).append(
        {
            "oid": oid, "head": f"CREATE TRIGGER {quote_name(trigger.name)} BEFORE {events} ON ",
            "nspname": shown(table.name.schema), "relname": quote_name(table.name.name),
            "middle": f" FOR EACH ROW {when}EXECUTE FUNCTION ", "proschema": shown(schema),
            "proname": f"{quote_name(function)}({given})",
        }
    )  # fmt: skip
    _describe(rows, "pg_trigger", oid, trigger.comment)


def _condition(text: str, home: str) -> str:
    """The condition of WHEN as PostgreSQL spells it, in parentheses."""
    tree = expression_of(condition_of(text)).unnest()
    shown = shown_expression(canonical_text(tree), home)
    return shown if shown.startswith("(") else f"({shown})"


def _describe(rows: dict[str, list[Row]], of: str, oid: int, comment: str | None) -> None:
    if comment is not None:
        rows.setdefault("pg_description", []).append(
            {
                "objoid": oid, "classoid": numbering.CATALOGS[of], "objsubid": 0,
                "description": comment,
            }
        )  # fmt: skip
