"""Runs statements that differ in their literals alone as one statement with parameters.

    text -> template and values --seen before, types fit--> template, planned once
                                 --else, or it fails------> the text itself

Only where a value means the same as a literal and as a parameter: rows of VALUES, and rows that are
looked up by their whole key. What fails for what it says is run once more as it was written: errors
are those of the client's text. Shared by the sessions of a warehouse; thread-safe.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from gateway.config import Settings
from gateway.session.literals import TakenLiterals, take_literals
from gateway.session.outcome import StatementOutcome
from gateway.session.parameters import batch_table
from journal.model.errors import PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import USER_PARAMETER
from journal.model.schema import CatalogSnapshot, Table, fold
from journal.transactions.transaction import Status, Transaction
from rewriter.context import RewriteContext
from rewriter.name_resolution import table_name
from rewriter.preview.synthetic_catalog import plain_scan_info
from rewriter.reading.key_lookup import conjuncts
from rewriter.reading.parameter_types import parameter_types
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed, parse

Run = Callable[[Parsed, Any, pa.Table | None], StatementOutcome]
"""Runs a statement for parameters, or for a batch of them."""

_TEMPLATES_MAX = 512
_SEEN_MAX = 4096
_OF_TEXTS = frozenset({"0A", "21", "22", "23", "42", "44"})
"""Classes of SQLSTATE of errors that lie in a statement; others are final."""
_ABLE = frozenset({"duckdb", "postgres", "postgresql", "spark", "hive"})
"""Dialects in which a text in single quotes means itself if it has no backslash."""
_CASTS_ALIKE = frozenset({"duckdb", "postgres", "postgresql"})
"""Dialects in which ``DATE 'x'`` and ``'x'::DATE`` are the same: Hive's casts give NULL."""
_ROWS_MIN = 3
"""A statement of so many rows need not be seen before."""
_MORE = ("with_", "group", "having", "distinct", "windows", "qualify", "sample")
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT"})
_TEXTS = frozenset({"VARCHAR", "TEXT"})
_DAY, _TIME = r"[1-9]\d{3}-\d\d-\d\d", r"[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_FORMS = {
    "DATE": re.compile(_DAY),
    "TIMESTAMP": re.compile(_DAY + _TIME),
    "TIMESTAMPTZ": re.compile(rf"{_DAY}{_TIME}[-+]\d\d:\d\d"),
    "UUID": re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
}
"""Texts of types that mean the same everywhere."""


class TemplateSession(Protocol):
    """What of a session decides what its texts mean."""

    settings: Settings
    transaction: Transaction | None

    @property
    def dialect(self) -> str:
        """The dialect of its texts."""

    @property
    def catalog(self) -> CatalogSnapshot:
        """The catalog as it sees it."""

    def parse(self, text: str, placeholders: bool = True) -> list[Parsed]:
        """The statements of a text."""


@dataclass(frozen=True, slots=True)
class LiteralTemplate(Parsed):
    """A statement without its literals; where it fails, the text itself says what is wrong."""


@dataclass(frozen=True, slots=True)
class Templated(Parsed):
    """A statement as its template and the values of its literals; ``whole`` is its own text."""

    template: Parsed
    rows: Sequence[tuple[Any, ...]]
    whole: str


@dataclass(frozen=True, slots=True)
class _KnownTemplate:
    """What a text without its literals is in a catalog, where names are looked up along a path.

    ``template`` is None where it stands for no text. ``places``: the type of each parameter in
    their order, and True for one that is put into a column or cast.
    """

    template: LiteralTemplate | None
    catalog: CatalogSnapshot
    path: tuple[str, ...]
    places: tuple[tuple[str, bool], ...]


class LiteralTemplates:
    """The templates of the statements that were run lately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._known: OrderedDict[tuple[str, str, str], _KnownTemplate] = OrderedDict()

    def templated(self, session: TemplateSession, text: str) -> Templated | None:
        """A text as a template and values; None where it has to be run as it is."""
        settings = session.settings
        if session.dialect not in _ABLE or settings.variables:
            return None
        if len(text) > settings.limits.statement_chars:
            return None
        found = take_literals(text, casts_alike=session.dialect in _CASTS_ALIKE)
        if found is None or not self._is_common((found.text, session.dialect), len(found.rows)):
            return None
        known = self._known_as(session, found)
        template = known.template
        if template is None:
            return None
        if not all(all(map(_means_the_same, known.places, row)) for row in found.rows):
            return None
        return Templated(template.statement, template.text, (), template, found.rows, text)

    def _is_common(self, place: tuple[str, str], rows: int) -> bool:
        """True for a template that was seen before, or stands for many rows."""
        with self._lock:
            before = place in self._seen
            self._seen[place] = None
            self._seen.move_to_end(place)
            if len(self._seen) > _SEEN_MAX:
                self._seen.popitem(last=False)
        return before or rows >= _ROWS_MIN

    def _known_as(self, session: TemplateSession, taken: TakenLiterals) -> _KnownTemplate:
        catalog, path = session.catalog, session.settings.search_path
        place = (taken.text, taken.shown, session.dialect)
        with self._lock:
            known = self._known.get(place)
        if known is None or known.catalog is not catalog or known.path != path:
            known = _look_at(session, taken, catalog)
            with self._lock:
                self._known[place] = known
                self._known.move_to_end(place)
                if len(self._known) > _TEMPLATES_MAX:
                    self._known.popitem(last=False)
        return known


def _look_at(
    session: TemplateSession, taken: TakenLiterals, catalog: CatalogSnapshot
) -> _KnownTemplate:
    """A template, and the types of its parameters as tables are now."""
    path = session.settings.search_path
    nothing = _KnownTemplate(None, catalog, path, ())
    try:
        (parsed,) = parse(taken.text, session.dialect, session.settings.limits)
        tree = _tree(parsed)
        context = RewriteContext(catalog, plain_scan_info, dialect=session.dialect, path=path)
        if tree is None or not _finds_rows_by_key(tree, context):
            return nothing
        found = parameter_types(tree, context)
    except (PalimpsestError, ValueError):
        return nothing
    places = {node.name: _is_put(node) for node in tree.find_all(exp.Placeholder)}
    names = [f"{USER_PARAMETER}{place}" for place in parsed.parameters]
    if not found.keys() >= set(names):
        return nothing
    template = LiteralTemplate(parsed.statement, taken.shown, parsed.parameters)
    return _KnownTemplate(template, catalog, path, tuple((found[n], places[n]) for n in names))


def _is_put(node: exp.Expr) -> bool:
    """True for a value that is put into a column, or cast; false for one that is compared."""
    parent = node.parent
    assigned = isinstance(parent, exp.EQ) and isinstance(parent.parent, exp.Update)
    return assigned or isinstance(parent, exp.Tuple | exp.Cast)


def _tree(parsed: Parsed) -> exp.Expr | None:
    return parsed.statement.ast if isinstance(parsed.statement, SqlStatement) else None


def _finds_rows_by_key(tree: exp.Expr, context: RewriteContext) -> bool:
    """True for an INSERT, and for a statement on the one row of a table that has a key."""
    if isinstance(tree, exp.Insert):
        return isinstance(tree.expression, exp.Values)
    if not isinstance(tree, exp.Select | exp.Update | exp.Delete):
        return False
    tables, queries = list(tree.find_all(exp.Table)), list(tree.find_all(exp.Query))
    where = tree.args.get("where")
    if len(tables) != 1 or queries not in ([], [tree]) or where is None:
        return False
    if any(tree.args.get(part) for part in _MORE):
        return False
    table = context.catalog.get(table_name(tables[0], context))
    if not isinstance(table, Table) or table.hidden_key:
        return False
    equal = (part for part in conjuncts(where.this) if isinstance(part, exp.EQ))
    compared = {fold(part.this.name) for part in equal}
    return all(fold(table.by_physical(name).name) in compared for name in table.key)


def _means_the_same(place: tuple[str, bool], value: object) -> bool:
    """True if a value of a statement is the same at a place whether it is a literal or not."""
    kind, is_put = place
    if value is None:
        return is_put
    if isinstance(value, int):
        return kind in _WHOLE or (is_put and (kind == "DOUBLE" or kind.startswith("DECIMAL")))
    if isinstance(value, Decimal):
        return kind.startswith("DECIMAL") or (is_put and kind == "DOUBLE")
    if kind.partition("(")[0] in _TEXTS:
        return True
    form = _FORMS.get(kind) if is_put else None
    return form is not None and isinstance(value, str) and form.fullmatch(value) is not None


def run_template(session: TemplateSession, parsed: Templated, run: Run) -> StatementOutcome:
    """Run a template with its values, or the text itself where that fails."""
    before = session.transaction
    was_open = before is None or before.status is Status.OPEN
    try:
        if len(parsed.rows) == 1:
            return run(parsed.template, parsed.rows[0], None)
        batch = batch_table(parsed.template, parsed.rows)
        if batch is not None:
            return run(parsed.template, None, batch)
    except PalimpsestError as error:
        if error.sqlstate[:2] not in _OF_TEXTS:
            raise
        if session.transaction is not None and was_open:
            session.transaction.reopen()
    (whole,) = session.parse(parsed.whole, placeholders=False)
    return run(whole, None, None)
