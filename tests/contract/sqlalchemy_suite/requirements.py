"""What the gateway offers of all that SQLAlchemy's suite can ask for, and why not the rest."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

OPEN = (
    "create_table_as", "table_ddl_if_exists", "uuid_data_type", "table_value_constructor",
    "boolean_col_expressions", "nullsordering", "intersect", "except_", "window_functions",
    "window_range", "window_range_numeric", "window_range_non_numeric", "ctes",
    "ctes_with_update_delete", "ctes_with_values", "ctes_on_dml", "tuple_in", "tuple_in_w_empty",
    "views", "schemas", "implicit_default_schema", "reflects_pk_names", "comment_reflection",
    "comment_reflection_full_unicode", "view_column_reflection", "view_reflection",
    "schema_reflection", "schema_create_delete", "create_or_replace_view",
    "inline_check_constraint_reflection", "check_constraint_reflection", "unicode_ddl",
    "datetime_interval", "datetime_literals", "datetime_timezone", "time_timezone",
    "timestamp_microseconds", "datetime_historic", "datetime_timezone_historic", "date_historic",
    "binary_literals", "autocommit", "skip_autocommit_rollback", "isolation_level", "array_type",
    "json_type", "precision_numerics_many_significant_digits", "server_defaults",
    "expression_server_defaults", "implicit_decimal_binds", "aggregate_order_by",
    "precision_numerics_retains_significant_digits", "infinity_floats",
    "float_or_double_precision_behaves_generically", "savepoints", "update_from", "delete_from",
    "update_where_target_in_subquery", "mod_operator_as_percent_sign", "percent_schema_names",
    "order_by_label_with_expression", "supports_distinct_on", "supports_is_distinct_from",
    "identity_columns", "identity_columns_standard", "regexp_match", "regexp_replace",
    "fetch_no_order_by", "fetch_expression", "supports_bitwise_or", "supports_bitwise_and",
    "supports_bitwise_not", "supports_bitwise_xor", "supports_bitwise_shift",
    "insert_executemany_returning", "empty_inserts", "empty_inserts_executemany", "sequences",
    "sequences_optional",
    "computed_columns", "computed_columns_stored", "computed_columns_reflect_persisted",
    "computed_columns_default_persisted", "index_reflection", "indexes_with_ascdesc",
    "reflect_indexes_with_ascdesc", "index_ddl_if_exists", "indexes_check_column_order",
    "indexes_with_expressions", "reflect_indexes_with_expressions",
    "index_reflects_included_columns",
)  # fmt: skip

TEMPORARY = (
    "temporary_tables", "temp_table_reflection", "temp_table_names", "has_temp_table",
    "temporary_views", "temp_table_reflect_indexes",
)  # fmt: skip
"""Tried on the embedded store alone; ``tests/contract/store`` shows that the others do the same."""
REFERENCES = ("foreign_key_ddl", "foreign_key_constraint_reflection")
"""Closed on Spark, which refuses foreign keys."""

_KEYS = "foreign keys that change other rows are refused"
CLOSED = {
    "on_update_cascade": _KEYS,
    "recursive_fk_cascade": _KEYS,
    "deferrable_fks": "foreign keys are checked at the end of each statement",
    "constraint_comment_reflection": "constraints have no comments",
    "implements_get_lastrowid": "generated keys come back through RETURNING",
    "denormalized_names": "names keep the case they were written in",
}


class Requirements(SuiteRequirements):
    """SQLAlchemy's defaults, changed as listed above."""

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        """Both levels there are."""
        return {"default": "SNAPSHOT", "supported": ["SNAPSHOT", "AUTOCOMMIT"]}


def _is_embedded(config: Any) -> bool:
    return bool(config.db.url.drivername == "palimpsest")


def _keeps_references(config: Any) -> bool:
    return not config.db.url.drivername.endswith("hive")


def _always(answer: Any) -> property:
    return property(lambda self: answer())


for _name in OPEN:
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, _always(exclusions.open))
for _name in CLOSED:
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, _always(exclusions.closed))
for _name in TEMPORARY:
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, _always(lambda: exclusions.only_if(_is_embedded)))
for _name in REFERENCES:
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, _always(lambda: exclusions.only_if(_keeps_references)))
