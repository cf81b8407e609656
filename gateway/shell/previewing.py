"""Shows how the gateway would rewrite a statement under the connection's catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.syntax import Syntax

from gateway.dbapi.connection import Connection
from gateway.errors import mapping
from gateway.lineage.questions import downstream_of
from gateway.session.operations import Advance, operation
from gateway.session.request import StatementRequest
from gateway.shell.command_context import CommandContext
from rewriter.preview.preview import Preview, PreviewStep, parse_one, preview_plan
from rewriter.statement import SessionStatement

if TYPE_CHECKING:
    from gateway.session.session import Session


_CANONICAL = "duckdb"
"""The dialect of plans, which stores write in their own words."""


def preview_on(connection: Connection, sql: str, dialect: str | None = None) -> Preview:
    """The preview of a statement as the connection would run it now; nothing runs.

    Its SQL is what the store runs, or what that means in ``dialect``.
    """
    with mapping(), connection.lock:
        return connection.client_session.perform(preview_in, sql, dialect)


@operation
def preview_in(session: Session, _advance: Advance, sql: str, dialect: str | None) -> Preview:
    """The preview of a statement as the session would run it now, see ``preview_on``."""
    parsed = parse_one(sql, session.dialect)
    if isinstance(parsed.statement, SessionStatement):
        step = PreviewStep("nothing is rewritten: the statement concerns the session alone")
        return Preview(parsed.text, dialect or _CANONICAL, "SESSION", "session", (step,))
    transaction = session.transaction
    borrowed = transaction is None
    if transaction is None:
        transaction = session.new_transaction(read_only=True)
    try:
        request = StatementRequest(parsed, {}, session.settings, session.dialect)
        plan = session.executor.plan(transaction, request)
        given = (plan, parsed, transaction.catalog)
        if dialect is not None:
            found = preview_plan(*given, dialect)
        else:
            with session.journal.statement(transaction) as statement:
                statement.show(plan.tables)
                found = preview_plan(*given, text_of=statement.session.server_text)
        return replace(found, downstream=downstream_of(session, plan.writes))
    finally:
        if borrowed:
            transaction.rollback()


def show_preview(shell: CommandContext, sql: str) -> None:
    """Write a preview to the shell's output."""
    write_sql("\n".join(preview_lines(preview_on(shell.connection, sql))), shell.out)


def write_sql(text: str, out: TextIO) -> None:
    """Write SQL, highlighted where that can be seen."""
    if out.isatty():
        shown = Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True)
        Console(file=out).print(shown)
    else:
        out.write(text + "\n")
    out.flush()


def preview_lines(preview: Preview, *, original: bool = False) -> list[str]:
    """A preview as people read it; comments make the whole of it SQL."""
    lines: list[str] = []
    if original:
        lines += ["-- Original", *_indent(preview.original), ""]
    heading = f"-- {preview.tag}"
    if preview.reads:
        heading += f"; reads {', '.join(preview.reads)}"
    if preview.writes:
        heading += f"; writes {', '.join(preview.writes)}"
    lines.append(heading)
    if preview.downstream:
        lines.append(f"-- Downstream: {', '.join(preview.downstream)}")
    lines += [f"-- {s.table} through {s.shape}: {s.reason}" for s in preview.shapes]
    lines += [f"-- ${name}: {meaning}" for name, meaning in preview.parameters]
    lines += [f"-- {name}: {meaning}" for name, meaning in preview.relations]
    lines += [f"-- Note: {note}" for note in preview.notes]
    many = len(preview.steps) > 1
    for number, step in enumerate(preview.steps, 1):
        place = f"{number}. " if many else ""
        lines += ["", f"-- {place}{step.action}"]
        if step.note:
            lines.append(f"-- {step.note}")
        if step.sql is not None:
            lines += (step.sql + ";").splitlines()
    return lines


def _indent(text: str) -> list[str]:
    return [f"--   {line}" for line in text.splitlines()]


def as_object(preview: Preview) -> dict[str, Any]:
    """A preview as scripts read it."""
    return {
        "original": preview.original,
        "dialect": preview.dialect,
        "statement": preview.tag,
        "kind": preview.kind,
        "reads": list(preview.reads),
        "writes": list(preview.writes),
        "downstream": list(preview.downstream),
        "shapes": [
            {"table": str(s.table), "shape": s.shape, "reason": s.reason} for s in preview.shapes
        ],
        "parameters": [{"name": n, "meaning": m} for n, m in preview.parameters],
        "relations": [{"name": n, "meaning": m} for n, m in preview.relations],
        "steps": [
            {"action": s.action, "sql": s.sql, "note": s.note or None} for s in preview.steps
        ],
        "notes": list(preview.notes),
    }
