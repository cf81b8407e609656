"""What stands behind a CREATE TABLE's column list: journal options, comments, storage hints. Pure.

Journal options are ordinary table properties, in whatever spelling the dialect has for those:
``WITH (journal_suffix = '_hist')``, ``TBLPROPERTIES ('journal_version_type' = 'BIGINT')``.
"""

from __future__ import annotations

from dataclasses import field, replace

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import DELETE_ROWS, ON_COMMIT, JournalFormat, fold
from journal.model.version import VersionType
from rewriter.definitions.property_names import property_name
from rewriter.name_resolution import position_of

JOURNAL_OPTIONS = (
    "journal_suffix",
    "journal_version_type",
    "version_column",
    "subsequent_version_column",
)
PARTITIONED, BUCKETED = "partitioned_by", "bucketed_by"
_HINTS = (
    *(exp.EngineProperty, exp.FileFormatProperty, exp.CharacterSetProperty),
    *(exp.UnloggedProperty, exp.TableSpaceProperty),
)
"""What changes no answer; a table that may be lost in a crash keeps its rows all the same."""


_OF_PARENT = {
    exp.PartitionedOfProperty: (
        "PARTITION OF another table is",
        "make one table, PARTITIONED BY (column): a policy of RETENTION removes its old rows",
    ),
    exp.InheritsProperty: (
        "INHERITS is",
        "CREATE TABLE .. (LIKE parent INCLUDING ALL), and a view with UNION ALL over both",
    ),
}
"""Tables that are parts of others: what is refused, and what to do instead."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of a new table as they were written."""

    format: JournalFormat = field(default_factory=JournalFormat)
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    like: exp.Table | None = None
    with_data: bool = True
    shaped_by: tuple[str, ...] = ()
    columns: tuple[exp.ColumnDef, ...] = ()


def read_options(ast: exp.Create, *, temporary: bool = False) -> TableOptions:
    """The options of a CREATE TABLE; raises NOT_SUPPORTED for those that would change its sense."""
    options = TableOptions()
    found = ast.args.get("properties")
    for node in found.expressions if found is not None else []:
        match node:
            case exp.Property() if node.args.get("value") is not None:
                options = _with_property(options, node)
            case exp.SchemaCommentProperty():
                options = replace(options, comment=node.this.name)
            case exp.LikeProperty():
                options = replace(options, like=node.this)
            case exp.WithDataProperty():
                options = replace(options, with_data=not node.args.get("no"))
            case exp.TemporaryProperty():
                continue
            case exp.OnCommitProperty() if temporary:
                if node.args.get("delete"):
                    kept = (*options.properties, (ON_COMMIT, DELETE_ROWS))
                    options = replace(options, properties=kept)
            case exp.PartitionedByProperty() | exp.ClusteredByProperty():
                options = _with_shape(options, node)
            case _ if isinstance(node, _HINTS):
                continue
            case _:
                if type(node) in _OF_PARENT:
                    what, advice = _OF_PARENT[type(node)]
                    raise _refusal(what, ast, advice)
                shown = (node.key.removesuffix("property") or node.name).upper()
                raise _refusal(f"the table option {shown} is", ast, "leave it out")
    return options


def _with_property(options: TableOptions, node: exp.Property) -> TableOptions:
    name, value = fold(node.this.name), node.args["value"].name
    form = options.format
    match name:
        case "journal_suffix":
            form = replace(form, suffix=_not_empty(name, value, node))
        case "version_column":
            form = replace(form, version_column=_not_empty(name, value, node))
        case "subsequent_version_column":
            form = replace(form, subsequent_column=_not_empty(name, value, node))
        case "journal_version_type":
            form = replace(form, version_type=_version_type(value, node))
        case _ if name.startswith("journal_"):
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f'there is no journal option "{name}"',
                advice="the options are " + ", ".join(JOURNAL_OPTIONS),
                position=position_of(node),
            )
        case _:
            kept = (*options.properties, (property_name(node.this.name, node), value))
            return replace(options, properties=kept)
    if fold(form.version_column) == fold(form.subsequent_column):
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            "version_column and subsequent_version_column are the same",
            advice="give them different names",
            position=position_of(node),
        )
    return replace(options, format=form)


def _with_shape(options: TableOptions, node: exp.Expr) -> TableOptions:
    """Partitions and buckets, which stores that have them make when they write a table anew."""
    if isinstance(node, exp.ClusteredByProperty):
        names = [part.name for part in node.expressions]
        value = f"{','.join(map(fold, names))}:{node.args['buckets'].name}"
        kept = (*options.properties, (BUCKETED, value))
        return replace(options, properties=kept, shaped_by=(*options.shaped_by, *names))
    parts = node.this.expressions if isinstance(node.this, exp.Schema) else [node.this]
    if not all(isinstance(p, exp.Identifier | exp.Column | exp.ColumnDef) for p in parts):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "partitions by expressions are not supported",
            advice="name columns: PARTITIONED BY (city)",
            position=position_of(node),
        )
    names = [p.name for p in parts]
    kept = (*options.properties, (PARTITIONED, ",".join(map(fold, names))))
    columns = tuple(p for p in parts if isinstance(p, exp.ColumnDef))
    return replace(
        options,
        properties=kept,
        shaped_by=(*options.shaped_by, *names),
        columns=(*options.columns, *columns),
    )


def _not_empty(name: str, value: str, node: exp.Expr) -> str:
    if not value:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f"the journal option {name} is empty",
            advice="give it a value, or leave it out",
            position=position_of(node),
        )
    return value


def _version_type(value: str, node: exp.Expr) -> VersionType:
    try:
        return VersionType(value.upper())
    except ValueError:
        raise PalimpsestError(
            Code.INVALID_DEFINITION,
            f'the journal option journal_version_type cannot be "{value}"',
            advice="use TIMESTAMP or BIGINT",
            position=position_of(node),
        ) from None


def _refusal(what: str, ast: exp.Create, advice: str) -> PalimpsestError:
    return PalimpsestError(
        Code.NOT_SUPPORTED,
        f"{what} not supported",
        advice=advice,
        position=position_of(ast.this),
    )
