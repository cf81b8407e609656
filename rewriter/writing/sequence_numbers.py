"""nextval, currval, lastval and setval in a plan: numbers are taken between its steps.

    SELECT nextval('s'), a FROM t      keep the rows of t -> take as many numbers -> show both
    VALUES (nextval('s')), SELECT nextval('s')            take the numbers that the text asks for

A row gets its numbers where a SELECT lists them, in the order of the rows, under CASE and COALESCE
only where the branch is taken. Everywhere else, such as in WHERE, it depends on the store how often
a call is made, so it is refused. Works on plans, so whatever rule has made one.
"""

from __future__ import annotations

from dataclasses import field, replace

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from journal.model.number_source import CounterKey, CounterPosition, NumberSource
from journal.model.plan import (
    P_CURRENT,
    Query,
    SetNumber,
    Stage,
    StatementPlan,
    Step,
    TakeNumbers,
)
from journal.sql.sql import cast, named, select
from rewriter.context import RewriteContext
from rewriter.definitions.sequences import (
    CURRENT,
    LAST,
    NEXT,
    POSITION,
    SET,
    sequence_calls,
    source_of,
    whole_call,
)
from rewriter.functions import function_name
from rewriter.writing.number_places import (
    check_separate,
    condition_of,
    outer_ctes,
    own_calls,
    place_of,
    place_refusal,
    row_count,
)
from rewriter.writing.split_select import SplitSelect, mark_kept, name_output

_PERIOD_MAX = 1 << 62


def with_numbers(plan: StatementPlan, context: RewriteContext) -> StatementPlan:
    """The plan with steps that take the numbers its queries ask for.

    Raises NOT_SUPPORTED for a call at a place where no number can be taken, UNKNOWN_TABLE for an
    unknown sequence.
    """
    found = [step for step in plan.steps if _calls(step)]
    if not found:
        return plan
    numbering = _Numbering(context)
    steps = [made for step in plan.steps for made in numbering.steps(step)]
    return replace(
        plan,
        steps=tuple(steps),
        bounded=plan.bounded and numbering.is_static,
        plain=None,
        currents=tuple(numbering.currents),
    )


def _calls(step: Step) -> list[exp.Anonymous]:
    query = getattr(step, "query", None)
    if not isinstance(query, Query):
        return []
    if query.nodes is not None and exp.Anonymous not in query.nodes.by_type:
        return []
    return sequence_calls(query.ast)


@dataclass(slots=True)
class _Numbering:
    """What is made of a plan; ``is_static`` until rows had to be kept to be counted."""

    context: RewriteContext
    currents: list[NumberSource | CounterPosition | None] = field(default_factory=list)
    is_static: bool = True
    names: int = 0

    def steps(self, step: Step) -> list[Step]:
        """The steps that a step becomes."""
        if not _calls(step):
            return [step]
        holder = exp.Subquery(this=step.query.ast)  # type: ignore[union-attr]
        self._check_mixture(holder)
        for call in sequence_calls(holder):
            if function_name(call) in {NEXT, SET}:
                place_of(call)
            name_output(call)
        for call in sequence_calls(holder):
            if function_name(call) in {CURRENT, LAST, POSITION}:
                self._show_current(call)
        before: list[Step] = []
        while True:
            calls = sequence_calls(holder)
            if not calls:
                break
            before += self._take(calls[0], holder)
        made = Query.of(holder.this.pop())
        return [*before, replace(step, query=made)]  # type: ignore[arg-type]

    def name(self, what: str) -> str:
        """A name that nothing in the plan has."""
        self.names += 1
        return f"p_{what}_{self.names}"

    def _check_mixture(self, holder: exp.Expr) -> None:
        """Refuse a look at a sequence beside a call that moves it, where the order decides.

        So it does where a sequence is put back behind a number that is taken of it.
        """
        calls = sequence_calls(holder)
        taken: set[CounterKey] = set()
        moved = {source_of(c, self.context).key for c in calls if function_name(c) in {NEXT, SET}}
        for call in calls:
            if function_name(call) == LAST:
                clash = bool(moved)
            else:
                key = source_of(call, self.context).key
                clash = key in (taken if function_name(call) == SET else moved)
                clash = clash and function_name(call) != NEXT
                if function_name(call) == NEXT:
                    taken.add(key)
            if clash:
                why = "beside a call that moves the sequence"
                raise place_refusal(call, why, "use two statements")

    def _show_current(self, call: exp.Anonymous) -> None:
        source: NumberSource | CounterPosition | None = None
        if function_name(call) != LAST:
            source = source_of(call, self.context)
            source = CounterPosition(source) if function_name(call) == POSITION else source
        if source not in self.currents:
            self.currents.append(source)
        parameter = exp.Placeholder(this=f"{P_CURRENT}{self.currents.index(source)}")
        whole_call(call).replace(cast(parameter, "BIGINT"))

    def _take(self, call: exp.Anonymous, holder: exp.Subquery) -> list[Step]:
        """Replace a call, and those that must go with it; the steps before."""
        place = place_of(call)
        if isinstance(place, exp.Values):
            return self._take_constants(list(place.find_all(exp.Anonymous, bfs=False)))
        sets = any(function_name(c) == SET for c in sequence_calls(place))
        rows = None if sets else row_count(place)
        own = own_calls(place)
        if rows is not None and all(condition_of(c, place) is None for c in own):
            if place.args.get("from_") is None:
                return self._take_constants(own)
            return self._take_rows(place, None, rows)
        return self._keep_rows(place, holder)

    def _take_constants(self, calls: list[exp.Anonymous]) -> list[Step]:
        """Calls that are made once each."""
        steps: list[Step] = []
        for source, group in self._by_source(calls).items():
            step = TakeNumbers(source, self.name("next"), count=len(group))
            steps.append(step)
            for place, call in enumerate(group):
                ordinal: exp.Expr = exp.Literal.number(place)
                whole_call(call).replace(_value(step, ordinal))
        return steps

    def _take_rows(
        self, place: exp.Select, stage: str | None, rows: int = 1, order: exp.Expr | None = None
    ) -> list[Step]:
        """Calls that are made for each row of a SELECT."""
        steps: list[Step] = []
        for source, group in self._by_source(own_calls(place)).items():
            step = TakeNumbers(source, self.name("next"), stage, len(group) * rows)
            steps.append(step)
            for number, call in enumerate(group):
                ordinal: exp.Expr = row_place(order)
                if len(group) > 1:
                    width = exp.Literal.number(len(group))
                    ordinal = exp.Mul(this=exp.paren(ordinal), expression=width)
                    ordinal = exp.Add(this=ordinal, expression=exp.Literal.number(number))
                whole_call(call).replace(_value(step, ordinal))
        return steps

    def _keep_rows(self, place: exp.Select, holder: exp.Subquery) -> list[Step]:
        """Keep the rows of a SELECT, so that they can be counted and numbered."""
        self.is_static = False
        check_separate(place)
        split = SplitSelect(place, self.name("rows"))
        later: list[Step] = []
        for index, node in enumerate(list(place.expressions)):
            if sequence_calls(node):
                later += self._split_output(split, index, node)
            else:
                split.keep(index, node)
        shown = split.computed()
        stage = split.stage(outer_ctes(place))
        place.replace(shown)
        unconditional = self._take_rows(shown, split.name, order=split.order)
        return [*self.steps(stage), *later, *unconditional]

    def _split_output(self, split: SplitSelect, index: int, node: exp.Expr) -> list[Step]:
        """One output with calls: what it reads is kept, and it is computed behind that."""
        holder = exp.Paren(this=node.unalias().copy())
        steps: list[Step] = []
        for call in sequence_calls(holder):
            if function_name(call) == SET:
                steps.append(self._set(split, call))
                continue
            condition = condition_of(call, holder)
            if condition is not None:
                steps += self._take_some(split, call, split.piece(condition))
        split.output(index, node, split.replaced(holder.this.pop()))
        return steps

    def _set(self, split: SplitSelect, call: exp.Anonymous) -> Step:
        _, value, *rest = call.expressions
        parts = [cast(value.copy(), "BIGINT")]
        parts.append(cast(rest[0].copy(), "BOOLEAN") if rest else exp.true())
        pieces = [split.piece(part) for part in parts]
        source = source_of(call, self.context)
        whole_call(call).replace(pieces[0].copy())
        return SetNumber(source, Query.of(select([p.copy() for p in pieces], split.relation())))

    def _take_some(
        self, split: SplitSelect, call: exp.Anonymous, condition: exp.Expr
    ) -> list[Step]:
        """A call that is made for the rows of a condition."""
        some = self.name("some")
        rows = select([named(exp.Literal.number(1), "one")], split.relation())
        kept = Stage(some, Query.of(rows.where(condition.copy(), copy=False)))
        step = TakeNumbers(source_of(call, self.context), self.name("next"), some)
        whole_call(call).replace(mark_kept(_value(step, row_place(split.order, condition))))
        return [kept, step]

    def _by_source(self, calls: list[exp.Anonymous]) -> dict[NumberSource, list[exp.Anonymous]]:
        found: dict[NumberSource, list[exp.Anonymous]] = {}
        for call in calls:
            found.setdefault(source_of(call, self.context), []).append(call)
        return found


def row_place(order: exp.Expr | None = None, condition: exp.Expr | None = None) -> exp.Expr:
    """The place of a row, from 0 on, perhaps among those of a condition."""
    window = exp.Window(this=exp.RowNumber())
    if condition is not None:
        window.set("partition_by", [condition.copy()])
    if order is not None:
        window.set("order", exp.Order(expressions=[exp.Ordered(this=order.copy())]))
    return exp.Sub(this=window, expression=exp.Literal.number(1))


def _value(step: TakeNumbers, ordinal: exp.Expr) -> exp.Expr:
    """The number at a place among those that a step has taken."""
    source = step.source
    first = cast(exp.Placeholder(this=step.name), "BIGINT")
    plain = exp.Add(this=first, expression=_steps(ordinal, source))
    if not source.cycles:
        return exp.paren(plain)
    turn = cast(exp.Placeholder(this=f"{step.name}_turn"), "BIGINT")
    behind = exp.Sub(this=exp.paren(ordinal.copy()), expression=turn.copy())
    period = exp.Literal.number(min(source.period, _PERIOD_MAX))
    turned = exp.Mod(this=exp.paren(behind), expression=period)
    again = exp.Add(this=_number(source.first_of_cycle), expression=_steps(turned, source))
    before = exp.LT(this=exp.paren(ordinal.copy()), expression=turn)
    return exp.Case().when(before, plain).else_(again)


def _steps(ordinal: exp.Expr, source: NumberSource) -> exp.Expr:
    if source.increment == 1:
        return exp.paren(ordinal.copy())
    return exp.Mul(this=exp.paren(ordinal.copy()), expression=_number(source.increment))


def _number(value: int) -> exp.Expr:
    found = exp.Literal.number(abs(value))
    return cast(exp.paren(exp.Neg(this=found)) if value < 0 else found, "BIGINT")
