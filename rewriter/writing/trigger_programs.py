"""What a trigger makes of a row, as expressions over the row before it.

The body is gone through once, with an expression for each variable and column in the place of a
value: an IF becomes CASE, and each RETURN or RAISE a case of its own. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from journal.model.trees import copy_tree
from journal.sql.relations import column, ident
from journal.sql.sql import all_of, any_of, cast
from rewriter.definitions.trigger_bodies import refused
from rewriter.functions import is_random
from rewriter.statements.blocks import Assign, Block, Branch, Raise, Return, Run, Step
from rewriter.writing.target import convert_value

NEW, OLD, VARIABLES = "new", "old", "_palimpsest_variables"
_CASES_MAX = 64
_NO_RETURN = Raise(True, "control reached end of trigger procedure without RETURN")
_Values = dict[tuple[str, str], exp.Expr]
"""Values of columns of NEW by their physical names, and of variables."""


@dataclass(frozen=True, slots=True)
class RowProgram:
    """Expressions over columns ``new.c`` and ``old.c``, by logical names.

    ``values`` are those of columns, by physical names, that the trigger may change. A row of which
    ``skips`` holds is left alone; one of which a condition in ``raised`` holds is an error, with
    the text beside it.
    """

    values: Mapping[str, exp.Expr]
    skips: exp.Expr | None
    raised: Sequence[tuple[exp.Expr, Raise, exp.Expr]]


@dataclass(frozen=True, slots=True)
class _Case:
    """How a body ends under a condition: with a row, without one (None), or with an error."""

    condition: Sequence[exp.Expr]
    end: str | Raise | None
    values: Mapping[tuple[str, str], exp.Expr]
    text: exp.Expr | None = None


def program_of(
    block: Block,
    table: Table,
    condition: exp.Expr | None,
    spelled: Callable[[Run], exp.Expr],
    *,
    has_old: bool,
) -> RowProgram:
    """What a body makes of a row of a table that the ``condition`` of WHEN holds of.

    ``spelled`` gives the expression of a step in words of the store. A row that is inserted has no
    old one: returning that skips it.
    """
    walk = _Walk(table, spelled, has_old=has_old)
    values = walk.declared(block)
    left = walk.steps(block.steps, values, [])
    if left is not None:
        walk.end([], _NO_RETURN, left)
    return walk.program(condition)


class _Walk:
    """Goes through a body and notes how it ends."""

    def __init__(self, table: Table, spelled: Callable[[Run], exp.Expr], *, has_old: bool) -> None:
        self.table, self.spelled, self.has_old = table, spelled, has_old
        self.cases: list[_Case] = []
        self.kinds: dict[str, exp.DataType] = {}

    def declared(self, block: Block) -> _Values:
        """The variables with their first values."""
        values: _Values = {}
        for variable in block.variables:
            null = self.spelled(variable.kind)
            kind = null.find(exp.Cast)
            if kind is None:
                raise refused(f"the type of the variable {variable.name}")
            self.kinds[variable.name] = kind.to
            first = null if variable.value is None else self.value(variable.value, values)
            values["", variable.name] = self.converted(variable.name, first)
        return values

    def converted(self, variable: str, value: exp.Expr) -> exp.Expr:
        """A value as an assignment to a variable makes it."""
        return exp.Cast(this=value, to=self.kinds[variable].copy())

    def value(self, run: Run, values: _Values) -> exp.Expr:
        """The expression of a step, where columns and variables have these values."""
        found = exp.Paren(this=copy_tree(self.spelled(run)))
        for used in list(found.find_all(exp.Column)):
            key = self.key_of(used)
            known = None if key is None else values.get(key)
            if known is None:
                continue
            if is_random(known):
                what = f"{used.name}, which has another value at each look, as part of another one"
                raise refused(what, "assign it last, and read it nowhere")
            used.replace(exp.paren(copy_tree(known), copy=False))
        inner: exp.Expr = found.this
        return inner

    def key_of(self, used: exp.Column) -> tuple[str, str] | None:
        """What of the values a column means."""
        if used.table == VARIABLES:
            return "", used.name
        if used.table != NEW:
            return None
        stored = self.table.find(used.name)
        return None if stored is None else (NEW, stored.physical)

    def steps(
        self, steps: Sequence[Step], values: _Values, under: list[exp.Expr]
    ) -> _Values | None:
        """The values after steps that run under conditions; None where all of them have ended."""
        for step in steps:
            match step:
                case Assign():
                    values = {**values, **self.assigned(step, values)}
                case Branch():
                    left = self.branch(step, values, under)
                    if left is None:
                        return None
                    values = left
                case Block():
                    left = self.steps(step.steps, values, under)
                    if left is None:
                        return None
                    values = left
                case Raise():
                    self.end(under, step, values)
                    return None
                case Return(row):
                    self.end(under, row, values)
                    return None
                case _:
                    raise AssertionError(step)
        return values

    def assigned(self, step: Assign, values: _Values) -> _Values:
        """The value that an assignment gives."""
        value = self.value(step.value, values)
        if len(step.target) == 1:
            return {("", step.target[0]): self.converted(step.target[0], value)}
        stored = self.table.find(step.target[1])
        if stored is None:
            raise no_field(NEW, step.target[1])
        if stored.generated is not None:
            return {}  # What it is computed from decides.
        return {(NEW, stored.physical): convert_value(value, stored)}

    def branch(self, step: Branch, values: _Values, under: list[exp.Expr]) -> _Values | None:
        """The values after IF."""
        before: list[exp.Expr] = []
        ways: list[tuple[exp.Expr, _Values]] = []
        last: _Values | None = None
        for run, inner in step.choices:
            condition = self.value(run, values)
            known = _truth_of(condition)
            if known is False:
                continue
            if is_random(condition):
                raise refused(
                    "a condition that has another value at each look", "assign it to no condition"
                )
            holds = exp.Coalesce(this=condition, expressions=[exp.false()])
            left = self.steps(inner, values, [*under, *before, *([] if known else [holds])])
            if known:
                last = left
                break
            if left is not None:
                ways.append((holds, left))
            before.append(exp.Not(this=holds.copy()))
        else:
            last = self.steps(step.otherwise, values, [*under, *before])
        if last is None:
            if not ways:
                return None
            *ways, (_, last) = ways
        return _merged(ways, last, values, self.unassigned)

    def unassigned(self, key: tuple[str, str]) -> exp.Expr:
        """The value of a column of NEW that nothing has assigned."""
        return column(self.table.by_physical(key[1]).name, NEW)

    def end(self, under: Sequence[exp.Expr], how: str | Raise | None, values: _Values) -> None:
        """Note an end."""
        text = None
        if how == OLD and not self.has_old:
            how = None
        if isinstance(how, Raise):
            text = _message(how, [self.value(run, values) for run in how.values])
        self.cases.append(_Case(list(under), how, dict(values), text))
        if len(self.cases) > _CASES_MAX:
            raise refused(f"a body that ends in more than {_CASES_MAX} places", "take it apart")

    def program(self, condition: exp.Expr | None) -> RowProgram:
        """What all ends together make of a row."""
        if condition is not None and is_random(condition):
            raise refused("a WHEN that has another value at each look", "use IF on a column")
        columns = {c.physical: c for c in self.table.columns if c.generated is None}
        is_old = any(case.end == OLD for case in self.cases)
        changed = {p for case in self.cases for kind, p in case.values if kind == NEW}
        values = {}
        for physical in columns if is_old else [p for p in columns if p in changed]:
            name = columns[physical].name

            def value(case: _Case, name: str = name, physical: str = physical) -> exp.Expr:
                if case.end == OLD:
                    return column(name, OLD)
                new = case.values.get((NEW, physical)) if case.end == NEW else None
                return column(name, NEW) if new is None else new

            values[physical] = _under(condition, self.chosen(value), column(name, NEW))
        skips = None
        if any(case.end is None for case in self.cases):
            skips = self.chosen(lambda case: exp.Boolean(this=case.end is None))
            skips = _under(condition, skips, exp.false())
        raised = [
            (_under(condition, self.falls_into(case), exp.false()), case.end, case.text)
            for case in self.cases
            if isinstance(case.end, Raise) and case.text is not None
        ]
        return RowProgram(values, skips, raised)

    def falls_into(self, wanted: _Case) -> exp.Expr:
        """Whether a row falls into a case."""
        return self.chosen(lambda case: exp.Boolean(this=case is wanted))

    def chosen(self, value: Callable[[_Case], exp.Expr]) -> exp.Expr:
        """The value of the case that a row falls into."""
        *cases, last = self.cases
        default = copy_tree(value(last))
        if not cases:
            return default
        ifs = [
            exp.If(this=all_of(*map(copy_tree, c.condition)), true=copy_tree(value(c)))
            for c in cases
        ]
        return exp.Case(ifs=ifs, default=default)


def no_field(row: str, name: str) -> PalimpsestError:
    """UNKNOWN_COLUMN, in PostgreSQL's words."""
    return PalimpsestError(
        Code.UNKNOWN_COLUMN,
        f'record "{row}" has no field "{name}"',
        advice="have the function of the trigger name columns of the table",
    )


def whole_rows(expression: exp.Expr, table: Table) -> None:
    """Compare NEW and OLD column by column, in place; raises for other uses of whole rows."""
    for node in list(expression.find_all(exp.NullSafeEQ, exp.NullSafeNEQ)):
        sides = [_row_of(side) for side in (node.this, node.expression)]
        if None in sides:
            continue
        left, right = (str(side) for side in sides)
        pairs = [
            type(node)(
                this=exp.column(ident(c.name), left), expression=exp.column(ident(c.name), right)
            )
            for c in table.columns
            if c.generated is None
        ]
        joined = all_of(*pairs) if isinstance(node, exp.NullSafeEQ) else any_of(*pairs)
        node.replace(exp.paren(joined, copy=False))
    for used in expression.find_all(exp.Column):
        if _row_of(used) is not None:
            raise refused("this use of a whole row", "compare NEW and OLD by IS DISTINCT FROM")


def _row_of(node: exp.Expr) -> str | None:
    node = node.unnest()
    if not isinstance(node, exp.Column):
        return None
    if isinstance(node.this, exp.Star):
        return node.table if node.table in {NEW, OLD} else None
    return node.name if not node.table and node.name in {NEW, OLD} else None


def _truth_of(condition: exp.Expr) -> bool | None:
    """Whether a condition over constants holds, as one of TG_OP alone is."""
    node = condition.unnest()
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Not():
            inner = _truth_of(node.this)
            return None if inner is None else not inner
        case exp.And() | exp.Or():
            sides = [_truth_of(node.this), _truth_of(node.expression)]
            decisive = isinstance(node, exp.Or)
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        case exp.EQ() | exp.NEQ() if all(map(_is_text, (node.this, node.expression))):
            same = node.this.name == node.expression.name
            return same if isinstance(node, exp.EQ) else not same
        case exp.In() if _is_text(node.this) and all(map(_is_text, node.expressions)):
            return node.this.name in [value.name for value in node.expressions]
        case _:
            return None


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _merged(
    ways: Sequence[tuple[exp.Expr, _Values]],
    last: _Values,
    before: _Values,
    kept: Callable[[tuple[str, str]], exp.Expr],
) -> _Values:
    """The values behind an IF whose branches have left these."""
    found = dict(last)
    for key in {key for _, values in ways for key in values} | set(last):
        each = [values.get(key) for _, values in ways]
        if all(value is last.get(key) for value in each):
            continue
        default = last.get(key)
        ifs = [
            exp.If(this=copy_tree(holds), true=copy_tree(kept(key) if value is None else value))
            for (holds, _), value in zip(ways, each, strict=True)
        ]
        found[key] = exp.Case(ifs=ifs, default=copy_tree(kept(key) if default is None else default))
    return found


def _under(condition: exp.Expr | None, value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    if condition is None:
        return value
    return exp.Case(ifs=[exp.If(this=copy_tree(condition), true=value)], default=otherwise)


def _message(raised: Raise, values: Sequence[exp.Expr]) -> exp.Expr:
    """The text of an error."""
    parts = raised.message.replace("%%", "\0").split("%")
    texts: list[exp.Expr] = [exp.Literal.string(parts[0].replace("\0", "%"))]
    for part, value in zip(parts[1:], values, strict=True):
        shown = cast(value, "VARCHAR")
        texts.append(exp.Coalesce(this=shown, expressions=[exp.Literal.string("<NULL>")]))
        texts.append(exp.Literal.string(part.replace("\0", "%")))
    return texts[0] if len(texts) == 1 else exp.Anonymous(this="concat", expressions=texts)
