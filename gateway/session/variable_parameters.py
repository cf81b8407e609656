"""``$name`` without a value means the variable of that name, as in DuckDB. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import exp

from gateway.config import Settings
from gateway.session.parameters import Given, refuse_placeholders
from journal.model.plan import USER_PARAMETER
from journal.model.trees import with_changed_trees
from rewriter.statement import Prepare
from rewriter.syntax.parsing import Parsed


def without_placeholders(statements: list[Parsed], settings: Settings) -> list[Parsed]:
    """Statements that were read without parameters; raises PARAMETERS where one needs values."""
    held = _variables(settings)
    if held and any("$" in parsed.text for parsed in statements):
        statements = [_filled(parsed, held, "") for parsed in statements]
    refuse_placeholders(statements)
    return statements


def with_variables(parsed: Parsed, given: Given, settings: Settings) -> Parsed:
    """The statement with variables for the named parameters that got no value."""
    if not parsed.parameters or (given and not isinstance(given, Mapping)):
        return parsed
    held = _variables(settings)
    names = {n for n in parsed.parameters if isinstance(n, str) and n.lower() in held}
    missing = names - set(given or ())
    if not missing:
        return parsed
    rest = tuple(name for name in parsed.parameters if name not in missing)
    return replace(_filled(parsed, missing, USER_PARAMETER), parameters=rest)


def _variables(settings: Settings) -> Collection[str]:
    """The names of variables; one of digits alone stands for no parameter."""
    held = settings.variables if settings.dialect == "duckdb" else ()
    return {name for name, _ in held if not name.isdigit()}


def _filled(parsed: Parsed, names: Collection[str], prefix: str) -> Parsed:
    """The statement with a call of ``getvariable`` for each parameter of these names."""
    if isinstance(parsed.statement, Prepare):
        return parsed
    statement = with_changed_trees(
        parsed.statement, lambda tree: _tree_with_calls(tree, names, prefix)
    )
    if statement is parsed.statement:
        return parsed
    # The text names the plan in the cache, where one may stand with parameters.
    shown = ", ".join(sorted(names))
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {shown}")


def _tree_with_calls(tree: exp.Expr, names: Collection[str], prefix: str) -> exp.Expr:
    def name_of(node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Placeholder) or not node.name.startswith(prefix):
            return None
        name = str(node.name).removeprefix(prefix)
        return name if name in names or name.lower() in names else None

    def call(node: exp.Expr) -> exp.Expr:
        name = name_of(node)
        if name is None:
            return node
        found = exp.Anonymous(this="getvariable", expressions=[exp.Literal.string(name)])
        found.update_positions(node)
        is_output = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
        return exp.alias_(found, f"${name}", quoted=True) if is_output else found

    if all(name_of(node) is None for node in tree.find_all(exp.Placeholder)):
        return tree
    return tree.transform(call)
