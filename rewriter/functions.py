"""Which functions a client may call: an allow-list as sources of rows, a deny-list elsewhere.

Table functions of a store can read its catalog, run SQL text or scan memory, so only known ones
pass. Scalar functions pass unless they reach outside the statement. Pure.
"""

from __future__ import annotations

from sqlglot import Dialect, exp

from journal.model.capabilities import Capabilities
from journal.model.errors import Code, PalimpsestError
from rewriter.dialect_semantics import DIALECTS
from rewriter.name_resolution import position_of

TABLE_FUNCTIONS = (
    "generate_series",
    "range",
    "unnest",
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "parquet_schema",
    "parquet_metadata",
    "parquet_file_metadata",
    "parquet_kv_metadata",
    "parquet_full_metadata",
    "parquet_bloom_probe",
    "sniff_csv",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson_objects",
    "glob",
    "repeat",
    "repeat_row",
    "json_each",
    "json_tree",
    "histogram",
    "histogram_values",
    "pg_timezone_names",
    "icu_calendar_names",
    "test_all_types",
    "test_vector_types",
)
HISTOGRAMS = frozenset({"histogram", "histogram_values"})
"""Those that look a table up by its name; they get a CTE of it, which is named ``COUNTED``."""
COUNTED = "_palimpsest_counted"
FILE_FUNCTIONS = frozenset(
    name.replace("_", "") for name in TABLE_FUNCTIONS if name.startswith(("read_", "parquet_"))
) | {"glob", "sniffcsv"}
"""Functions whose first argument names files, in lower case and without underscores."""
_KNOWN = frozenset(name.replace("_", "") for name in TABLE_FUNCTIONS)
VOLATILE_FUNCTIONS = frozenset(
    "gen_random_uuid nextval rand randn random setseed uuid uuidv4 uuidv7".split()
)
"""Functions that give another value at each call, within one statement, too."""
MASKING_FUNCTIONS = frozenset(
    {"md5", "sha", "sha1", "sha2", "sha224", "sha256", "sha384", "sha512", "crc32", "hash"}
    | {"xxhash64", "murmur_hash", "mask", "mask_hash", "mask_first_n", "mask_last_n"}
    | {"mask_show_first_n", "mask_show_last_n", "hmac", "digest", "farm_fingerprint"}
)
"""Functions whose values do not show what they are computed from."""
CATALOG_FUNCTIONS = {
    "duckdb_columns": "info_duckdb_columns",
    "duckdb_constraints": "info_duckdb_constraints",
    "duckdb_databases": "info_duckdb_databases",
    "duckdb_functions": "info_functions",
    "duckdb_indexes": "info_indexes",
    "duckdb_schemas": "info_duckdb_schemas",
    "duckdb_sequences": "info_duckdb_sequences",
    "duckdb_settings": "info_duckdb_settings",
    "duckdb_tables": "info_duckdb_tables",
    "duckdb_types": "info_types",
    "duckdb_views": "info_duckdb_views",
}
"""Table functions of DuckDB whose rows the gateway supplies, and the relations that hold them."""
TABLE_INFO = "pragma_table_info"
"""One that takes the name of a table."""
_REACHING_OUT = frozenset(
    {
        "add_parquet_key",
        "arrow_scan",
        "arrow_scan_dumb",
        "cursor_to_xml",
        "cursor_to_xmlschema",
        "database_to_xml",
        "database_to_xml_and_xmlschema",
        "database_to_xmlschema",
        "java_method",
        "query_to_xml",
        "query_to_xml_and_xmlschema",
        "query_to_xmlschema",
        "reflect",
        "reflect2",
        "schema_to_xml",
        "schema_to_xml_and_xmlschema",
        "schema_to_xmlschema",
        "table_to_xml",
        "table_to_xml_and_xmlschema",
        "table_to_xmlschema",
        "ts_stat",
        "try_reflect",
        "checkpoint",
        "disable_logging",
        "enable_logging",
        "force_checkpoint",
        "from_substrait",
        "from_substrait_json",
        "getenv",
        "getvariable",
        "in_postgres",
        "has_any_column_privilege",
        "has_column_privilege",
        "has_database_privilege",
        "has_function_privilege",
        "has_schema_privilege",
        "has_sequence_privilege",
        "has_table_privilege",
        "has_tablespace_privilege",
        "index_key",
        "index_scan",
        "json_execute_serialized_sql",
        "json_serialize_plan",
        "pandas_scan",
        "pg_read_file",
        "python_map_function",
        "query",
        "query_table",
        "read_blob",
        "read_text",
        "seq_scan",
        "set_config",
        "setseed",
        "sql_auto_complete",
        "summary",
        "which_secret",
        "write_log",
    }
)
SEQUENCE_FUNCTIONS = frozenset({"currval", "lastval", "nextval", "setval", "sequence_position"})
"""Functions that read or change sequences, which may stand where rows are written or shown."""
_UNKNOWN_AGGREGATES = frozenset(
    {
        "arbitrary",
        "arg_max_null",
        "arg_max_nulls_last",
        "arg_min_null",
        "arg_min_nulls_last",
        "bitstring_agg",
        "combine_aggr",
        "count_star",
        "entropy",
        "favg",
        "fsum",
        "histogram",
        "histogram_exact",
        "kahan_sum",
        "kurtosis_pop",
        "lttb",
        "mad",
        "mean",
        "product",
        "reservoir_quantile",
        "sem",
        "sumkahan",
    }
)
"""Aggregates of the embedded store that the parser takes for functions of a single row."""
_PREFIXES = (
    "binary_upgrade_",
    "dblink",
    "duckdb_",
    "lo_",
    "pg_advisory_",
    "pg_cancel_",
    "pg_create_",
    "pg_drop_",
    "pg_export_",
    "pg_file_",
    "pg_logical_",
    "pg_ls_",
    "pg_read_",
    "pg_reload_",
    "pg_replication_",
    "pg_rotate_",
    "pg_start_",
    "pg_stat_file",
    "pg_stat_reset",
    "pg_switch_",
    "pg_terminate_",
    "pg_try_advisory_",
    "pragma_",
    "sqlite_",
    "mysql_query",
    "mysql_execute",
    "postgres_",
    "iceberg_",
)


def function_name(node: exp.Expr) -> str:
    """The name under which the store knows a function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Func):
        return str(node.sql_name()).lower()
    return str(node.key).lower()


def is_function_of_sql(name: str, dialect: str) -> bool:
    """True for a function that the parser of a client's dialect, or of ours, knows by its name."""
    parsers = [Dialect.get_or_raise(d).parser_class for d in (DIALECTS[dialect], "duckdb")]
    known = [p.FUNCTIONS.keys() | p.FUNCTION_PARSERS.keys() for p in parsers]
    return any(name.upper() in names for names in known)


def is_aggregate(node: exp.Expr) -> bool:
    """True for a call that makes one value of several rows, or looks at other rows."""
    if isinstance(node, exp.Anonymous):
        return function_name(node) in _UNKNOWN_AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Window)


def is_random(node: exp.Expr) -> bool:
    """True for a value that another look at the same row may not give again."""
    for part in node.walk():
        if isinstance(part, exp.Rand | exp.Randn | exp.Uuid | exp.NextValueFor):
            return True
        if isinstance(part, exp.Anonymous) and function_name(part) in VOLATILE_FUNCTIONS:
            return True
    return False


def check_functions(tree: exp.Expr, *, sequences: bool = False) -> None:
    """Raise NOT_SUPPORTED if anything in ``tree`` calls a function that reaches outside."""
    for node in tree.find_all(exp.Anonymous, exp.NextValueFor):
        check_function(node, sequences=sequences)


def check_function(node: exp.Expr, *, sequences: bool = True) -> None:
    """Raise NOT_SUPPORTED for one call of a function that reaches outside.

    Those of sequences do, but where ``sequences`` may be used.
    """
    uses = isinstance(node, exp.NextValueFor) or function_name(node) in SEQUENCE_FUNCTIONS
    if reaches_outside(node) or (uses and not sequences):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the function {function_name(node)} is not supported: it reads or changes what lies"
            " outside of the tables",
            advice="use tables, COPY, or a function of its arguments only",
            position=position_of(node),
        )


def reaches_outside(node: exp.Expr) -> bool:
    """True for a call of a function on the deny-list."""
    if not isinstance(node, exp.Anonymous):
        return False
    name = function_name(node)
    if name in CATALOG_FUNCTIONS or name == TABLE_INFO:
        return not isinstance(node.parent, exp.Table)
    return name in _REACHING_OUT or name.startswith(_PREFIXES)


def is_table_function(node: exp.Expr) -> bool:
    """True for a call of a function that gives rows, and not one value."""
    return function_name(node).replace("_", "") in _KNOWN


def check_table_function(node: exp.Expr, capabilities: Capabilities | None = None) -> None:
    """Raise NOT_SUPPORTED unless a call may be a source of rows of a store that can do so much."""
    if isinstance(node, exp.Values | exp.Explode | exp.GenerateSeries | exp.Unnest):
        return
    name = function_name(node)
    if not is_table_function(node):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"the table function {name} is not supported",
            advice="supported are " + ", ".join(TABLE_FUNCTIONS),
            position=position_of(node),
        )
    if name in HISTOGRAMS and capabilities is not None and capabilities.postgres_functions:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"a PostgreSQL store has no table function {name}",
            advice="count the rows of each value: SELECT c, count(*) FROM t GROUP BY c",
            position=position_of(node),
        )
    if not reads_cte(node):
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"{name} takes the name of a table, and a column",
            advice=f"write {name}(t, c)",
            position=position_of(node),
        )


def reads_cte(call: exp.Expr) -> bool:
    """False for a call that names a table to the store itself, past the catalog."""
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in HISTOGRAMS:
        return True
    first = call.expressions[0] if call.expressions else None
    return isinstance(first, exp.Column) and first.name == COUNTED and not first.table
