"""The names that PL/pgSQL has for SQLSTATEs, those that statements of ours may end in. Pure."""

from __future__ import annotations

_STATES = {
    "successful_completion": "00000", "feature_not_supported": "0A000",
    "case_not_found": "20000", "cardinality_violation": "21000",
    "string_data_right_truncation": "22001", "null_value_not_allowed": "22004",
    "numeric_value_out_of_range": "22003", "invalid_datetime_format": "22007",
    "datetime_field_overflow": "22008", "division_by_zero": "22012",
    "invalid_parameter_value": "22023", "invalid_text_representation": "22P02",
    "integrity_constraint_violation": "23000", "restrict_violation": "23001",
    "not_null_violation": "23502", "foreign_key_violation": "23503", "unique_violation": "23505",
    "check_violation": "23514", "exclusion_violation": "23P01", "invalid_cursor_state": "24000",
    "invalid_transaction_state": "25000", "read_only_sql_transaction": "25006",
    "dependent_objects_still_exist": "2BP01", "invalid_schema_name": "3F000",
    "serialization_failure": "40001", "deadlock_detected": "40P01",
    "syntax_error_or_access_rule_violation": "42000", "insufficient_privilege": "42501",
    "syntax_error": "42601", "duplicate_column": "42701", "ambiguous_column": "42702",
    "undefined_column": "42703", "undefined_object": "42704", "duplicate_alias": "42712",
    "duplicate_object": "42710", "duplicate_function": "42723", "grouping_error": "42803",
    "datatype_mismatch": "42804", "wrong_object_type": "42809", "undefined_function": "42883",
    "undefined_table": "42P01", "undefined_parameter": "42P02", "duplicate_cursor": "42P03",
    "duplicate_database": "42P04", "duplicate_prepared_statement": "42P05",
    "duplicate_schema": "42P06", "duplicate_table": "42P07", "ambiguous_alias": "42P09",
    "invalid_column_reference": "42P10", "invalid_function_definition": "42P13",
    "invalid_table_definition": "42P16", "invalid_object_definition": "42P17",
    "object_not_in_prerequisite_state": "55000", "object_in_use": "55006",
    "lock_not_available": "55P03", "query_canceled": "57014", "raise_exception": "P0001",
    "no_data_found": "P0002", "too_many_rows": "P0003", "internal_error": "XX000",
}  # fmt: skip


def states_of(name: str) -> frozenset[str] | None:
    """The SQLSTATE of a condition's name; None for a name that is none.

    >>> sorted(states_of("duplicate_object"))
    ['42710']
    """
    found = _STATES.get(name.lower())
    return None if found is None else frozenset({found})
