"""Translates errors of the store: a position in the client's text, no internal names.

The store sees rewritten SQL, so its positions mean nothing to a client and its hints may name
relations no client knows. What it complains of is a name or a value that stands in the client's
text, where it is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from gateway.session.request import StatementRequest
from journal.model.errors import OF_VALUES, Code, PalimpsestError
from journal.model.plan import StatementPlan
from journal.model.refusal import refused_row_error
from journal.model.schema import CatalogSnapshot, fold
from rewriter.context import RewriteContext
from rewriter.dialect_semantics import DIALECTS
from rewriter.name_resolution import position_of
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.reading.visible_columns import columns_in_reach
from rewriter.syntax.parsing import Parsed, find_text
from rewriter.syntax.tokens import tokenize
from rewriter.syntax.value_places import WrongValueCount

_FOUND = frozenset(
    {
        Code.UNKNOWN_COLUMN,
        Code.AMBIGUOUS_COLUMN,
        Code.UNKNOWN_FUNCTION,
        Code.UNKNOWN_TABLE,
        Code.UNKNOWN_TYPE,
        Code.TYPE_MISMATCH,
        Code.GROUPING,
        Code.INVALID_DEFINITION,
        Code.BIND,
        Code.SYNTAX,
        Code.STORE,
        Code.DUPLICATE_ALIAS,
        Code.COLUMN_COUNT,
    }
    | OF_VALUES
)
_NAMES = (
    re.compile(r'column named "([^"]+)"', re.I),
    re.compile(r'(?:column|table|name) "([^"]+)"', re.I),
    re.compile(r"with name ([\w.]+) does not exist", re.I),
    re.compile(r"No function matches the given name and argument types '(\w+)\(", re.I),
    re.compile(r"from source column (\w+)", re.I),
    re.compile(r"there is no type (\w+)"),
    re.compile(r"(?:string|value) '([^']*)'", re.I),
    re.compile(r'"([^"]+)"'),
)
_CANDIDATES = re.compile(r"(?:Candidate (?:bindings|tables)|Did you mean):?\s*(.+)", re.I)
_SHOWN_MAX = 20
_SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
_INTERNAL = re.compile(r"_palimpsest|^[ocehlivp]\.|version_number|\btx?\d+_", re.I)
_OF_SOURCE = re.compile(r" when casting from source column \S+$")
"""The column of a rewritten statement, whose name the client may never have written."""
_OBJECT_TYPE = re.compile(
    r"reg(?:class|type|namespace|role|proc(?:edure)?|oper(?:ator)?)|oid", re.I
)
_REFERENCE = re.compile(r'"?_palimpsest"?\."?\w+"?|\btx\d+_buffer\b')


def with_position(
    error: PalimpsestError, request: StatementRequest, catalog: CatalogSnapshot
) -> PalimpsestError:
    """The error with a position in the client's text, as far as it can be found."""
    if isinstance(error, WrongValueCount):
        return _with_counted_place(error, request)
    if error.code not in _FOUND or error.position is not None:
        return error
    message, advice = _in_clients_terms(error)
    node, position = None, None
    for pattern in _NAMES:
        match = pattern.search(error.message)
        if match is None:
            continue
        node = _identifier_named(match[1], request.parsed)
        position = position_of(node) or find_text(request.parsed.text, match[1], request.dialect)
        if position is not None:
            break
    is_postgres = DIALECTS.get(request.dialect) == "postgres"
    if error.code is Code.UNKNOWN_COLUMN and node is not None:
        if is_postgres and fold(node.name) in _SYSTEM_COLUMNS:
            return _no_system_column(node)
        path, as_of = request.settings.search_path, request.settings.as_of
        context = RewriteContext(catalog, plain_scan_info, path=path, as_of=as_of)
        known = columns_in_reach(node, context)
        advice = _suggestion(node.name, known) if known else advice
    return PalimpsestError(error.code, message, advice=advice, position=position)


def _no_system_column(node: exp.Identifier) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f'the system column "{node.name}" is not supported',
        advice="version_number tells the versions of a row apart, and a key tells the rows apart",
        position=position_of(node),
    )


def _with_counted_place(error: WrongValueCount, request: StatementRequest) -> PalimpsestError:
    place = error.place_in(tokenize(request.parsed.text, DIALECTS[request.dialect]))
    position = place or error.position
    return PalimpsestError(error.code, error.message, advice=error.advice, position=position)


def file_error(error: PalimpsestError) -> PalimpsestError:
    """The error of a file's reader that says in one line where the file is wrong, and how."""
    message, advice = _in_clients_terms(error)
    return PalimpsestError(error.code, message, advice=advice)


def is_unexplained(error: PalimpsestError, plan: StatementPlan) -> bool:
    """True if an optimistic plan failed and the full one must say why; raises what is known."""
    if not plan.refusals or error.code is Code.CANCELLED:
        return False
    known = refused_row_error(error, plan.refusals)
    if known is not None:
        raise known from error
    return True


def may_be_of_ended(error: PalimpsestError, plan: StatementPlan) -> bool:
    """True if an expression may have failed on a row that has ended."""
    return plan.meets_ended and error.sqlstate.startswith("22")


def _in_clients_terms(error: PalimpsestError) -> tuple[str, str]:
    first, *rest = [line.strip() for line in error.message.splitlines() if line.strip()]
    advice, first = error.advice, _OF_SOURCE.sub("", first)
    if first.startswith("CSV Error on Line: "):
        # The line itself may hold what nobody else may read; the reason names the value.
        why = next((line for line in rest if not line.startswith("Original Line: ")), "")
        first = f"line {first.removeprefix('CSV Error on Line: ')} of the file: {why}"
    named = re.match(r"(Type|Collation) with name (\S+) does not exist", first)
    if named is not None:
        near = _advice_on_type(named[2], rest) if named[1] == "Type" else advice
        return f"{named[1].lower()} {named[2]} does not exist", near
    for line in rest:
        match = _CANDIDATES.match(line)
        if match is None:
            continue
        names = [n.strip(' "?') for n in match[1].split(",")]
        known = [n for n in names if n and not _INTERNAL.search(n)]
        if known:
            advice = _suggestion(_missing_name(first), known)
    named = re.match(r'Referenced column "([^"]+)" (?:was )?not found', first)
    if named is not None:
        first = f'column "{named[1]}" does not exist'
    named = re.match(
        r'(?:Values list|Table) "([^"]+)" does not have a column named "([^"]+)"', first
    )
    if named is not None:
        first = f'"{named[1]}" has no column "{named[2]}"'
    named = re.match(r'Referenced table "([^"]+)" not found', first)
    if named is not None:
        first = f'"{named[1]}" names no table of this query'
    return _REFERENCE.sub("a table", first).rstrip("!"), advice


def _advice_on_type(name: str, rest: Sequence[str]) -> str:
    if _OBJECT_TYPE.fullmatch(name):
        return "numbers of objects are known to statements that read pg_catalog alone"
    near = [m[1].strip(' "?') for line in rest if (m := _CANDIDATES.match(line))]
    shown = {fold(one.removeprefix("main.")): one.removeprefix("main.") for one in near}
    close = get_close_matches(fold(name), list(shown))
    return f"did you mean {shown[close[0]]}?" if close else "check the spelling; see system.types"


def _missing_name(message: str) -> str:
    named = re.findall(r'"([^"]+)"', message)
    return named[-1] if named else ""


def _suggestion(wanted: str, known: Sequence[str]) -> str:
    """Advice for an unknown name: the names spelled like it, else all known names."""
    folded = {fold(name.rpartition(".")[2]): name for name in known}
    close = get_close_matches(fold(wanted), list(folded))
    if close:
        return "did you mean " + " or ".join(folded[name] for name in close) + "?"
    left = len(known) - _SHOWN_MAX
    more = f" and {left} more" if left > 0 else ""
    return "names in reach: " + ", ".join(known[:_SHOWN_MAX]) + more


def _identifier_named(name: str, parsed: Parsed) -> exp.Identifier | None:
    """The first part of the client's statement that is this name; of ``t.x`` the last part."""
    wanted = fold(name.rpartition(".")[2])
    ast = getattr(parsed.statement, "ast", None)
    nodes = ast.find_all(exp.Identifier) if isinstance(ast, exp.Expr) else ()
    return next((n for n in nodes if fold(n.name) == wanted and position_of(n)), None)
