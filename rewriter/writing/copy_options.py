"""The options of COPY: which there are for each format, and what the store calls them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from rewriter.name_resolution import position_of

FORCE_NOT_NULL = "force_not_null"
FORMATS = ("csv", "parquet", "json")
_ENDINGS = {"tsv": "csv", "txt": "csv", "jsonl": "json", "ndjson": "json"}
_COMPRESSED = {"gz": "gzip", "zst": "zstd"}
_CSV_READ = {
    "header": "header",
    "delimiter": "delim",
    "delim": "delim",
    "sep": "delim",
    "quote": "quote",
    "escape": "escape",
    "null": "nullstr",
    "nullstr": "nullstr",
    "skip": "skip",
}
_READ_MORE = {
    name: name
    for name in (
        *("auto_detect", "comment", "compression", "encoding", "max_line_size", "new_line"),
        *("null_padding", "parallel", "sample_size", "strict_mode", "allow_quoted_nulls"),
        *("dateformat", "timestampformat", FORCE_NOT_NULL),
    )
}
"""Options of reading that go with no other way of reading than the store's own."""
_DATES = {"dateformat": "dateformat", "timestampformat": "timestampformat"}
_CSV_WRITTEN = {
    **{name: known for name, known in _CSV_READ.items() if name != "skip"},
    **_DATES,
    "force_quote": "force_quote",
    "compression": "compression",
    "prefix": "prefix",
    "suffix": "suffix",
}
_PARQUET_WRITTEN = {
    "compression": "compression",
    "compression_level": "compression_level",
    "codec": "compression",
    "row_group_size": "row_group_size",
    "row_group_size_bytes": "row_group_size_bytes",
    "parquet_version": "parquet_version",
    **{
        name: name
        for name in (
            "bloom_filter_false_positive_ratio",
            "data_page_size_limit",
            "dictionary_compression_ratio_threshold",
            "dictionary_size_limit",
            "field_ids",
            "kv_metadata",
            "row_groups_per_file",
            "string_dictionary_page_size_limit",
            "timestamp_is_adjusted_to_utc",
            "write_bloom_filter",
        )
    },
}
_JSON_WRITTEN = {"array": "array", "compression": "compression", **_DATES}
_FOLDERS = {
    "partition_by": "partition_by",
    "write_partition_columns": "write_partition_columns",
    "per_thread_output": "per_thread_output",
    "file_size_bytes": "file_size_bytes",
    "filename_pattern": "filename_pattern",
    "overwrite": "overwrite",
    "overwrite_or_ignore": "overwrite_or_ignore",
    "append": "append",
    "hive_file_pattern": "hive_file_pattern",
    "order_by": "order_by",
    "write_empty_file": "write_empty_file",
}
_SAME = {"partitioned_by": "partition_by"}
"""Other names of options; each may have blanks for its underscores."""
OF_REJECTS = frozenset({"on_error", "ignore_errors", "log_verbosity", "reject_limit", "rejects"})
"""Options about rows that no column takes."""
_MAKES_FOLDER = frozenset({"partition_by", "per_thread_output", "file_size_bytes"})
_NULLS = frozenset({"null", "nullstr"})
"""Options that DuckDB gives one text, or several."""
READ_REJECTING: Mapping[str, str] = _CSV_READ
"""Options of CSV that go with ON_ERROR ignore."""
READ: Mapping[str, Mapping[str, str]] = {
    "csv": _CSV_READ | _READ_MORE,
    "parquet": {},
    "json": {},
}
WRITTEN: Mapping[str, Mapping[str, str]] = {
    "csv": _CSV_WRITTEN | _FOLDERS,
    "parquet": _PARQUET_WRITTEN | _FOLDERS,
    "json": _JSON_WRITTEN | _FOLDERS,
}
"""Per format the options of COPY .. FROM and COPY .. TO by the names clients use."""

Options = dict[str, exp.Expr | None]


@dataclass(frozen=True, slots=True)
class RejectOptions:
    """Rows that no column takes are left out: at most ``limit``, and put into the file ``path``."""

    path: str | None = None
    limit: int | None = None


def given_options(ast: exp.Copy) -> Options:
    """The options of a COPY by name in lower case; raises if one is given twice."""
    found: Options = {}
    for parameter in ast.args.get("params") or []:
        name, value = "_".join(parameter.name.lower().split()), parameter.args.get("expression")
        name = _SAME.get(name, name)
        if name == "csv":
            # PostgreSQL's old spelling: .. CSV HEADER.
            found["format"] = exp.var("csv")
            if isinstance(value, exp.Var):
                found[value.name.lower()] = None
            continue
        if name in found:
            raise _option_error(
                f"the COPY option {name.upper()} is given twice", "give it once", ast
            )
        found[name] = value
    return found


def format_of(path: str, options: Options, ast: exp.Copy) -> str:
    """The format of a file, from the option FORMAT, which this removes, or the file's ending."""
    chosen = options.pop("format", None)
    bare, _, ending = path.lower().rpartition(".")
    if ending in _COMPRESSED:
        ending = bare.rpartition(".")[2]
    kind = chosen.name.lower() if chosen is not None else _ENDINGS.get(ending, ending)
    if kind not in FORMATS:
        shown = kind if chosen is not None or kind.isalnum() else ""
        raise _option_error(
            f"COPY does not know the format {shown or 'of this file'}",
            "give FORMAT csv, parquet or json",
            ast,
        )
    return kind


def compression_of(path: str) -> str | None:
    """The compression that a file's ending asks for."""
    return _COMPRESSED.get(path.lower().rpartition(".")[2])


def known_options(
    options: Options, known: Mapping[str, str], form: str, ast: exp.Copy
) -> dict[str, exp.Expr]:
    """The options under the store's names; an option without a value is true."""
    found: dict[str, exp.Expr] = {}
    for name, value in options.items():
        if name not in known:
            advice = (
                f"{form} has the options " + ", ".join(sorted(known)) if known else "leave it out"
            )
            raise _option_error(f"the COPY option {name.upper()} is not supported", advice, ast)
        several = _texts(value) if known is READ["csv"] and name in _NULLS else None
        found[known[name]] = several or (
            exp.true() if value is None else _constant(name, value, ast)
        )
    return found


def _texts(value: exp.Expr | None) -> exp.Array | None:
    """The texts that all stand for NULL; None where it is one."""
    if not isinstance(value, exp.Paren | exp.Array | exp.Tuple):
        return None
    texts = value.expressions or [value.this]
    if not all(text.is_string for text in texts):
        return None
    return exp.Array(expressions=[text.copy() for text in texts])


def taken_rejects(options: Options, ast: exp.Copy) -> RejectOptions | None:
    """Remove what is said of rows that no column takes; None where these stop the COPY.

    Raises NOT_SUPPORTED for a word or number that such an option cannot be.
    """
    ignores = _word(options, "on_error", ("ignore", "stop"), ast) == "ignore"
    ignores |= _word(options, "ignore_errors", ("true", "false"), ast) == "true"
    _word(options, "log_verbosity", ("default", "verbose", "silent"), ast)
    if ignores:
        _drop_defaults(options)
    limit, path = options.pop("reject_limit", None), options.pop("rejects", None)
    if not ignores and (limit is not None or path is not None):
        raise _option_error(
            "REJECTS and REJECT_LIMIT go with ON_ERROR ignore", "write ON_ERROR ignore", ast
        )
    if limit is not None and not (limit.is_int and int(limit.name) > 0):
        raise _option_error(
            "the COPY option REJECT_LIMIT takes a whole number from 1 on", "REJECT_LIMIT 100", ast
        )
    if path is not None and not path.is_string:
        raise _option_error("the COPY option REJECTS names a file", "REJECTS 'rejects.csv'", ast)
    if not ignores:
        return None
    return RejectOptions(
        None if path is None else path.name, None if limit is None else int(limit.name)
    )


def _drop_defaults(options: Options) -> None:
    """Remove the options of reading that say how rows are read beside rejected ones anyway."""
    for name, default in _REJECTING_DEFAULTS.items():
        value = options.get(name)
        if value is not None and (value.name or str(value.to_py())).lower() in default:
            del options[name]


_REJECTING_DEFAULTS = {
    "null_padding": ("0", "false"),
    "auto_detect": ("0", "false"),
    "parallel": ("0", "1", "false", "true"),
}


def _word(options: Options, name: str, known: tuple[str, ...], ast: exp.Copy) -> str | None:
    if name not in options:
        return None
    value = options.pop(name)
    word = known[0] if value is None else (value.name or str(value.to_py())).lower()
    if word not in known:
        raise _option_error(
            f"the COPY option {name.upper()} cannot be {word}", "it is " + " or ".join(known), ast
        )
    return word


def makes_folder(options: Mapping[str, exp.Expr]) -> bool:
    """True when several files are written."""
    return bool(_MAKES_FOLDER & options.keys())


def _constant(name: str, value: exp.Expr, ast: exp.Copy) -> exp.Expr:
    """A literal, a word, or a list of columns; nothing that would be computed."""
    if isinstance(value, exp.Literal | exp.Boolean | exp.Star):
        return value.copy()
    if isinstance(value, exp.Var | exp.Column | exp.Identifier):
        listed = name in {"partition_by", "force_quote", "order_by", FORCE_NOT_NULL}
        return _columns([value]) if listed else exp.Literal.string(value.name)
    if isinstance(value, exp.Tuple | exp.Paren):
        items = value.expressions or [value.this]
        if name == "order_by":
            items = [_ordered(item) for item in items]
        is_text = name == "partition_by" and all(i.is_string for i in items)
        if is_text or all(isinstance(i, exp.Column | exp.Identifier | exp.Ordered) for i in items):
            return _columns(items)
    if isinstance(value, exp.Struct | exp.Cast | exp.Neg) and _is_constant(value):
        return value.copy()
    raise _option_error(
        f"the COPY option {name.upper()} takes a constant",
        "give a literal, or names of columns in parentheses",
        ast,
    )


def _is_constant(value: exp.Expr) -> bool:
    """True for literals, also inside of structs, whose fields may have names without quotes."""
    named = {id(pair.this) for pair in value.find_all(exp.PropertyEQ)}
    parts = (exp.Literal, exp.Boolean, exp.Struct, exp.PropertyEQ, exp.Cast, exp.DataType, exp.Neg)
    return all(
        isinstance(node, parts) or id(node) in named or id(node.parent) in named
        for node in value.walk()
    )


def _ordered(item: exp.Expr) -> exp.Expr:
    """A column with its direction, which the parser takes for a name that it is given."""
    if isinstance(item, exp.Alias) and item.alias.upper() in {"ASC", "DESC"}:
        return exp.Ordered(this=item.this, desc=item.alias.upper() == "DESC")
    return item


def _columns(nodes: list[exp.Expr]) -> exp.Expr:
    """Names of columns in parentheses, with their directions where they have one."""
    columns: list[exp.Expr] = []
    for node in nodes:
        column = exp.column(exp.to_identifier(node.name, quoted=True))
        desc = node.args.get("desc") if isinstance(node, exp.Ordered) else None
        columns.append(column if desc is None else exp.Ordered(this=column, desc=desc))
    return exp.Tuple(expressions=columns)


def _option_error(message: str, advice: str, node: exp.Expr) -> PalimpsestError:
    return PalimpsestError(Code.NOT_SUPPORTED, message, advice=advice, position=position_of(node))
