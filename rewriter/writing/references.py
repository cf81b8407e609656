"""Guards for foreign keys: every row that a statement writes has its parents.

They look at the state after the whole statement: the rows there are, less those that end, and those
that begin, in every table that the statement changes. Rows whose reference stays as it was are not
looked at, and a NULL in it refers to nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from journal.model.errors import Code
from journal.model.foreign_key import ForeignKey, ReferenceAction
from journal.model.plan import Guard, Query
from journal.model.refusal import Refusal, RefusedRows
from journal.model.schema import Reference, Table
from journal.sql.relations import column, union_all
from journal.sql.sql import (
    all_of,
    any_of,
    cast,
    limited,
    named,
    named_table,
    relation,
    select,
    where,
)
from rewriter.context import RewriteContext
from rewriter.reading.read_rewriter import Reads
from rewriter.writing.changes import ChangeSet
from rewriter.writing.guards import escape_format, shown_values
from rewriter.writing.reference_values import (
    anti_join,
    equal_conditions,
    flag_conditions,
    not_null_conditions,
    staged_new_values,
    staged_old_value,
    without_ended,
)

_ADVICE_CHILD = "write the row that it refers to first, or leave the reference NULL"
_ADVICE_PARENT = "change or delete the rows that refer to it first, in the same transaction"


def reference_guards(
    reads: Reads, changes: Sequence[ChangeSet], cascaded: Collection[int] | None = None
) -> list[Guard]:
    """Guards that no foreign key is violated after all these changes of one statement.

    ``cascaded``: actions of foreign keys are among the changes, besides those that the statement
    itself makes to these tables.
    """
    context = reads.context
    found: list[Guard] = []
    for changed in changes:
        found += [
            _has_parents(reads, changed, r, changes) for r in _new_references(context, changed)
        ]
    for changed in changes:
        found += [
            _has_no_children(reads, changed, r, changes)
            for r in _removed_references(context, changed)
            if not _has_acted(r, changed, cascaded)
        ]
    return found


def are_key_lookups(context: RewriteContext, changes: ChangeSet) -> bool:
    """True if the guards of a change set find all their rows by key."""
    by_key = all(is_by_key(r, changes) for r in _new_references(context, changes))
    return by_key and not _parent_references(context, changes)


def violated_references(reads: Reads, changes: ChangeSet) -> list[RefusedRows] | None:
    """Rows that must not begin, where looking parents up by key tells all; else None."""
    brought = _new_references(reads.context, changes)
    if not are_key_lookups(reads.context, changes) or (brought and not reads.context.optimistic):
        return None
    if any(r.child.id == r.parent.id for r in brought):
        # The row itself may be the parent.
        return None
    found = []
    for reference in brought:
        values = staged_new_values(changes, reference.key.columns, "s")
        there = _parents(reads, reference, [(exp.Literal.number(1), "found")], changes.constants)
        missing = exp.Not(this=exp.Exists(this=there))
        condition = all_of(*_needs_parent_conditions(changes, values, reference), missing)
        texts: list[exp.Expr] = []
        for value in values:
            texts += [exp.Literal.string(", "), cast(value.copy(), "VARCHAR")]
        found.append(RefusedRows(condition, _without_parent(reference), texts[1:]))
    return found


def is_by_key(reference: Reference, changes: ChangeSet) -> bool:
    """True if the parent is looked up by its key: the statement gives the key as constants."""
    parent, key = reference.parent, reference.key
    if parent.hidden_key or set(key.parent_columns) != set(parent.key):
        return False
    return all(c in changes.constants for c in key.columns)


def parents_of(changes: ChangeSet, reference: Reference, present: exp.Query) -> Guard:
    """A guard that every row that begins has a parent among those ``present`` shows."""
    rows = _referring(changes, reference)
    rows.append("joins", _join_missing_parents(present, reference.key, "p"))
    return _guard(rows, _without_parent(reference))


def dangling_guard(reference: Reference, rows: exp.Query, present: exp.Query) -> Guard:
    """A guard that ``rows`` of the child all have a parent among those ``present`` shows."""
    values: list[exp.Expr] = [column(c, "c") for c in reference.key.columns]
    outputs = [named(v.copy(), f"v{i}") for i, v in enumerate(values)]
    referring = select(outputs, relation(rows, "c"), *referring_conditions(reference.key, values))
    return parent_guard(reference, referring, present)


def referring_conditions(key: ForeignKey, values: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The conditions under which values refer to something: none is NULL, or not all are."""
    filled = not_null_conditions(values)
    return [exp.Paren(this=any_of(*filled))] if key.match_full and len(filled) > 1 else filled


def parent_guard(reference: Reference, referring: exp.Query, present: exp.Query) -> Guard:
    """A guard that values ``v0..`` of rows all are among those of the parents ``present``."""
    shown = shown_values(_shown_columns(len(reference.key.columns), "s"))
    found = select([named(shown, "shown")], relation(referring, "s"))
    found.append("joins", _join_missing_parents(present, reference.key, "p"))
    return _guard(found, _without_parent(reference))


def child_guard(reference: Reference, gone: exp.Query, referring: exp.Query) -> Guard:
    """A guard that none of the values ``v0..`` that went is among those of ``referring`` rows."""
    count = len(reference.key.columns)
    same = equal_conditions(_shown_columns(count, "c"), _shown_columns(count, "s"))
    joined = exp.Join(this=relation(referring, "c"), kind="SEMI", on=all_of(*same))
    rows = select([named(shown_values(_shown_columns(count, "s")), "shown")], relation(gone, "s"))
    rows.append("joins", joined)
    return _guard(rows, _with_children(reference))


def _new_references(context: RewriteContext, changes: ChangeSet) -> list[Reference]:
    """The references that rows of a change set may newly have."""
    table = changes.table
    if changes.begins is False:
        return []
    return [
        r
        for r in context.catalog.references.get(table.id, ())
        if r.child.id == table.id
        and not context.is_deferred(r)
        and (changes.ends is not True or set(r.key.columns) & changes.written)
    ]


def _parent_references(context: RewriteContext, changes: ChangeSet) -> list[Reference]:
    """The references whose parents a change set may take away."""
    table = changes.table
    if changes.ends is False:
        return []
    return [
        r
        for r in context.catalog.references.get(table.id, ())
        if r.parent.id == table.id and _changes_columns(changes, r.key.parent_columns)
    ]


def _removed_references(context: RewriteContext, changes: ChangeSet) -> list[Reference]:
    """Those of them that the statement has to answer for; RESTRICT does not wait for COMMIT."""
    found = []
    for reference in _parent_references(context, changes):
        key = reference.key
        actions = [key.on_delete] if changes.begins is not True else []
        actions += [key.on_update] if changes.begins is not False else []
        if ReferenceAction.RESTRICT in actions or not context.is_deferred(reference):
            found.append(reference)
    return found


def _has_acted(reference: Reference, changes: ChangeSet, cascaded: Collection[int] | None) -> bool:
    """True if the children have followed their parents, so that none is left to be looked for."""
    key = reference.key
    if cascaded is None or reference.child.id in cascaded:
        return False
    actions = [key.on_delete] if changes.begins is not True else []
    actions += [key.on_update] if changes.begins is not False else []
    # The default may be the very key that has gone.
    return all(a.acts and a is not ReferenceAction.SET_DEFAULT for a in actions)


def _changes_columns(changes: ChangeSet, columns: Sequence[str]) -> bool:
    """False if every row is there afterwards with the same values in these columns."""
    kept = changes.ends is True and changes.begins is True
    return not kept or bool(set(columns) & changes.written)


def _has_parents(
    reads: Reads, changes: ChangeSet, reference: Reference, every: Sequence[ChangeSet]
) -> Guard:
    parent, key = reference.parent, reference.key
    constants = changes.constants if is_by_key(reference, changes) else None
    names = tuple(dict.fromkeys((*key.parent_columns, *parent.key)))
    present = _parents(reads, reference, [(column(n), n) for n in names], constants)
    rows = _referring(changes, reference)
    beside = [
        c for c in every if c.table.id == parent.id and _changes_columns(c, key.parent_columns)
    ]
    rows.append("joins", _join_missing_parents(without_ended(present, beside), key, "p"))
    for number, other in enumerate(beside):
        if other.begins is not False:
            alias = f"b{number}"
            begun = staged_new_values(other, key.parent_columns, alias)
            same = equal_conditions(begun, _shown_columns(len(begun), "s"))
            rows.append(
                "joins",
                anti_join(other.stage, alias, same + flag_conditions(other.begins, alias)),
            )
    return _guard(rows, _without_parent(reference))


def _parents(
    reads: Reads,
    reference: Reference,
    outputs: list[tuple[exp.Expr, str]],
    constants: Mapping[str, exp.Expr] | None,
) -> exp.Query:
    """The parent's current rows; with ``constants`` at least the one that these name."""
    if constants is None:
        return reads.relation(reference.parent, outputs)
    pairs = zip(reference.key.parent_columns, reference.key.columns, strict=True)
    given = {theirs: constants[mine].copy() for theirs, mine in pairs}
    return reads.relation(reference.parent, outputs, given)


def _has_no_children(
    reads: Reads, changes: ChangeSet, reference: Reference, every: Sequence[ChangeSet]
) -> Guard:
    child, key = reference.child, reference.key
    count = len(key.columns)
    old = [staged_old_value(changes, c, "s") for c in key.parent_columns]
    gone = select(
        [named(v.copy(), f"v{i}") for i, v in enumerate(old)],
        named_table(changes.stage, "s"),
        *flag_conditions(changes.ends, "s"),
        *not_null_conditions(old),
    )
    back: exp.Join | None = None
    if changes.begins is True and key.on_update is ReferenceAction.RESTRICT:
        new = staged_new_values(changes, key.parent_columns, "s")
        differs = [
            exp.NullSafeNEQ(this=a.copy(), expression=b) for a, b in zip(old, new, strict=True)
        ]
        gone = where(gone, exp.Paren(this=any_of(*differs)))
    elif changes.begins is not False:
        new = staged_new_values(changes, key.parent_columns, "b")
        same = equal_conditions(new, _shown_columns(count, "s")) + flag_conditions(
            changes.begins, "b"
        )
        back = anti_join(changes.stage, "b", same)
    source = select([exp.Star()], relation(gone, "s"))
    if back is not None:
        source.append("joins", back)
    names = tuple(dict.fromkeys((*key.columns, *child.key)))
    beside = [c for c in every if c.table.id == child.id and _changes_columns(c, key.columns)]
    present = reads.relation(child, [(column(n), n) for n in names])
    left = without_ended(present, beside)
    referring: list[exp.Query] = [
        select([named(column(c, "c"), f"v{i}") for i, c in enumerate(key.columns)],
               relation(left, "c"))
    ]  # fmt: skip
    for other in beside:
        if other.begins is not False:
            begun = staged_new_values(other, key.columns, "n")
            outputs = [named(v, f"v{i}") for i, v in enumerate(begun)]
            stage = named_table(other.stage, "n")
            referring.append(select(outputs, stage, *flag_conditions(other.begins, "n")))
    return child_guard(reference, source, union_all(referring))


def _referring(changes: ChangeSet, reference: Reference) -> exp.Select:
    """The references of rows that begin, as columns ``v0..`` of ``s``, and as a text."""
    values = staged_new_values(changes, reference.key.columns, "s")
    begun = select(
        [named(v.copy(), f"v{i}") for i, v in enumerate(values)],
        named_table(changes.stage, "s"),
        *flag_conditions(changes.begins, "s"),
        *_needs_parent_conditions(changes, values, reference),
    )
    shown = shown_values(_shown_columns(len(values), "s"))
    return select([named(shown, "shown")], relation(begun, "s"))


def _needs_parent_conditions(
    changes: ChangeSet, values: Sequence[exp.Expr], reference: Reference
) -> list[exp.Expr]:
    """The conditions under which a row that begins needs a parent."""
    found = referring_conditions(reference.key, values)
    if changes.ends is False or changes.anew:
        return found
    differs: list[exp.Expr] = [
        exp.NullSafeNEQ(this=staged_old_value(changes, c, "s"), expression=v.copy())
        for c, v in zip(reference.key.columns, values, strict=True)
    ]
    if isinstance(changes.ends, str):
        differs.append(exp.Not(this=column(changes.ends, "s")))
    return [*found, exp.Paren(this=any_of(*differs))]


def _join_missing_parents(present: exp.Query, key: ForeignKey, alias: str) -> exp.Join:
    theirs = [column(c, alias) for c in key.parent_columns]
    same = equal_conditions(theirs, _shown_columns(len(theirs), "s"))
    return exp.Join(this=relation(present, alias), kind="ANTI", on=all_of(*same))


def _shown_columns(count: int, alias: str) -> list[exp.Expr]:
    return [column(f"v{i}", alias) for i in range(count)]


def _guard(rows: exp.Select, why: Refusal) -> Guard:
    return Guard(Query.of(limited(rows)), why.code, why.message, why.advice)


def _without_parent(reference: Reference) -> Refusal:
    child, parent, key = reference.child, reference.parent, reference.key
    return Refusal(
        Code.FOREIGN_KEY,
        f"foreign key ({_names(child, key.columns)}) = ({{0}}) violates"
        f' "{escape_format(key.name)}" of {escape_format(child.name)}: {escape_format(parent.name)}'
        " has no such"
        f" ({_names(parent, key.parent_columns)})",
        _ADVICE_CHILD,
    )


def _with_children(reference: Reference) -> Refusal:
    child, parent, key = reference.child, reference.parent, reference.key
    return Refusal(
        Code.FOREIGN_KEY,
        f"key ({_names(parent, key.parent_columns)}) = ({{0}}) of {escape_format(parent.name)}"
        f' cannot go: "{escape_format(key.name)}" of {escape_format(child.name)} refers to it',
        _ADVICE_PARENT,
    )


def _names(table: Table, columns: Sequence[str]) -> str:
    return escape_format(", ".join(table.by_physical(c).name for c in columns))
