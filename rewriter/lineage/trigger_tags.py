"""Tags that triggers pass on in a row: NEW.note := NEW.email gives note those of email. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from journal.model.access import TableTag
from journal.model.schema import Table, fold, relation_key
from rewriter.context import RewriteContext
from rewriter.definitions.shown_columns import columns_showing, columns_shown
from rewriter.writing.row_triggers import firing
from rewriter.writing.trigger_words import trigger_program


def passed_by_triggers(
    table: Table, added: Collection[TableTag], context: RewriteContext
) -> Iterator[TableTag]:
    """The tags that a write of a table gives columns which triggers fill from others.

    ``added`` are those that the statement itself passes on to the table.
    """
    tags = [*context.catalog.access.of(relation_key(table)).tags, *added]
    flows = list(_flows(table, context)) if tags else []
    known = {(t.column, fold(t.tag)) for t in tags}
    is_new = bool(flows)
    while is_new:
        is_new = False
        for source, target in flows:
            for tag in list(tags):
                if not tag.column or source not in columns_showing(table, tag.column):
                    continue  # The whole table has it.
                if not known & {("", fold(tag.tag)), (target, fold(tag.tag))}:
                    passed = TableTag(target, tag.tag, table.id, tag.column)
                    known.add((target, fold(tag.tag)))
                    tags.append(passed)
                    is_new = True
                    yield passed


def _flows(table: Table, context: RewriteContext) -> Iterator[tuple[str, str]]:
    """From which columns triggers fill which, by physical names."""
    physical = {fold(c.name): c.physical for c in table.columns}
    for trigger in firing(table):
        for event in trigger.events:
            for target, value in trigger_program(trigger, event, table, context).values.items():
                for used in columns_shown(value):
                    source = physical.get(fold(used.name))
                    if source is not None and source != target:
                        yield source, target
