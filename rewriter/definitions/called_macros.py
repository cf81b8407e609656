"""Macros that checks, defaults, generated columns, indexes and policies call. Pure.

Their texts keep what a macro stands for. Beside them stands what they call, so that a macro neither
changes nor goes while a text has it. Which texts have one says a second plan of the same statement,
in which the body of each macro begins with a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import TypeGuard

from journal.model.access import ObjectAccess, PutAccess
from journal.model.errors import Code, PalimpsestError
from journal.model.named_definitions import (
    Definition,
    DefinitionKey,
    DropDefinition,
    Macro,
    PutDefinition,
    definition_key,
)
from journal.model.plan import Change, DropRelation, PutRelation, StatementPlan, Step
from journal.model.schema import Table, relation_key
from rewriter.context import RewriteContext

Planning = Callable[[RewriteContext], StatementPlan]
_Holder = Table | ObjectAccess


def with_calls(plan: StatementPlan, context: RewriteContext, planning: Planning) -> StatementPlan:
    """The plan, in which tables and policies know what macros their texts call."""
    if all(_holder(step) is None for step in plan.steps):
        return plan
    macros = [
        found for found in context.catalog.definitions.values() if _may_be_kept(found, context)
    ]
    elsewhere = [call for found in _holders(context) for call in found.calls]
    if not macros and not elsewhere:
        return plan
    is_new = any(_is_new(step, context) for step in plan.steps)
    marked = plan
    unmarkable: list[DefinitionKey] = []
    if macros and is_new:
        marked, unmarkable = _marked_plan(macros, context, planning)
    beside = iter([found for step in marked.steps if (found := _holder(step)) is not None])
    steps: list[Step] = []
    for step in plan.steps:
        holder = _holder(step)
        if holder is None:
            steps.append(step)
            continue
        like, before = next(beside, None), _before(holder, context)
        texts, shown = dict(_texts(holder)), {} if like is None else dict(_texts(like))
        known = () if before is None else before.calls
        calls = [call for call in known if call[0] in texts.values()]
        earlier = set() if before is None else {text for _, text in _texts(before)}
        for place, text in texts.items():
            keys = [definition_key(m) for m in macros if _mark(m) in shown.get(place, "")]
            if text not in earlier:
                # A copy has what LIKE finds elsewhere.
                keys += [key for of, key in elsewhere if of == text] if not keys else []
                keys += unmarkable
            calls += [(text, key) for key in keys]
        steps.append(_put(step, tuple(dict.fromkeys(calls))))
    return replace(plan, steps=tuple(steps))


def check_uncalled(plan: StatementPlan, context: RewriteContext) -> None:
    """Raise DEPENDENT_OBJECTS for a plan that changes or drops a macro which such a text calls."""
    changes = [step.change for step in plan.steps if isinstance(step, Change)]
    changed: dict[DefinitionKey, Macro] = {}
    for change in changes:
        match change:
            case PutDefinition(Macro() as made, Macro() as known):
                if any(body not in made.bodies for body in known.bodies):
                    changed[definition_key(known)] = known
            case DropDefinition(Macro() as gone):
                changed[definition_key(gone)] = gone
    if not changed:
        return
    dropped = {c.name.key for c in changes if isinstance(c, DropRelation)}
    for holder in _holders(context):
        table = _table_of(holder, context)
        if table is not None and table.name.key in dropped:
            continue
        for place, text in _texts(holder):
            for called, key in holder.calls:
                if called == text and key in changed:
                    raise _dependent(changed[key], table, place, context)


def _may_be_kept(found: Definition, context: RewriteContext) -> TypeGuard[Macro]:
    """True for a macro for values that stays when the session ends."""
    is_own = context.catalog.is_own(found.name)
    return isinstance(found, Macro) and not found.is_table and not is_own


def _marked_plan(
    macros: list[Macro], context: RewriteContext, planning: Planning
) -> tuple[StatementPlan, list[DefinitionKey]]:
    """The plan with marks, and the macros that cannot have one where the statement calls them."""
    try:
        return planning(_marking(macros, context)), []
    except PalimpsestError:
        failing = [macro for macro in macros if _fails(macro, context, planning)]
        others = [macro for macro in macros if macro not in failing]
        return planning(_marking(others, context)), [definition_key(m) for m in failing]


def _fails(macro: Macro, context: RewriteContext, planning: Planning) -> bool:
    try:
        planning(_marking([macro], context))
    except PalimpsestError:
        return True
    return False


def _marking(macros: list[Macro], context: RewriteContext) -> RewriteContext:
    """A context in which what these macros stand for shows it."""
    definitions = dict(context.catalog.definitions)
    for macro in macros:
        test = f"CASE WHEN '{_mark(macro)}' <> '' THEN"
        bodies = tuple(replace(form, body=f"{test} ({form.body}) END") for form in macro.bodies)
        definitions[definition_key(macro)] = replace(macro, bodies=bodies)
    return replace(
        context, catalog=replace(context.catalog, definitions=MappingProxyType(definitions))
    )


def _mark(macro: Macro) -> str:
    schema, name = macro.name.key
    return f"calls {schema} {name};".replace("'", "")


def _holder(step: Step) -> _Holder | None:
    """The table or the policies that a step puts into the catalog."""
    match step:
        case Change(PutRelation(Table() as table)):
            return table
        case Change(PutAccess(access)):
            return access
        case _:
            return None


def _put(step: Step, calls: tuple[tuple[str, DefinitionKey], ...]) -> Step:
    assert isinstance(step, Change)
    change = step.change
    if isinstance(change, PutAccess):
        return Change(PutAccess(replace(change.access, calls=calls)))
    assert isinstance(change, PutRelation)
    assert isinstance(change.relation, Table)
    return Change(replace(change, relation=replace(change.relation, calls=calls)))


def _holders(context: RewriteContext) -> Iterator[_Holder]:
    """What may call macros."""
    yield from context.catalog.tables()
    yield from context.catalog.access.objects.values()


def _before(holder: _Holder, context: RewriteContext) -> _Holder | None:
    """What a table or the policies of an object were until now."""
    if isinstance(holder, Table):
        return context.catalog.by_id(holder.id)
    return context.catalog.access.objects.get(holder.key)


def _is_new(step: Step, context: RewriteContext) -> bool:
    """True for a step that brings a text, or puts one at another place."""
    holder = _holder(step)
    if holder is None:
        return False
    before = _before(holder, context)
    return not set(_texts(holder)) <= (set() if before is None else set(_texts(before)))


def _texts(holder: _Holder) -> Iterator[tuple[str, str]]:
    """Expressions with their places, in words for people."""
    if isinstance(holder, ObjectAccess):
        for number, policy in enumerate(holder.conditions):
            yield f"policy {number}", policy.expression
        return
    for check in holder.checks:
        yield f"check {check.name}", check.expression
    for column in holder.columns:
        if column.default is not None:
            yield f"default of column {column.name}", column.default
        if column.generated is not None:
            yield f"generated column {column.name}", column.generated
    for index in holder.indexes:
        terms = [term.text for term in index.terms if not term.is_column]
        predicate = [] if index.predicate is None else [index.predicate]
        for number, text in enumerate((*terms, *predicate)):
            yield f"index {index.name}" + (f" ({number})" if number else ""), text


def _table_of(holder: _Holder, context: RewriteContext) -> Table | None:
    return holder if isinstance(holder, Table) else context.catalog.by_id(holder.key.id)


def _dependent(
    macro: Macro, table: Table | None, place: str, context: RewriteContext
) -> PalimpsestError:
    what = "a policy" if place.startswith("policy") else place
    if table is not None:
        is_visible = context.role is None or context.rights.sees(relation_key(table))
        what = f"{what} of {table.name}" if is_visible else "another table"
    return PalimpsestError(
        Code.DEPENDENT_OBJECTS,
        f"{macro.name} cannot change or go: {what} calls it",
        advice="drop that first and make it anew afterwards, or give the new macro another name",
    )
