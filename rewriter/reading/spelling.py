"""How DuckDB spells an expression when it names a result column after it.

Only for columns whose text a rewrite would change. What DuckDB spells in a way that is not known
here keeps the spelling of the client. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.errors import UnsupportedError

from journal.model.errors import Code, PalimpsestError
from journal.sql import dialects
from rewriter.reading.keywords import KEYWORDS


def result_spelling(node: exp.Expr) -> str:
    """The name DuckDB gives a result column without an alias."""
    root = exp.Paren(this=node.copy())
    for part in reversed(list(root.this.bfs())):
        spell = _SPELLINGS.get(type(part), _call if _is_call(part) else None)
        if spell is not None and not _is_branch(part):
            part.replace(exp.Var(this=spell(part)))
    return _sql(root.this)


Spell = Callable[[Any], str]


def _sql(node: exp.Expr | None) -> str:
    if node is None:
        return ""
    try:
        return dialects.generated(lambda: node.sql(dialect="duckdb", normalize_functions="lower"))
    except UnsupportedError as error:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the expression cannot be read: {str(error).rstrip('.')}",
            advice="check the arguments of its functions",
        ) from error


def _binary(operator: str) -> Spell:
    return lambda node: f"({_sql(node.this)} {operator} {_sql(node.expression)})"


def _like(operator: str) -> Spell:
    def spell(node: exp.Binary) -> str:
        negated = "!" if node.args.get("negate") else ""
        return f"({_sql(node.this)} {negated}{operator} {_sql(node.expression)})"

    return spell


def _negative(node: exp.Neg) -> str:
    """A negative number is a constant, a negative value an operator."""
    text = _sql(node.this)
    return f"-{text}" if text[:1].isdigit() else f"(-({text}))"


def _logical(operator: str) -> Spell:
    """A chain of one operator stands in one pair of parentheses."""

    def spell(node: exp.Binary) -> str:
        text = f"{_sql(node.this)} {operator} {_sql(node.expression)}"
        return text if type(node.parent) is type(node) else f"({text})"

    return spell


def _identifier(node: exp.Identifier) -> str:
    """Quoted only where it must be; the case stays."""
    name = str(node.this)
    if _PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return _sql(exp.to_identifier(name, quoted=True))


_PLAIN = re.compile(r"[^\W\d][\w$]*")


def _in(node: exp.In) -> str:
    query = node.args.get("query")
    if query is not None:
        return f"({_sql(node.this)} = ANY{_in_parentheses(query)})"
    return f"({_sql(node.this)} IN ({', '.join(_sql(item) for item in node.expressions)}))"


def _in_parentheses(query: exp.Expr) -> str:
    text = _sql(query)
    return text if text.startswith("(") else f"({text})"


def _from(node: exp.From) -> str:
    """A FROM with its joins, which DuckDB puts in parentheses from the left."""
    select = node.parent
    text = _sql(node.this)
    for join in (select.args.get("joins") or []) if select is not None else []:
        text = _join_text(text, join)
    if select is not None:
        select.set("joins", [])
    return f" FROM {text}"


def _join_text(text: str, join: exp.Join) -> str:
    other = _sql(join.this)
    on, using = join.args.get("on"), join.args.get("using")
    kind = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
    if not kind and on is None and not using:
        return f"{text} , {other}"
    kind = kind if join.side or join.kind else f"{kind} INNER".strip()
    condition = "" if on is None else f" ON ({_sql(on)})"
    if using:
        condition = f" USING ({', '.join(_sql(name) for name in using)})"
    return f"({text} {kind} JOIN {other}{condition})"


def _not(node: exp.Not) -> str:
    text = _sql(node.this)
    if text.endswith(" IS NULL)"):
        return text[: -len("NULL)")] + "NOT NULL)"
    return f"(NOT {text})"


def _is_branch(node: exp.Expr) -> bool:
    return isinstance(node, exp.If) and isinstance(node.parent, exp.Case)


def _if(node: exp.If) -> str:
    """Outside of a CASE: one with a branch."""
    other = _sql(node.args.get("false")) or "NULL"
    return f"CASE  WHEN ({_sql(node.this)}) THEN ({_sql(node.args['true'])}) ELSE {other} END"


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Func) and not isinstance(node, exp.SubqueryPredicate)


def _call(node: exp.Func) -> str:
    """A function's name is quoted if it is a keyword."""
    text = _sql(node)
    name, parenthesis, rest = text.partition("(")
    is_keyword = bool(parenthesis) and name.lower() in KEYWORDS
    return f'"{name}"({rest}' if is_keyword else text


def _union(node: exp.Union) -> str:
    word = "UNION" if node.args.get("distinct") else "UNION ALL"
    return f"({_sql(node.this)}) {word} ({_sql(node.expression)})"


def _case(node: exp.Case) -> str:
    operand = _sql(node.this)
    whens = [f" WHEN ({_sql(b.this)}) THEN ({_sql(b.args['true'])})" for b in node.args["ifs"]]
    return f"CASE {operand}{''.join(whens)} ELSE {_sql(node.args.get('default')) or 'NULL'} END"


_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "//",
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.DPipe: "||",
}  # fmt: skip
_TYPES: dict[str, str] = {"TEXT": "VARCHAR", "INT": "INTEGER"}
_SPELLINGS: dict[type[exp.Expr], Spell] = {
    **{kind: _binary(operator) for kind, operator in _BINARY.items()},
    exp.Identifier: _identifier,
    exp.Boolean: lambda node: _sql(node).lower(),
    exp.Like: _like("~~"),
    exp.ILike: _like("~~*"),
    exp.CurrentUser: lambda _: "current_user",
    exp.SessionUser: lambda _: "session_user",
    exp.CurrentSchema: lambda _: "current_schema()",
    exp.In: _in,
    exp.From: _from,
    exp.Case: _case,
    exp.If: _if,
    exp.Grouping: lambda node: "GROUPING" + _sql(node)[len("grouping") :],
    exp.Extract: lambda node: f"date_part('{node.name.upper()}', {_sql(node.expression)})",
    exp.And: _logical("AND"),
    exp.Or: _logical("OR"),
    exp.Not: _not,
    exp.Is: lambda node: f"({_sql(node.this)} IS {_sql(node.expression)})",
    exp.Between: lambda node: f"({_sql(node)})",
    exp.Neg: _negative,
    exp.Count: lambda node: "count_star()" if _sql(node.this) == "*" else _sql(node),
    exp.Coalesce: lambda node: "COALESCE" + _sql(node)[len("coalesce") :],
    exp.Filter: lambda node: f"{_sql(node.this)} FILTER ({_sql(node.expression).strip()})",
    exp.Any: lambda node: f"ANY{_in_parentheses(node.this)}",
    exp.Union: _union,
    exp.Paren: lambda node: _sql(node.this),
    exp.Cast: lambda node: f"CAST({_sql(node.this)} AS {_sql(node.args['to'])})",
    exp.TryCast: lambda node: f"TRY_CAST({_sql(node.this)} AS {_sql(node.args['to'])})",
    exp.DataType: lambda node: _TYPES.get(_sql(node), _sql(node)),
}
