"""Erasures as a client asks for them: ERASE FROM, and requests that name people.

ERASE FROM matches rows in any of their versions, through the same rewriting as a query of the
table's history. It accepts a request; the rows are gone from every answer when it returns, and from
the files when the request has been purged. Runs outside transactions only.
"""

from __future__ import annotations

import base64
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.governance.safe_mode import refuse_if_safe
from gateway.procedures.earlier_journals import earlier_keys, earlier_tables
from gateway.procedures.erasure_program import erasure_of
from gateway.procedures.named_identifiers import identifiers_in
from gateway.procedures.procedures import no_table
from gateway.session.outcome import StatementOutcome
from gateway.session.request import StatementRequest
from gateway.session.typed_names import table_name
from journal.model.catalog import change_to_json
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import PutRelation
from journal.model.schema import OWN_SCHEMA, Table, TableName, fold
from journal.model.segment import Manifest, Segment
from journal.model.suppression import Suppression
from journal.model.system_user import system_user
from journal.sql.relations import ident
from journal.sql.relations_flat import FLAT
from journal.transactions.transaction import Transaction
from rewriter.definitions.lasting_conditions import changing_part
from rewriter.statement import Erase, SqlStatement
from rewriter.syntax.parsing import Parsed, parse
from spark_compaction.contract import silent

if TYPE_CHECKING:
    from gateway.config import Settings
    from gateway.session.session import Session
    from journal.erasure.erasure_spec import FindAmong
    from journal.erasure.requests import ErasureRequest

_SHOWN = (
    ("request", pa.string()),
    ("state", pa.string()),
    ("table", pa.string()),
    ("outcome", pa.string()),
    ("keys", pa.int64()),
    ("files_searched", pa.int64()),
    ("files_skipped", pa.int64()),
    ("versions_removed", pa.int64()),
    ("why", pa.string()),
)


def erase_rows(
    session: Session, parsed: Parsed, erase: Erase, parameters: Mapping[str, Any]
) -> StatementOutcome:
    """ERASE FROM: accept the request, and show it."""
    from journal.erasure.erasure_spec import ErasureSpec
    from journal.erasure.unreachable_copies import OUT_OF_REACH

    transaction = session.transaction
    if transaction is not None and (transaction.writes or transaction.explicit):
        raise PalimpsestError(
            Code.ACTIVE_TRANSACTION,
            "ERASE cannot be part of a transaction: it cannot be rolled back",
            advice="COMMIT or ROLLBACK first",
        )
    refuse_if_safe(session, "to erase")
    table = _table(session, erase.table)
    query = Parsed(
        SqlStatement(keys_query(erase, table, as_written=table.hidden_key)),
        f"ERASE\0{parsed.text}",
        parsed.parameters,
    )
    asking = ErasureCondition(session, table, parameters, session.settings, session.dialect)

    def find() -> pa.Table:
        return asking.findkeys_query(session.journal.begin(read_only=True), query)

    find()
    by = session.recorded_user or system_user()
    erasure = erasure_of(session)
    # What else the condition reads would have to be as it was when the backup was taken.
    reads_more = any(node.args.get("this") is not None for node in erase.where.find_all(exp.Table))
    changes = changing_part(exp.Paren(this=erase.where.copy())) is not None
    named = identifiers_in(erase, table, parameters)
    chosen = erase.suppression or Suppression.IDENTIFIER
    if not named and erase.suppression not in {None, Suppression.KEY}:
        raise PalimpsestError(
            Code.ERASURE,
            f"SCOPE {erase.suppression} suppresses identifiers, and the condition names none",
            advice=f"write = or IN, joined by AND, on columns of the erasure descriptor of"
            f" {table.name}; or leave SCOPE out, and keys alone are suppressed",
        )
    finders: dict[int, Callable[[], pa.Table]] = {table.id: find}
    asked = {table.id: asking}
    for old in earlier_tables(session, table):
        finders[old.id] = partial(earlier_keys, session, old, erase.where, parameters)
        finders[old.id]()
        asked[old.id] = replace(asking, table=old)
    accepted: list[ErasureRequest] = []
    for table_id, one in asked.items():
        wanted = ErasureSpec(
            rows={table_id: finders[table_id]},
            among={} if reads_more else {table_id: one.key_finder(parsed, erase)},
            again=None if changes else one.to_record(parsed),
            reason=erase.reason,
            dependents=erase.dependents,
            named=named,
            suppression=chosen,
        )
        request = erasure.accept(wanted, by)
        if erasure.backend.purges_at_once:
            # Nothing waits but what a hold keeps back, and copies that are out of reach.
            done = erasure.purge(None, by, [request.id], silent)
            (request,) = done.requests
            for error in done.failures.values():
                if not (request.unsearched and error.code in OUT_OF_REACH):
                    raise error
        accepted.append(request)
    return requests_outcome(session, accepted, "ERASE")


@dataclass(frozen=True, slots=True)
class ErasureCondition:
    """A condition on a table, and how the client who gave it reads SQL."""

    session: Session
    table: Table
    parameters: Mapping[str, Any]
    settings: Settings
    dialect: str

    def key_finder(self, parsed: Parsed, erase: Erase) -> FindAmong:
        """What finds the keys of rows that meet it among segments, in the place of the table."""
        kept = SqlStatement(keys_query(erase, self.table, as_written=True))

        def find(segments: Sequence[Segment]) -> pa.Table:
            # It has begun: what is shown to it stays when its first statement runs.
            transaction = self.session.journal.begin(read_only=True, at_once=True)
            # What is kept of an adopted journal lies as that of others does.
            properties = tuple((n, v) for n, v in self.table.properties if n != FLAT)
            new_id = self.session.journal.counters.new_table_id()
            shown = replace(self.table, id=new_id, properties=properties)
            transaction.show(shown, Manifest(0, (), tuple(segments)))
            # Plans name the relations they read, and these have an id of their own.
            text = f"ERASE\0{shown.id}\0{parsed.text}"
            return self.findkeys_query(transaction, Parsed(kept, text, parsed.parameters))

        return find

    def findkeys_query(self, transaction: Transaction, parsed: Parsed) -> pa.Table:
        """The keys that a statement finds."""
        settings = replace(self.settings, as_of=None, role=None)
        asked = StatementRequest(parsed, self.parameters, settings, self.dialect)
        try:
            outcome = self.session.executor.run(transaction, asked, self.session.cancellation)
            assert outcome.rows is not None
            rows = outcome.rows.arrow()
        finally:
            transaction.rollback()
        return rows.rename_columns(list(self.table.key))

    def to_record(self, parsed: Parsed) -> dict[str, Any]:
        """The condition as a plain structure, for ``recorded_key_finder``."""
        values = pa.table({name: [value] for name, value in self.parameters.items()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, values.schema) as writer:
            writer.write_table(values)
        return {
            "table": change_to_json(PutRelation(self.table)),
            "text": parsed.text,
            "dialect": self.dialect,
            "schema": self.settings.schema,
            "timezone": self.settings.timezone,
            "parameters": base64.b64encode(sink.getvalue().to_pybytes()).decode(),
        }


def recorded_key_finder(session: Session, table: Table, kept: Mapping[str, Any]) -> FindAmong:
    """A finder of the keys that meet a condition which ``to_record`` has recorded."""
    stream = pa.ipc.open_stream(base64.b64decode(kept["parameters"]))
    (values,) = stream.read_all().to_pylist() or [{}]
    settings = replace(session.settings, schema=kept["schema"], timezone=kept["timezone"])
    (parsed,) = parse(kept["text"], kept["dialect"], settings.limits)
    assert isinstance(parsed.statement, Erase)
    asking = ErasureCondition(session, table, values, settings, kept["dialect"])
    return asking.key_finder(parsed, parsed.statement)


def _table(session: Session, node: exp.Table) -> Table:
    name = TableName(node.db or session.settings.schema, node.name)
    found = session.journal.state.catalog.get(name)
    hidden = TableName(OWN_SCHEMA, node.name)
    if not node.db and session.temporary.concerns([hidden]):
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{node.name} is a temporary table, of which nothing is kept",
            advice=f"delete its rows; to erase from a table that it hides, write {name}",
        )
    if not isinstance(found, Table):
        raise no_table(name, session.journal.state.catalog, session.settings.role)
    return found


def keys_query(erase: Erase, table: Table, *, as_written: bool) -> exp.Select:
    """The keys of all rows that meet the condition in any of their versions."""
    alias = erase.table.alias or erase.table.name
    names = list(table.key) if table.hidden_key else [table.by_physical(k).name for k in table.key]
    source = table.journal_name if as_written else table.name
    target = exp.Table(this=ident(source.name), db=ident(source.schema))
    if not as_written:
        version = exp.Version(this="TIMESTAMP", kind="ALL")
        target.set("version", version)
    target.set("alias", exp.TableAlias(this=ident(alias)))
    columns = [exp.column(ident(name), table=ident(alias)) for name in names]
    return exp.select(*columns).distinct().from_(target).where(erase.where.copy())


def requests_outcome(
    session: Session, requests: list[ErasureRequest], tag: str
) -> StatementOutcome:
    """Requests as rows, one for each table they are about."""
    rows: dict[str, list[Any]] = {name: [] for name, _ in _SHOWN}
    for request in requests:
        for target in request.targets:
            if request.types == {} and target.why == "not named":
                continue
            values = (
                *(request.id, request.state.value, target.table, target.outcome.value),
                *(target.keys, target.files_searched, target.files_skipped),
                *(target.versions_removed, request.waits_for or target.remarks),
            )
            for (name, _), value in zip(_SHOWN, values, strict=True):
                rows[name].append(value)
    table = pa.table(rows, schema=pa.schema(_SHOWN))
    return session.executor.table_outcome(tag, table)


def names_of(session: Session, tables: list[str]) -> frozenset[tuple[str, str]] | None:
    """The keys of table names a client gives; None if it gives none. Unknown ones are refused."""
    found = set()
    for text in tables:
        catalog = session.journal.state.catalog
        name = table_name(text, catalog, session.settings.schema)
        relation = catalog.get(name)
        if not isinstance(relation, Table):
            raise no_table(name, catalog, session.settings.role)
        found.add(name.key)
    return frozenset(found) or None


def subjects_of(given: list[str], lines: list[str]) -> dict[str, list[str]]:
    """Identifiers by type, from ``type=value`` words and the lines of a CSV file."""
    found: dict[str, list[str]] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise PalimpsestError(
                Code.ERASURE,
                "write a subject as type=value",
                advice="--subject email=a@b.example",
            )
        found.setdefault(fold(name.strip()), []).append(value)
    for name, value in _in_csv(lines):
        found.setdefault(fold(name), []).append(value)
    if not found:
        raise PalimpsestError(
            Code.ERASURE,
            "the request names nobody",
            advice="give --subject type=value, or a CSV file whose header names the types",
        )
    return {name: list(dict.fromkeys(values)) for name, values in found.items()}


def read_subjects(path: Path) -> list[str]:
    """The lines of a CSV file of identifiers; raises FILE_ACCESS for one that is no text."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise PalimpsestError(
            Code.FILE_ACCESS, f"cannot read {path}: {error}", advice="save it as CSV in UTF-8"
        ) from error


def _in_csv(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Type and value of every identifier; a value that no header names is refused, not left out."""
    rows = csv.reader(lines, strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        for row in rows:
            for place, value in enumerate(row):
                if not value.strip():
                    continue
                if place >= len(header) or not header[place]:
                    raise _csv_error(rows.line_num, "it has more values than the header names")
                yield header[place], value
    except csv.Error as error:
        raise _csv_error(rows.line_num, str(error)) from error


def _csv_error(line: int, why: str) -> PalimpsestError:
    return PalimpsestError(
        Code.ERASURE,
        f"line {line} of the file of identifiers cannot be read: {why}",
        advice="write a header that names the types, and below it one value for each, or none",
    )
