"""A sequence as the options of a statement define it: type, bounds, start, owner. Pure."""

from __future__ import annotations

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.number_source import TYPES
from journal.model.schema import Sequence
from rewriter.context import RewriteContext
from rewriter.name_resolution import find_table, position_of, unknown_column
from rewriter.syntax.statements.sequence_options import SequenceOptions


def defined_sequence(
    before: Sequence,
    options: SequenceOptions,
    context: RewriteContext,
    node: exp.Expr,
    *,
    is_new: bool = False,
) -> Sequence:
    """A sequence as the options say; raises SETTING_VALUE where they contradict one another.

    ``before`` is what stands where an option says nothing, in a new sequence for its id and name.
    """
    said = options.said
    kind = options.type or before.type
    increment = before.increment if options.increment is None else options.increment
    if increment == 0:
        raise invalid_sequence("INCREMENT must not be zero", "write 1 or -1", node)
    largest, other = TYPES[kind], TYPES[before.type]
    # Only bounds that are those of the other type become those of the new one.
    lowers = not is_new and kind != before.type and before.minimum == -other - 1
    raises = not is_new and kind != before.type and before.maximum == other
    lowest = 1 if increment > 0 and not lowers else -largest - 1
    highest = largest if increment > 0 or raises else -1
    minimum = lowest if is_new or lowers or "minimum" in said else before.minimum
    maximum = highest if is_new or raises or "maximum" in said else before.maximum
    minimum = minimum if options.minimum is None else options.minimum
    maximum = maximum if options.maximum is None else options.maximum
    first = minimum if increment > 0 else maximum
    start = options.start if options.start is not None else first if is_new else before.start
    cache = before.cache if options.cache is None else options.cache
    _check_bounds(kind, minimum, maximum, start, cache, node)
    counter, begin = before.counter, start if is_new else before.begin
    if "restart" in said:
        counter, begin = context.new_table_id, start if options.restart is None else options.restart
        if not minimum <= begin <= maximum:
            raise invalid_sequence(
                f"RESTART value ({begin}) must lie between {minimum} and {maximum}",
                "give another value, or other bounds",
                node,
            )
    owner = before.owner if "owner" not in said else _owner(options.owner, context)
    cycles = options.cycles if "cycles" in said else before.cycles
    return Sequence(
        *(before.id, before.name, kind, start, increment, minimum, maximum, begin),
        cycles=cycles,
        cache=cache,
        owner=owner,
        counter=counter,
    )


def invalid_sequence(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    """SETTING_VALUE at the place of the sequence."""
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice, position=position_of(node))


def _check_bounds(
    kind: str, minimum: int, maximum: int, start: int, cache: int, node: exp.Expr
) -> None:
    largest = TYPES[kind]
    for word, value in (("MINVALUE", minimum), ("MAXVALUE", maximum)):
        if not -largest - 1 <= value <= largest:
            raise invalid_sequence(
                f"{word} ({value}) is out of range for {kind}", "use BIGINT", node
            )
    if minimum >= maximum:
        raise invalid_sequence(
            f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})", "swap them", node
        )
    if not minimum <= start <= maximum:
        word, bound = ("less", f"MINVALUE ({minimum})")
        if start > maximum:
            word, bound = ("greater", f"MAXVALUE ({maximum})")
        raise invalid_sequence(
            f"START value ({start}) cannot be {word} than {bound}", "change one", node
        )
    if cache < 1:
        raise invalid_sequence(f"CACHE ({cache}) must be greater than zero", "write 1", node)


def _owner(column: exp.Column | None, context: RewriteContext) -> tuple[int, str] | None:
    if column is None:
        return None
    table = find_table(exp.Table(this=column.args["table"], db=column.args.get("db")), context)
    found = table.find(column.name)
    if found is None:
        raise unknown_column(column.name, table, column)
    return table.id, found.physical
