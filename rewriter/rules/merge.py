"""MERGE: source and target joined; for each pair the first WHEN clause that fits says what happens.

A pair without a target row can be inserted, one without a source row is NOT MATCHED BY SOURCE. A
target row on which two source rows act is an error, as the standard says.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.plan import AllocateIdentity, Guard, Query, Stage, Step
from journal.model.schema import ROW_ID, Column
from journal.sql.relations import column, ident
from journal.sql.sql import all_of, cast, limited, named, relation, select
from rewriter.name_resolution import VERSION, find_table, position_of
from rewriter.reading.policies.security import check_no_raw, differs_by_use, refuse_restricted
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import BEGINS, ENDS, OLD_VERSION, ChangeSet, new_name, old_name
from rewriter.writing.merge_actions import JOINED, Actions, MergeClause, read_actions
from rewriter.writing.qualified import without_schema
from rewriter.writing.returning import ACTION, ReturningClause
from rewriter.writing.rows_named import spell_out_rows
from rewriter.writing.statement_part import PartNames, StatementPart, finish_part, staged_relation
from rewriter.writing.target import AliasedTable

_CLAUSE = "_palimpsest_clause"
_CHOSEN = "_palimpsest_chosen"
_SOURCE = "_palimpsest_source"
_ERROR = "_palimpsest_error"
_ROW_IDS = 1 << 32


def write_merge(ast: exp.Merge, reads: Reads, part: PartNames) -> StatementPart:
    """The part of a MERGE."""
    node = ast.this
    if not isinstance(node, exp.Table):
        raise _refusal("MERGE writes to a table", node)
    target = AliasedTable.of(find_table(node, reads.context), node, reads.context)
    if differs_by_use(target.table, reads.context):
        advice = "write INSERT, UPDATE and DELETE, each of which has policies of its own"
        raise refuse_restricted("merge into", target.table, advice)
    if target.masked:
        check_no_raw(ast, target.alias, target.table)
    without_schema(ast, node, reads.context)
    spell_out_rows(ast, target.table, target.alias, reads.context)
    source, alias = _source(ast)
    on = _condition(ast, target, alias)
    actions = read_actions(ast, target, alias, reads.context)
    result = ReturningClause.of(ast, target)
    extras = result.extras()
    if result.node is not None:
        result.hidden.append(ACTION)
    looked = part.relation_name("merged")
    query = _matched_pairs(target, source, alias, on, actions, extras)
    if ast.args.get("with_") is not None:
        query.set("with_", ast.args["with_"].copy())
    holder = exp.Subquery(this=query)
    reads.rewrite(holder)
    place = next(p for p in holder.find_all(exp.Placeholder) if p.name == "target")
    place.replace(target.relation(reads, seen_by=ast))
    acting = [exp.Literal.number(a.place) for a in actions.all if a.kind]
    acts = exp.In(this=column(_CLAUSE, "m"), expressions=acting or [exp.Null()])
    names = holder.this.named_selects
    rows = select([exp.Star()], relation(holder.this, "m"), acts)
    errors = [_error_guard(action, looked) for action in actions.all if action.error is not None]
    steps: list[Step] = [Stage(looked, Query.of(rows)), *errors]
    steps.append(_single_match_guard(target, looked))
    stage = looked
    if actions.generated or (target.table.hidden_key and actions.inserts):
        stage = part.relation_name("changed")
        steps += _number_steps(target, actions, part, names, (looked, stage))
    changed = frozenset(c.physical for c in target.table.stored)
    assigned = frozenset(c for a in actions.all if a.kind == "UPDATE" for c in a.values)
    changes = ChangeSet(target.table, stage, ENDS, BEGINS, changed, named=assigned)
    return finish_part(reads, changes, steps, "MERGE", result)


def _source(ast: exp.Merge) -> tuple[exp.Expr, str]:
    """The source with a column that says a row came from it, and its alias."""
    using = ast.args["using"].copy()
    joined = using.this if isinstance(using, exp.Subquery) and not using.alias else None
    if isinstance(joined, exp.Table) and joined.args.get("joins"):
        return _joined_source(joined), JOINED
    alias = using.alias_or_name
    if not alias:
        raise _refusal("the source of a MERGE needs an alias", ast.args["using"])
    if using.args.get("joins"):
        raise _refusal("a join as the source of a MERGE needs parentheses and SELECT", using)
    marked = select([exp.Star(), named(exp.true(), _SOURCE)], using)
    return exp.Subquery(this=marked, alias=exp.TableAlias(this=ident(alias))), alias


def _joined_source(first: exp.Table) -> exp.Expr:
    """Joined relations, which keep their names, beside a row that says one came from there."""
    mark = exp.Select(expressions=[named(exp.true(), _SOURCE)])
    row = exp.Subquery(this=mark, alias=exp.TableAlias(this=ident(JOINED)))
    first.append("joins", exp.Join(this=row, kind="CROSS"))
    return exp.Subquery(this=first)


def _condition(ast: exp.Merge, target: AliasedTable, alias: str) -> exp.Expr:
    on = ast.args.get("on")
    if isinstance(on, exp.Expr):
        return on.copy()
    columns = ast.args.get("using_cond") or []
    if not columns:
        raise _refusal("MERGE needs ON or USING (columns)", ast)
    if alias == JOINED:
        raise _refusal("a MERGE over a join needs ON", ast)
    names = [c.name for c in (columns if isinstance(columns, list) else columns.expressions)]
    return all_of(
        *[exp.EQ(this=column(n, target.alias), expression=column(n, alias)) for n in names]
    )


def _matched_pairs(
    target: AliasedTable,
    source: exp.Expr,
    alias: str,
    on: exp.Expr,
    actions: Actions,
    extras: list[exp.Expr],
) -> exp.Select:
    """Every pair with its clause, and the values that clause gives."""
    absent = exp.Is(this=column(VERSION, target.alias), expression=exp.Null())
    unmatched = exp.Is(this=column(_SOURCE, alias), expression=exp.Null())
    clause = exp.Case()
    for action in actions.all:
        fits: exp.Expr
        if action.by_source:
            fits = unmatched.copy()
        elif action.matched:
            fits = all_of(exp.Not(this=absent.copy()), exp.Not(this=unmatched.copy()))
        else:
            fits = absent.copy()
        if action.condition is not None:
            fits = all_of(fits, exp.Paren(this=action.condition.copy()))
        clause = clause.when(fits, exp.Literal.number(action.place), copy=False)
    # A name given in a SELECT cannot be used beside it where it stands for a subquery or for a
    # function whose calls differ, which a function without a meaning of its own here may be.
    apart = clause.find(exp.Query, exp.Anonymous, exp.Rand, exp.Uuid) is not None
    chosen = column(_CLAUSE, _CHOSEN) if apart else clause
    outputs: list[exp.Expr] = [named(chosen, _CLAUSE), *target.old_values()]
    for index, stored in enumerate(target.table.stored):
        outputs.append(named(_value(target, stored, actions), new_name(index)))
    kinds = {
        ENDS: {"UPDATE", "DELETE"},
        BEGINS: {"UPDATE", "INSERT"},
    }
    for name, wanted in kinds.items():
        places = [exp.Literal.number(a.place) for a in actions.all if a.kind in wanted]
        within: exp.Expr = exp.false()
        if places:
            within = exp.In(this=column(_CLAUSE), expressions=places)
        outputs.append(named(within, name))
    shown = exp.Case()
    for action in actions.all:
        shown = shown.when(_is_chosen(action), exp.Literal.string(action.kind), copy=False)
    outputs += [named(shown, ACTION), *extras]
    errors = [a for a in actions.all if a.error is not None]
    if errors:
        text = exp.Case()
        for action in errors:
            told = cast(action.error.copy(), "VARCHAR") if action.error else exp.null()
            text = text.when(_is_chosen(action), told, copy=False)
        outputs.append(named(text, _ERROR))
    query = select(outputs, source)
    side = "left" if actions.inserts else None
    if actions.by_source:
        side = "full"
    place = exp.Placeholder(this="target")
    query.append("joins", exp.Join(this=place, on=on, side=side.upper() if side else None))
    if apart:
        inner = exp.Subquery(this=exp.Select(expressions=[named(clause, _CLAUSE)]))
        lateral = exp.Lateral(this=inner, alias=exp.TableAlias(this=ident(_CHOSEN)))
        query.append("joins", exp.Join(this=lateral, kind="CROSS"))
    return query


def _is_chosen(action: MergeClause) -> exp.Expr:
    return exp.EQ(this=column(_CLAUSE), expression=exp.Literal.number(action.place))


def _value(target: AliasedTable, stored: Column, actions: Actions) -> exp.Expr:
    """A column's new value: that of the chosen clause, else the old value."""
    old = target.stored_value(stored)
    case = exp.Case()
    for action in actions.all:
        value = action.values.get(stored.physical)
        if value is not None:
            case = case.when(_is_chosen(action), value.copy(), copy=False)
    return old if not case.args.get("ifs") else case.else_(old, copy=False)


def _error_guard(action: MergeClause, stage: str) -> Guard:
    """No row may meet a clause that says ERROR."""
    rows = select([column(_ERROR, "s")], staged_relation(stage, "s"), _is_chosen(action))
    text = "" if isinstance(action.error, exp.Null) else ": {0}"
    return Guard(
        Query.of(limited(rows)),
        Code.MERGE_ERROR,
        f"a row meets {action.words} .. THEN ERROR of the MERGE{text}",
        "change the rows of the source, or the clause",
    )


def _single_match_guard(target: AliasedTable, stage: str) -> Guard:
    """No target row may be ended twice."""
    table = target.table
    keys = [column(old_name(target.places()[k]), "s") for k in table.key]
    shown = exp.Anonymous(
        this="concat_ws",
        expressions=[
            exp.Literal.string(", "),
            *[cast(k.copy(), "VARCHAR") for k in keys],
        ],
    )
    rows = select([shown], staged_relation(stage, "s"), column(ENDS, "s"))
    rows = rows.group_by(*keys, column(OLD_VERSION, "s"), copy=False)
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    rows = limited(rows.having(many, copy=False))
    names = ", ".join("row" if k == ROW_ID else table.by_physical(k).name for k in table.key)
    return Guard(
        Query.of(rows),
        Code.ROW_TWICE,
        f"the row with ({names}) = ({{0}}) matches more than one row of the source",
        "make the source unique per row it matches, or narrow the ON condition",
    )


def _number_steps(
    target: AliasedTable,
    actions: Actions,
    part: PartNames,
    names: Sequence[str],
    stages: tuple[str, str],
) -> list[Step]:
    """Steps that give inserted rows their generated numbers and row ids, from stage to stage."""
    looked, stage = stages
    table = target.table
    inserts = [exp.Literal.number(a.place) for a in actions.all if a.kind == "INSERT"]
    inserted = exp.In(this=column(_CLAUSE, "s"), expressions=inserts)
    row = exp.Window(this=exp.RowNumber(), partition_by=[inserted.copy()])
    offset = exp.Sub(this=row, expression=exp.Literal.number(1))
    steps: list[Step] = []
    replaced: dict[str, exp.Expr] = {}
    for index, stored in enumerate(table.stored):
        made = stored.identity
        if stored.physical == ROW_ID:
            number = AllocateIdentity(table.id, ROW_ID, part.relation_name("row"), count=_ROW_IDS)
            where: exp.Expr = inserted.copy()
        elif made is not None and stored.physical in actions.generated:
            number = AllocateIdentity(
                table.id,
                made.counted_as(stored.physical),
                part.relation_name(f"first_{index}"),
                made.first,
                made.increment,
                looked,
            )
            where = exp.In(
                this=column(_CLAUSE, "s"),
                expressions=[exp.Literal.number(p) for p in actions.generated[stored.physical]],
            )
        else:
            continue
        steps.append(number)
        step = exp.Literal.number(abs(number.increment))
        factor = exp.paren(exp.Neg(this=step)) if number.increment < 0 else step
        value = exp.Add(
            this=exp.Placeholder(this=number.name),
            expression=exp.paren(exp.Mul(this=exp.paren(offset.copy()), expression=factor)),
        )
        typed = cast(value, stored.type)
        kept = column(new_name(index), "s")
        case = exp.Case(ifs=[exp.If(this=where, true=typed)], default=kept)
        replaced[new_name(index)] = named(case, new_name(index))
    outputs = [replaced.get(name) or column(name, "s") for name in names]
    rows = select(outputs, staged_relation(looked, "s"))
    return [*steps, Stage(stage, Query.of(rows))]


def _refusal(message: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        message,
        advice="see docs/sql.md for the forms of MERGE",
        position=position_of(node),
    )
