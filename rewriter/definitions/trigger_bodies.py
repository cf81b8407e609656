"""What the body of a function of triggers may hold: expressions over one row. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from rewriter.functions import check_functions
from rewriter.statement import SqlStatement
from rewriter.statements.blocks import Assign, Block, Branch, Raise, Run, Step

_ADVICE = "a function of triggers computes from NEW and OLD; docs/definitions.md has its form"


def check_body(block: Block) -> None:
    """Raise for what no trigger can be made of, and SYNTAX for an unknown variable."""
    variables = {variable.name for variable in block.variables}
    for step in steps_of(block.steps):
        if isinstance(step, Assign) and not _is_place(step.target, variables):
            raise PalimpsestError(
                Code.SYNTAX,
                f'"{".".join(step.target)}" is not a known variable',
                advice="assign to a declared variable, or to a column: NEW.c := ..",
            )
        if isinstance(step, Raise) and not any(c.value.sqlstate == step.sqlstate for c in Code):
            raise refused(f"ERRCODE {step.sqlstate}", "leave it out, or use one of docs/errors.md")
    for run in expressions_of(block):
        expression_of(run)


def expression_of(run: Run) -> exp.Expr:
    """The one expression that a step computes; raises for queries and aggregates."""
    statement = run.statement
    ast = statement.ast if isinstance(statement, SqlStatement) else None
    is_one = isinstance(ast, exp.Select) and len(ast.expressions) == 1
    others = {} if ast is None else {n for n, v in ast.args.items() if v and n != "expressions"}
    if not isinstance(ast, exp.Select) or not is_one or others:
        raise refused("a query in a function of triggers")
    found: exp.Expr = ast.expressions[0].unalias()
    for _ in found.find_all(exp.Query):
        raise refused("a query in a function of triggers")
    for _ in found.find_all(exp.AggFunc, exp.Window):
        raise refused("an aggregate in a function of triggers")
    check_functions(exp.Paren(this=found.copy()))
    return found


def expressions_of(block: Block) -> Iterator[Run]:
    """Every expression of a body, in a fixed order."""
    for variable in block.variables:
        yield variable.kind
        if variable.value is not None:
            yield variable.value
    for step in steps_of(block.steps):
        match step:
            case Assign():
                yield step.value
            case Branch():
                yield from (condition for condition, _ in step.choices)
            case Raise():
                yield from step.values


def refused(what: str, advice: str = _ADVICE) -> PalimpsestError:
    """NOT_SUPPORTED for a part of a body."""
    return PalimpsestError(Code.NOT_SUPPORTED, f"{what} is not supported", advice=advice)


def steps_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Steps and those within them."""
    for step in steps:
        yield step
        match step:
            case Branch():
                for _, inner in step.choices:
                    yield from steps_of(inner)
                yield from steps_of(step.otherwise)
            case Block():
                yield from steps_of(step.steps)


def _is_place(target: tuple[str, ...], variables: set[str]) -> bool:
    return target[0] in variables if len(target) == 1 else len(target) == 2 and target[0] == "new"
