"""Statements that commit by themselves, outside the transaction: procedures and entities.

Says which module runs a statement; runs nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.governance.entity_statements import run_entity_statement
from gateway.procedures.calls import run_maintenance
from gateway.session.outcome import StatementOutcome
from rewriter.statement import Call, Erase
from rewriter.syntax.parsing import Parsed

if TYPE_CHECKING:
    from gateway.session.session import Session


def run_immediate(
    session: Session, parsed: Parsed, parameters: Mapping[str, Any]
) -> StatementOutcome:
    """Run a procedure, an erasure or a statement about entities; raises what each refuses."""
    statement = parsed.statement
    if isinstance(statement, Call | Erase):
        return run_maintenance(session, parsed, statement, parameters)
    return run_entity_statement(session, statement)  # type: ignore[arg-type]
