"""Which privileges a role needs for CALL, ERASE and the files of COPY."""

from __future__ import annotations

from sqlglot import exp

from gateway.config import Settings
from journal.model.access import DATABASE_KEY, Privilege, Rights
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, fold, relation_key
from journal.model.visibility import visible_to
from rewriter.context import RewriteContext, no_scan_info
from rewriter.name_resolution import table_name, unknown_table
from rewriter.statement import Call, Erase, SqlStatement
from rewriter.syntax.parsing import Parsed

_OF_TABLES = frozenset({"flush", "create_index", "compact", "retain", "verify", "vacuum"})
"""Procedures that a role with MAINTAIN on a table may run for it."""
_OF_DATABASE = {
    "hold": Privilege.HOLD,
    "release": Privilege.HOLD,
    "purge": Privilege.ERASE,
    "access": Privilege.ACCESS,
    "drop_rejects": Privilege.ERASE,
    "privacy_submit": Privilege.ERASE,
    "privacy_verify": Privilege.ERASE,
    "privacy_hold": Privilege.ERASE,
    "privacy_release": Privilege.ERASE,
    "privacy_cancel": Privilege.ERASE,
    "privacy_lift": Privilege.ERASE,
    "privacy_run": Privilege.ERASE,
    "privacy_approve": Privilege.APPROVE,
    "privacy_deny": Privilege.APPROVE,
}
"""The privileges that others take; whatever stands in neither takes ADMIN."""


def check_call(call: Call | Erase, settings: Settings, catalog: CatalogSnapshot) -> None:
    """Raise UNKNOWN_TABLE or PRIVILEGE where the role of a session may not run a procedure."""
    rights = catalog.rights_of(settings.role)
    if rights.is_admin:
        return
    if isinstance(call, Erase):
        _require(rights, Privilege.ERASE, "to erase")
        _check_table(call.table, None, rights, settings, catalog)
        if next(call.where.find_all(exp.Query), None) is not None:
            raise _denied("for a query in the condition of ERASE", "it takes ADMIN")
        return
    schema, _, name = call.procedure.lower().rpartition(".")
    what = f"for procedure {call.procedure}"
    if schema == "system" and name in _OF_TABLES:
        table = _table_argument(call)
        if table is None:
            _require(rights, Privilege.MAINTAIN, f"{what} on all tables")
        else:
            _check_table(table, Privilege.MAINTAIN, rights, settings, catalog)
    else:
        wanted = _OF_DATABASE.get(name) if schema == "system" else None
        _require(rights, wanted or Privilege.ADMIN, what)


def check_file(
    parsed: Parsed, settings: Settings, catalog: CatalogSnapshot, own: str | None
) -> None:
    """Raise PRIVILEGE for a COPY of a file that lies with the server, or at a URL.

    ``own`` is the file with what the client itself has sent for this COPY, None if there is none.
    A reject file lies with the server, too.
    """
    ast = parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None
    if not isinstance(ast, exp.Copy):
        return
    rejects = any(p.name.lower() == "rejects" for p in ast.args.get("params") or [])
    if (own is None or rejects) and not catalog.rights_of(settings.role).is_admin:
        raise _denied(
            "to read or write files where the server runs",
            "it takes ADMIN; COPY .. FROM STDIN and TO STDOUT go through the connection",
        )


def _table_argument(call: Call) -> exp.Table | None:
    """The table that a call names by a constant; raises PRIVILEGE for one it does not show."""
    found = [node for key, node in call.arguments if key in {"table", "0"}]
    if not found:
        return None
    (node, *_) = found
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.to_table(node.name, dialect="duckdb")
    if isinstance(node, exp.Column):
        return exp.to_table(".".join(part.name for part in node.parts), dialect="duckdb")
    raise _denied("for a table that is a parameter of a CALL", "write its name as a constant")


def _check_table(
    node: exp.Table,
    privilege: Privilege | None,
    rights: Rights,
    settings: Settings,
    catalog: CatalogSnapshot,
) -> None:
    context = RewriteContext(catalog, no_scan_info, path=settings.search_path)
    name = table_name(node, context)
    found = catalog.get(name)
    if found is None or not rights.sees(relation_key(found)):
        raise unknown_table(name, visible_to(catalog, rights), node)
    if privilege is not None and not rights.may(relation_key(found), privilege):
        raise _denied(f"for table {fold(name.name)}", f"it takes {privilege} on the table")


def _require(rights: Rights, privilege: Privilege, what: str) -> None:
    if not rights.may(DATABASE_KEY, privilege):
        raise _denied(what, f"it takes {privilege} ON SYSTEM")


def _denied(what: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.PRIVILEGE, f"permission denied {what}", advice=advice)
