"""The kind ``restore``: writes the state of a backup as a new version of the table.

Which backup it is, and what is kept of what it replaces, is the program's; here are the arguments,
and the write of the difference. Of a large table of files units of an engine find what differs and
write it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gateway.jobs import distributed_restore
from gateway.jobs.arguments import Arguments, argument_error
from gateway.jobs.backup_stores import backup_run
from gateway.jobs.context import JobContext, JobKind
from gateway.jobs.restore_statement import difference_of, restore_transaction, write_difference
from gateway.procedures.conditions import read_condition
from gateway.session.typed_names import table_name
from journal.model.duration import Duration, Unit
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import TableName, fold
from journal.records.backups import Backup
from journal.records.report import JobReport
from journal.sql.relations import ident
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import parse
from spark_compaction.engines.local import LocalEngine
from spark_compaction.programs import copies
from spark_compaction.programs.backup_store import BackupStore
from spark_compaction.programs.restore import RestoreOptions, restore

if TYPE_CHECKING:
    from gateway.session.session import Session

_NOT_IN_COPY = ("views", "triggers", "tags", "policies of schemas", "rights of roles")
"""What belongs to a table and is in no copy of it; whoever has one made must make it as well."""
_TRASH = Duration(30, Unit.DAYS)
"""How long what a restore replaces is kept, where the table's BACKUP policy says nothing."""


def _run(context: JobContext) -> JobReport:
    run, where = backup_run(context), _condition(context)
    given = RestoreOptions(
        context.text("backup"),
        context.text("from"),
        (context.policy.backup or _TRASH).after(context.moment),
        context.session.settings.retries,
    )
    done = restore(run, given, lambda backup: _write_difference(context, run.store, backup, where))
    if not context.flag("create"):
        return done
    return replace(done, details={**done.details, "not_in_copy": _NOT_IN_COPY})


def _write_difference(
    context: JobContext, store: BackupStore, backup: Backup, where: exp.Expr | None
) -> int:
    """Write the difference to a backup once; how many rows it is."""
    engine = context.engine() if store.has_files else LocalEngine()
    state = context.session.journal.state.tables[context.table.id]
    # A dry run seals nothing, and units see only what is sealed.
    is_open = context.dry_run and state.head_counts.total
    if not isinstance(engine, LocalEngine) and not is_open:
        return distributed_restore.write_difference(context, store, backup, where, engine)
    with restore_transaction(context, backup) as begun:
        return write_difference(context, begun, difference_of(context, store, begun, backup, where))


def _condition(context: JobContext) -> exp.Expr | None:
    """The rows to restore: a condition, or the value of the key."""
    where, key = context.text("where"), context.text("key")
    if where is not None:
        return read_condition(context.session, where)
    return None if key is None else _key(context, key)


def _key(context: JobContext, text: str) -> exp.Expr:
    table = context.table
    values = [part.strip() for part in text.split(",")]
    if table.hidden_key or len(values) != len(table.key):
        named = ", ".join(table.by_physical(p).name for p in table.key)
        raise argument_error(
            f"{table.name} has {'no key' if table.hidden_key else f'the key ({named})'}",
            "give one value for each key column, separated by commas; or a condition",
        )
    found: list[exp.Expr] = []
    for physical, value in zip(table.key, values, strict=True):
        stored = table.by_physical(physical)
        typed = exp.cast(exp.Literal.string(value), stored.type, dialect="duckdb")
        found.append(exp.EQ(this=exp.column(ident(stored.name)), expression=typed))
    return exp.and_(*found)


def _make_missing(session: Session, name: str, given: Arguments, dry_run: bool) -> None:
    """Make the table of a copy by its definition, if ``create`` asks for it and it is not there.

    All of the definition is made, or nothing. Raises BACKUP for a copy of another table, without a
    definition, or with statements that do more than to make this table and its indexes.
    """
    place, catalog = given.text("from"), session.journal.state.catalog
    wanted = table_name(name, catalog, session.settings.schema)
    if place is None or not given.flag("create") or catalog.get(wanted) is not None:
        return
    if session.transaction is not None and session.transaction.explicit:
        raise PalimpsestError(
            Code.ACTIVE_TRANSACTION,
            "restore cannot make a table inside a transaction",
            advice="COMMIT or ROLLBACK first: a job commits by itself",
        )
    if dry_run:
        raise argument_error("a dry run makes no table", "leave dry_run out, or create")
    copy, _ = copies.read(place)
    if fold(copy.table_name) != fold(str(wanted)):
        raise _not_made(f"the copy is of {copy.table_name}", f"restore {copy.table_name}")
    if not copy.definition:
        raise _not_made("the copy holds no definition", "make the table by CREATE TABLE first")
    for statement in copy.definition:
        _check_makes(wanted, statement, session)
    session.run_text("BEGIN").close()
    try:
        for statement in copy.definition:
            session.run_text(statement).close()
    except BaseException:
        session.rollback()
        raise
    session.commit()


def _check_makes(wanted: TableName, statement: str, session: Session) -> None:
    """Raise BACKUP unless a statement, which anybody may have written, makes a table or its index.

    ``wanted`` names the table.
    """
    parsed = parse(statement, "duckdb", session.settings.limits)
    made = parsed[0].statement if len(parsed) == 1 else None
    ast = made.ast if isinstance(made, SqlStatement) else None
    if isinstance(ast, exp.Create) and ast.expression is None:
        node = ast.this.args.get("table") if isinstance(ast.this, exp.Index) else ast.this
        node = node.this if isinstance(node, exp.Schema) else node
        is_named = isinstance(node, exp.Table) and TableName(node.db, node.name).key == wanted.key
        if is_named and ast.args["kind"] in {"TABLE", "INDEX"} and not ast.args.get("replace"):
            return
    raise _not_made(
        f"its definition holds another statement than those that make {wanted}",
        "somebody has changed backup.json: take another copy, or make the table by CREATE TABLE",
    )


def _not_made(why: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.BACKUP, f"restore cannot make the table: {why}", advice=advice)


def _check(given: Arguments) -> None:
    if given.flag("create") and given.text("from") is None:
        raise argument_error("create makes the table of a copy", "name its folder: from => ..")
    for name in ("backup", "from", "where", "key"):
        given.text(name)
    given.check_exclusive("where", "key")
    given.check_exclusive("backup", "from")


KIND = JobKind(
    "restore",
    "bring back what a backup shows: the last known good one, or the one named",
    _run,
    ("backup", "from", "where", "key", "create"),
    _check,
    prepare=_make_missing,
)
