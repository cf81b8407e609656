"""Collects all versions of all rows that name a person, for an access package.

Columns and tables that were dropped are in it where a store still reads them. The search is the
same as for an erasure; what is being erased is not seen any more. The package is made in memory, so
that nothing of it lies on the disk in plain text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from journal.erasure import audit
from journal.erasure.erasure_spec import Subjects, TargetTable, check_unambiguous
from journal.erasure.matching import distinct_keys
from journal.erasure.package import seal_package
from journal.erasure.requests import OPEN, ErasureRequest
from journal.erasure.scope import load_scope
from journal.erasure.seam import ErasureJournal
from journal.identity.descriptor import DescriptorEntry, ever_described
from journal.identity.suppression_list import KEY_KIND, SPARED_KIND
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.version import VersionType
from journal.records import erasure_rows as rows_of
from journal.sql.relations import Output, Reader, column, ident
from journal.transactions.protocol import OpenStatement
from journal.transactions.reading import reading
from journal.transactions.state import JournalState
from spark_compaction.erasure.backend import ErasureBackend
from spark_compaction.erasure.legal_holds import open_requests, suppressed
from spark_compaction.erasure.search import Search

_ROWS_MAX = 2_000_000
_SHOWN = "access_keys"
_START, _END = "_valid_from", "_valid_to"


@dataclass(frozen=True, slots=True)
class Found:
    """What a table holds about somebody; ``why`` says why it was not searched.

    ``held`` counts keys of theirs that open requests are about and a legal hold covers: these are
    in the package. ``hidden`` counts those that wait to be erased, which are not in it;
    ``requests`` are the requests that either waits for.
    """

    table: str
    rows: int = 0
    why: str = ""
    held: int = 0
    hidden: int = 0
    requests: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """What whoever asks should know besides the rows; empty if nothing waits."""
        parts = []
        if self.held:
            parts.append(f"{_keys(self.held)} held against an erasure, and in the package")
        if self.hidden:
            parts.append(f"{_keys(self.hidden)} waiting to be erased, and not in the package")
        return f"{'; '.join(parts)} (request {', '.join(self.requests)})" if parts else ""

    @property
    def description(self) -> str:
        """What was found, in words."""
        told = self.why or f"{self.rows} row versions"
        return f"{told}; {self.remark}" if self.remark else told


def _keys(number: int) -> str:
    return "1 key is" if number == 1 else f"{number:,} keys are"


@dataclass(frozen=True, slots=True)
class NamedRows:
    """All versions of the rows of a table that name somebody, and what identifies people in them.

    Columns have the names they have now; those of the key stand once more, under ``keys``.
    ``roots`` gives the name of a column by its physical one.
    """

    name: str
    rows: pa.Table
    keys: tuple[str, ...]
    identities: tuple[DescriptorEntry, ...]
    roots: Mapping[str, str]


def gather(
    backend: ErasureBackend,
    subjects: Subjects,
    only: Collection[int] | None = None,
) -> tuple[dict[str, bytes], list[Found]]:
    """The files of a package, and what is in it by table; of all tables, or ``only`` some."""
    found, told = gather_rows(backend, subjects, only)
    files: dict[str, bytes] = {}
    for one in found:
        if one.rows.num_rows:
            files |= _files(one.name, one.rows.drop_columns(list(one.keys)))
    return files, told


def gather_rows(
    backend: ErasureBackend,
    subjects: Subjects,
    only: Collection[int] | None = None,
) -> tuple[list[NamedRows], list[Found]]:
    """The rows that name somebody, and what was found by table; of all tables, or ``only`` some."""
    gathered: list[NamedRows] = []
    told: list[Found] = []
    keys: list[tuple[Table, pa.Table] | None] = []
    with reading(backend.journal) as statement:
        scope, committed = load_scope(statement.session), statement.committed
        aims = []
        for name, table in _tables(backend, committed, only):
            identities = ever_described(committed.tables[table.id].layouts)
            aims.append((name, TargetTable(table, identities, scope.why_not(table.name))))
        check_unambiguous(subjects, [aim for _, aim in aims])
        for name, aim in aims:
            table, why = aim.table, aim.why_not
            found = None if why else _versions(backend, statement, aim, subjects)
            if found is None:
                told.append(Found(name, why=why or "not onboarded for these"))
                keys.append(None)
                continue
            rows, named, roots = found
            told.append(Found(name, rows.num_rows))
            keys.append(None if named is None else (table, named))
            shown = tuple(_key_names(table))
            gathered.append(NamedRows(name, rows, shown, aim.identities, roots))
    return gathered, _with_what_waits(backend.journal, told, keys)


def _with_what_waits(
    journal: ErasureJournal,
    told: Sequence[Found],
    keys: Sequence[tuple[Table, pa.Table] | None],
) -> list[Found]:
    """What was found, and how many of the keys open requests are about."""
    with journal.reading_session() as session:
        if not any(
            r.state in OPEN for r in map(ErasureRequest.of_row, rows_of.load_erasures(session))
        ):
            return list(told)
    asked = {i: given for i, given in enumerate(keys) if given is not None}
    found = list(told)
    # A session in which keys can be shown beside the records of every store; nothing is written.
    with journal.exclusive_session() as session:
        waiting = {r.id for r in open_requests(session, None)}
        for place, (table, named) in asked.items():
            known = suppressed(journal, session, table, named, f"{_SHOWN}_{place}")
            its = {kind: {h for h, r in among if r in waiting} for kind, among in known.items()}
            who = {r for among in known.values() for _, r in among if r in waiting}
            spared, hidden = its[SPARED_KIND], its[KEY_KIND]
            found[place] = replace(
                found[place],
                held=len(spared - hidden),
                hidden=len(hidden),
                requests=tuple(sorted(who)),
            )
    return found


def collect(
    backend: ErasureBackend,
    subjects: Subjects,
    passphrase: str,
    expires: datetime,
    by: str,
    only: Collection[int] | None = None,
) -> tuple[bytes, list[Found]]:
    """An encrypted package of JSON and Parquet, and what is in it by table.

    Raises ERASURE if no table in question identifies people so.
    """
    files, told = gather(backend, subjects, only)
    if all(f.why for f in told):
        raise PalimpsestError(
            Code.ERASURE,
            "no table in scope identifies people by " + ", ".join(subjects),
            advice="onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )
    made = datetime.now(expires.tzinfo)
    summary = {
        "made": made.isoformat(),
        "tables": {f.table: f.why or f.rows for f in told},
        "waiting": {f.table: f.remark for f in told if f.remark},
    }
    files["contents.json"] = json.dumps(summary, indent=1).encode()
    data = seal_package(files, passphrase, made, expires)
    journal = backend.journal
    with journal.exclusive_session() as session:
        detail = {
            "types": {t: len(v) for t, v in subjects.items()},
            "rows": sum(f.rows for f in told),
        }
        if hidden := sum(f.hidden for f in told):
            detail["hidden"] = hidden
        audit.record(journal, session, by, "access.create", "", detail)
        session.commit()
    return data, told


def _tables(
    backend: ErasureBackend, state: JournalState, only: Collection[int] | None
) -> list[tuple[str, Table]]:
    """The tables in question, each under the name it has in a package."""
    catalog = state.catalog
    chosen = [i for i in state.tables if only is None or i in only]
    found = [(str(t.name), t) for t in map(catalog.by_id, chosen) if t is not None]
    for table_id in chosen if backend.reads_dropped else ():
        layouts = state.tables[table_id].layouts
        if layouts and catalog.by_id(table_id) is None:
            found.append((f"{layouts[-1].name}-dropped-{table_id}", layouts[-1]))
    return sorted(found, key=lambda f: f[0])


def _versions(
    backend: ErasureBackend, statement: OpenStatement, aim: TargetTable, subjects: Subjects
) -> tuple[pa.Table, pa.Table | None, dict[str, str]] | None:
    """All versions of the rows of a table that name somebody; None if it names nobody so.

    And the keys of those rows, also of rows that nobody sees any more; None if there are none. And
    the names of columns by their physical ones.
    """
    if not any(i.type in subjects for i in aim.identities):
        return None
    table, session = aim.table, statement.session
    state = statement.committed.tables[table.id]
    search = Search()
    backend.search_rows(session, statement.committed, aim, subjects, search, kept=False)
    found_keys = search.keys
    whole = backend.whole_table(statement, table)
    reader = Reader(whole, state.tiers)
    outputs: list[Output] = [(column(c.physical), c.physical) for c in whole.stored]
    outputs += [
        (column(table.format.version_column), _START),
        (column(table.format.subsequent_column), _END),
    ]
    rows = reader.intervals(outputs).subquery("v")
    shown: list[exp.Expr] = [
        exp.alias_(column(c.physical, "v"), ident(c.name)) for c in whole.columns
    ]
    shown += [exp.alias_(_moment(table, column(n, "v")), ident(n)) for n in (_START, _END)]
    named = zip(table.key, _key_names(table), strict=True)
    shown += [exp.alias_(column(k, "v"), ident(name)) for k, name in named]
    query = exp.select(*shown).from_(rows)
    if found_keys:
        relation = f"{_SHOWN}_{table.id}"
        session.show_arrow(relation, pa.concat_tables(found_keys))
        same = [exp.EQ(this=column(k, "v"), expression=column(k, "k")) for k in table.key]
        keys = exp.alias_(exp.to_table(relation), "k", table=True)
        query = query.join(keys, on=exp.and_(*same), join_type="semi")
    else:
        query = query.where(exp.false())
    query = query.order_by(*[column(k, "v") for k in table.key], column(_START, "v"))
    found = session.arrow(Query(query.limit(_ROWS_MAX + 1), ()), {})
    if found.num_rows > _ROWS_MAX:
        raise PalimpsestError(
            Code.ERASURE,
            f"{table.name} holds more than {_ROWS_MAX:,} row versions of these people",
            advice="ask for fewer people at a time",
        )
    return found, distinct_keys(found_keys), {c.physical: c.name for c in whole.columns}


def _key_names(table: Table) -> list[str]:
    return [f"_key_{place}" for place in range(len(table.key))]


def _moment(table: Table, version: exp.Expr) -> exp.Expr:
    if table.format.version_type is VersionType.BIGINT:
        return exp.Anonymous(this="make_timestamptz", expressions=[version])
    return version


def _files(name: str, rows: pa.Table) -> dict[str, bytes]:
    parquet = BytesIO()
    pq.write_table(rows, parquet)
    lines = [json.dumps(row, default=str, ensure_ascii=False) for row in rows.to_pylist()]
    return {
        f"{name}.parquet": parquet.getvalue(),
        f"{name}.jsonl": ("\n".join(lines) + "\n").encode(),
    }
