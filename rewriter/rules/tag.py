"""SET and UNSET TAG, and the masks of tags: they change the catalog alone.

Tags go by name, columns by their physical names, so that renaming changes nothing. A mask is
canonical text over ``VALUE``; what a column shows of it is decided where a table is read.
"""

from __future__ import annotations

from dataclasses import replace

from journal.model.access import VALUE, PutAccess, PutTags, TableTag, tag_key
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Change, StatementPlan
from journal.model.row_policy import TablePolicy
from journal.model.schema import Column, Table, TableName, fold, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.access import denied, find_relation_by
from rewriter.definitions.new_relations import ddl_plan
from rewriter.definitions.tags import mask_place, tag_names
from rewriter.name_resolution import position_of, unknown_column
from rewriter.reading.policies.texts import checked_text
from rewriter.statements.access import SetTagPolicy, SetTags

_TAG = "ALTER TABLE"


def rewrite_set_tags(ast: SetTags, context: RewriteContext) -> StatementPlan:
    """SET TAG adds tags to those that are there; UNSET TAG takes some off, inherited ones too."""
    try:
        table = find_relation_by(ast.table, context)
    except PalimpsestError as error:
        if ast.exists and error.code is Code.UNKNOWN_TABLE:
            return ddl_plan([], _TAG)
        raise
    if not isinstance(table, Table) or table.materialized is not None:
        raise PalimpsestError(
            Code.WRONG_OBJECT,
            f"{table.name} is a view, which has the tags of what it shows",
            advice="tag the tables it is made of; SELECT * FROM system.tags shows both",
            position=position_of(ast.table),
        )
    place = "" if ast.column is None else _column(table, ast.column, ast).physical
    key = relation_key(table)
    known = [t for t in context.catalog.access.of(key).tags if t.column == place]
    wanted = {fold(tag): tag for tag in ast.tags}
    if ast.adds:
        own = {fold(t.tag) for t in known if not t.source}
        added = tuple(TableTag(place, tag) for name, tag in wanted.items() if name not in own)
        others = tag_names(context.catalog.access)
        # Tags are not created, so a wrong letter makes another one.
        new = [f"tag {tag} is new" for name, tag in wanted.items() if name not in others]
        return replace(ddl_plan([Change(PutTags(key, added))], _TAG), notices=tuple(new))
    removed = tuple(t for t in known if not wanted or fold(t.tag) in wanted)
    missing = wanted.keys() - {fold(t.tag) for t in removed}
    if missing:
        shown = str(table.name) if ast.column is None else f'column "{ast.column}" of {table.name}'
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"{shown} has no tag {wanted[min(missing)]}",
            advice="SELECT * FROM system.tags shows those that it has",
            position=position_of(ast.table),
        )
    return ddl_plan([Change(PutTags(key, (), removed))], _TAG)


def rewrite_tag_policy(ast: SetTagPolicy, context: RewriteContext) -> StatementPlan:
    """SET and DROP of the mask of a tag, which need not be on any column yet."""
    if not context.rights.is_admin:
        raise denied(f"to change tag {ast.tag}", "it takes ADMIN ON SYSTEM")
    key = tag_key(ast.tag)
    access = context.catalog.access.of(key)
    kind = "VARCHAR" if ast.type is None else ast.type.sql(dialect="duckdb")
    place = mask_place(kind)
    others = tuple(mask for mask in access.policies if mask.column != place)
    if ast.expression is None:
        kept = () if ast.type is None else others
        if len(kept) == len(access.policies):
            of_type = "" if ast.type is None else f" for {kind}"
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f"tag {ast.tag} has no masking policy{of_type}",
                advice="SELECT * FROM system.access_policies shows the policies that there are",
            )
        return ddl_plan([Change(PutAccess(replace(access, policies=kept)))], "ALTER TAG")
    shape = Table(0, TableName("tag", ast.tag), (Column(VALUE, VALUE, kind),), (VALUE,))
    text = checked_text(ast.expression, shape, shape.columns[0], context)
    masks = sorted((*others, TablePolicy(place, text)), key=lambda mask: mask.column)
    return ddl_plan([Change(PutAccess(replace(access, policies=tuple(masks))))], "ALTER TAG")


def _column(table: Table, name: str, ast: SetTags) -> Column:
    found = table.find(name)
    if found is None:
        raise unknown_column(name, table, ast.table)
    return found
