"""What a request to erase asks for by a condition that the gateway has made, on one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from gateway.procedures.erasing import ErasureCondition, keys_query
from gateway.session.parameters import bind
from journal.erasure.erasure_spec import ErasureSpec
from journal.model.schema import Table
from journal.model.suppression import Suppression
from journal.sql.relations import ident
from rewriter.statement import Erase, SqlStatement
from rewriter.syntax.parsing import Parsed, parse

if TYPE_CHECKING:
    from gateway.session.session import Session


def condition_spec(
    session: Session, table: Table, where: exp.Expr, parameters: Mapping[str, Any]
) -> ErasureSpec:
    """What a request asks for by a condition on the columns of a table: keys alone are suppressed.

    Values are parameters by the names of the condition's placeholders.
    """
    target = exp.Table(this=ident(table.name.name), db=ident(table.name.schema))
    words = ["ERASE FROM", target.sql("duckdb"), "WHERE", where.sql("duckdb")]
    (parsed,) = parse(" ".join(words), "duckdb", session.settings.limits)
    erase = parsed.statement
    assert isinstance(erase, Erase)
    bound = bind(parsed, parameters)
    asking = ErasureCondition(session, table, bound, session.settings, "duckdb")
    query = Parsed(
        SqlStatement(keys_query(erase, table, as_written=table.hidden_key)),
        f"ERASE\0{parsed.text}",
        parsed.parameters,
    )

    def find() -> pa.Table:
        return asking.findkeys_query(session.journal.begin(read_only=True), query)

    return ErasureSpec(
        rows={table.id: find},
        among={table.id: asking.key_finder(parsed, erase)},
        again=asking.to_record(parsed),
        suppression=Suppression.KEY,
    )
