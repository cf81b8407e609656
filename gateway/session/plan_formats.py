"""A plan in the formats of PostgreSQL's EXPLAIN: text, JSON, XML, YAML.

    Seq Scan on t  (cost=0.00..20.00 rows=20 width=0)
      Filter: (a > 5)
    Palimpsest Steps: 1. fetch

What the gateway itself decides stands behind the store's plan: the steps that a statement becomes,
and the shape in which it reads each table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from sqlglot import exp

from journal.model import store_plan
from journal.model.plan import StatementPlan
from journal.model.store_plan import NODE_TYPE, ExplainOptions, PlanFormat, PlanNode, StorePlan
from rewriter.reading.policies.security import POLICIES
from rewriter.statement import Explain

HIDDEN = "not shown, and not run: the role reads a table under policies"
_CHILDREN = "Plans"
_OF_STORE = "Plan of the Store"
"""The type of a node for a plan that is no tree."""
_STEPS, _SHAPES = "Palimpsest Steps", "Palimpsest Shapes"
_NAMESPACE = "http://www.postgresql.org/2009/explain"
_IN_HEAD = frozenset(
    {
        *(NODE_TYPE, "Strategy", "Join Type", "Schema", "Relation Name", "Operation"),
        *(store_plan.STARTUP_COST, store_plan.TOTAL_COST, store_plan.ROWS, store_plan.WIDTH),
        *(store_plan.STARTUP_TIME, store_plan.TOTAL_TIME),
        *(store_plan.ACTUAL_ROWS, store_plan.LOOPS),
    }
)
"""What the first line of a node tells, in its text."""
_CHANGES: dict[type[exp.Expr], str] = {
    exp.Insert: "Insert", exp.Update: "Update", exp.Delete: "Delete", exp.Merge: "Merge",
}  # fmt: skip
_RELATIONSHIPS = ("Outer", "Inner")
"""Of the nodes that a node reads, the first and each other; others' stores tell it themselves."""
_AGGREGATES = {"Hashed": "HashAggregate", "Sorted": "GroupAggregate"}


def hides_rows(plan: StatementPlan) -> bool:
    """True if policies hide rows of a table that it reads, which the store's plan would tell of."""
    return any(shape.shape == POLICIES for shape in plan.shapes)


def step_names(plan: StatementPlan) -> list[str]:
    """The steps of a statement, each by its kind."""
    return [type(step).__name__.lower() for step in plan.steps]


def written_plan(plan: StatementPlan, told: StorePlan | None, explained: Explain) -> list[str]:
    """The values of the column QUERY PLAN: lines of a text, or one document.

    ``told`` is the store's plan; None where it makes none, or may not be shown.
    """
    options = explained.options
    if told is None:
        told = StorePlan((), _own_node(plan, explained.statement.ast))
    if options.format is PlanFormat.TEXT:
        own = [f"{key}: {value}" for key, value in _own_lines(plan)]
        return [*(told.lines or _text(told, options)), *own]
    root = told.root or PlanNode({NODE_TYPE: _OF_STORE, "Lines": told.lines})
    whole = {"Plan": _as_dict(root), **told.totals, **_steps_and_shapes(plan)}
    match options.format:
        case PlanFormat.JSON:
            return [json.dumps([whole], indent=2, default=str)]
        case PlanFormat.YAML:
            return ["\n".join(_yaml([whole], ""))]
        case _:
            return [_xml(whole)]


def _own_node(plan: StatementPlan, ast: exp.Expr) -> PlanNode:
    """A node for a statement whose plan is the gateway's alone."""
    if hides_rows(plan):
        return PlanNode({NODE_TYPE: _OF_STORE, "Reason": HIDDEN})
    operation = _CHANGES.get(type(ast))
    if operation is None:
        return PlanNode({NODE_TYPE: "Utility Statement"})
    details = {NODE_TYPE: "ModifyTable", "Operation": operation}
    if len(plan.writes) == 1:
        (table,) = plan.writes
        details |= {"Relation Name": table.name, "Schema": table.schema}
    return PlanNode(details)


def _steps_and_shapes(plan: StatementPlan) -> dict[str, Any]:
    shapes = [{"Table": str(s.table), "Shape": s.shape, "Reason": s.reason} for s in plan.shapes]
    return {_STEPS: step_names(plan), **({_SHAPES: shapes} if shapes else {})}


def _own_lines(plan: StatementPlan) -> Iterator[tuple[str, str]]:
    yield _STEPS, ", ".join(f"{i}. {name}" for i, name in enumerate(step_names(plan), 1))
    for shape in plan.shapes:
        yield "Palimpsest Shape", f"{shape.table}: {shape.shape} ({shape.reason})"


def _as_dict(node: PlanNode, relationship: str | None = None) -> dict[str, Any]:
    given = dict(node.details)
    if relationship is not None:
        given.setdefault("Parent Relationship", relationship)
    if node.children:
        places = (min(place, 1) for place in range(len(node.children)))
        pairs = zip(node.children, places, strict=True)
        given[_CHILDREN] = [_as_dict(child, _RELATIONSHIPS[place]) for child, place in pairs]
    return given


def _text(told: StorePlan, options: ExplainOptions) -> Iterator[str]:
    """The lines of a plan that the store gave as nodes."""
    assert told.root is not None
    yield from _node_lines(told.root, options, "", "")
    for key, value in told.totals.items() if options.is_summed_up else ():
        yield f"{key}: {value:.3f} ms" if isinstance(value, float) else f"{key}: {value}"


def _node_lines(node: PlanNode, options: ExplainOptions, first: str, others: str) -> Iterator[str]:
    """A node and those below it; ``first`` stands before its name, ``others`` before the rest."""
    yield f"{first}{_head(node.details)}{_figures(node.details)}"
    for key, value in node.details.items():
        if key not in _IN_HEAD:
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            yield from _indented(f"{others}  {key}: ", str(shown))
    for child in node.children:
        yield from _node_lines(child, options, f"{others}  ->  ", f"{others}      ")


def _indented(head: str, value: str) -> Iterator[str]:
    lines = value.splitlines() or [""]
    yield f"{head}{lines[0]}"
    yield from (f"{' ' * len(head)}{line}" for line in lines[1:])


def _head(details: Mapping[str, Any]) -> str:
    """The name of a node, as PostgreSQL's text has it: ``Hash Left Join``, ``Update on t``."""
    name = str(details[NODE_TYPE])
    joined = str(details.get("Join Type", "Inner"))
    if name == "ModifyTable":
        name = str(details["Operation"])
    elif name == "Aggregate":
        name = _AGGREGATES.get(str(details.get("Strategy")), name)
    elif joined != "Inner":
        name = f"{name.removesuffix(' Join')} {joined} Join"
    relation = details.get("Relation Name")
    return name if relation is None else f"{name} on {relation}"


def _figures(details: Mapping[str, Any]) -> str:
    shown = ""
    if store_plan.TOTAL_COST in details:
        costs = f"{details[store_plan.STARTUP_COST]:.2f}..{details[store_plan.TOTAL_COST]:.2f}"
        rows, width = details[store_plan.ROWS], details[store_plan.WIDTH]
        shown = f"  (cost={costs} rows={rows} width={width})"
    if store_plan.ACTUAL_ROWS in details:
        times = ""
        if store_plan.TOTAL_TIME in details:
            started, ended = details[store_plan.STARTUP_TIME], details[store_plan.TOTAL_TIME]
            times = f"time={started:.3f}..{ended:.3f} "
        rows, loops = details[store_plan.ACTUAL_ROWS], details[store_plan.LOOPS]
        shown += f" (actual {times}rows={rows} loops={loops})"
    return shown


def _yaml(value: Any, indent: str) -> Iterator[str]:
    """The lines of a value in PostgreSQL's YAML: names are plain, texts quoted."""
    if isinstance(value, Mapping):
        for key, found in value.items():
            yield from _yaml_entry(f"{indent}{key}:", found, indent)
    elif isinstance(value, Sequence):
        for found in value:
            if isinstance(found, Mapping | list | tuple):
                inner = list(_yaml(found, f"{indent}  "))
                yield f"{indent}- {inner[0].lstrip()}" if inner else f"{indent}- "
                yield from inner[1:]
            else:
                yield f"{indent}- {json.dumps(found, default=str)}"


def _yaml_entry(head: str, found: Any, indent: str) -> Iterator[str]:
    if isinstance(found, Mapping | list | tuple):
        yield f"{head} "
        yield from _yaml(found, f"{indent}  ")
    else:
        yield f"{head} {json.dumps(found, default=str)}"


def _xml(whole: Mapping[str, Any]) -> str:
    """The document of PostgreSQL's XML, whose tags are the keys with hyphens."""
    root = ElementTree.Element("explain", {"xmlns": _NAMESPACE})
    _xml_entries(ElementTree.SubElement(root, "Query"), whole)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


_XML_ITEMS = {_CHILDREN: "Plan", _STEPS: "Step", _SHAPES: "Shape", "Triggers": "Trigger"}


def _xml_entries(parent: ElementTree.Element, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        made = ElementTree.SubElement(parent, _tag(key))
        if isinstance(value, Mapping):
            _xml_entries(made, value)
        elif isinstance(value, list | tuple):
            for item in value:
                child = ElementTree.SubElement(made, _tag(_XML_ITEMS.get(key, "Item")))
                if isinstance(item, Mapping):
                    _xml_entries(child, item)
                else:
                    child.text = _xml_text(item)
        else:
            made.text = _xml_text(value)


def _tag(key: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in key)


def _xml_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
