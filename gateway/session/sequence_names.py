"""Names of sequences that a client gives as parameters, as PDO does: ``SELECT CURRVAL($1)``.

A plan is of one sequence, so a statement with another name is another statement.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from gateway.session.parameters import Given, bind
from rewriter.definitions.sequences import OWN_OF, sequence_calls, without_calls
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed


def with_sequence_names(parsed: Parsed, given: Given) -> Parsed:
    """The statement with such names as constants; often the same object."""
    if not given or not _named(parsed):
        return parsed
    assert isinstance(parsed.statement, SqlStatement)
    values, ast = bind(parsed, given), parsed.statement.ast.copy()
    names = {node.name: values.get(node.name) for node in _placeholders(ast)}
    for node in _placeholders(ast):
        value = names[node.name]
        node.replace(exp.null() if value is None else exp.Literal.string(str(value)))
    shown = ", ".join(sorted(map(str, names.values())))
    statement = replace(parsed.statement, ast=ast)
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {shown}")


def without_sequence_names(parsed: Parsed) -> Parsed:
    """The statement with a number in the place of each call, to be described without a name."""
    if not _named(parsed):
        return parsed
    assert isinstance(parsed.statement, SqlStatement)
    statement = replace(parsed.statement, ast=without_calls(parsed.statement.ast.copy()))
    return replace(parsed, statement=statement, text=f"{parsed.text} -- without")


def _named(parsed: Parsed) -> bool:
    if not parsed.parameters or not isinstance(parsed.statement, SqlStatement):
        return False
    return "val" in parsed.text.lower() and bool(_placeholders(parsed.statement.ast))


def _placeholders(tree: exp.Expr) -> list[exp.Placeholder]:
    """The parameters that stand where a sequence is named."""
    calls = sequence_calls(tree)
    if not calls:
        return []
    named = [part for call in calls for part in call.expressions[:1]]
    named += [
        part
        for call in tree.find_all(exp.Anonymous)
        if call.name.lower() == OWN_OF
        for part in call.expressions
    ]
    inner = [part.this if isinstance(part, exp.Cast) else part for part in named]
    return [part for part in inner if isinstance(part, exp.Placeholder)]
