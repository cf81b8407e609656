"""Settings of DuckDB and PostgreSQL that the gateway accepts, and that change no answer.

A SET of one is taken, shown again, and does nothing else, except where its ``about`` says so. A
value that would change answers is refused, so what a program believes of its session is true. Pure.
"""

from __future__ import annotations

from gateway.version import VERSION
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TakenSetting:
    """A setting with its default; ``values`` are all that it may have, where not any will do.

    ``one_value``: they are but other spellings of the default, by which SHOW gives it.
    """

    default: str
    values: tuple[str, ...] = ()
    one_value: bool = False
    about: str = "taken, without effect on answers"

    def checked(self, name: str, value: str) -> str:
        """The value as it is kept; raises SETTING_VALUE for one that would change answers."""
        plain = " ".join(value.replace(",", " ").split()).lower()
        if self.values and plain not in self.values:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{name} cannot be {value!r}: the gateway would not follow it",
                advice=f"it may be {' or '.join(self.values)}",
            )
        if not self.values:
            return value
        return self.default if self.one_value or plain == self.default.lower() else plain


SERVER_VERSION = f"15.0 (Palimpsest {VERSION})"
"""The version of PostgreSQL whose dialect is spoken, at which drivers look; and the gateway's."""
MESSAGE_LEVELS = (
    *("debug5", "debug4", "debug3", "debug2", "debug", "debug1", "log"),
    *("notice", "warning", "error"),
)
"""The levels of messages, lowest first."""
_ON = ("on", "true", "1", "yes")
_OFF = ("off", "false", "0", "no")


def _any(default: str, *names: str) -> dict[str, TakenSetting]:
    return dict.fromkeys(names, TakenSetting(default))


_DUCKDB = {
    **_any("", "allocator_background_threads", "external_threads", "memory_limit", "max_memory"),
    **_any("", "temp_directory", "max_temp_directory_size", "threads", "worker_threads"),
    **_any("", "allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold"),
    **_any("true", "preserve_insertion_order", "autoinstall_known_extensions"),
    **_any(
        "true", "autoload_known_extensions", "enable_http_metadata_cache", "late_materialization"
    ),
    **_any("false", "enable_progress_bar", "enable_progress_bar_print", "enable_object_cache"),
    **_any("true", "enable_external_file_cache", "enable_caching_operators", "enable_optimizer"),
    **_any("", "disable_optimizer"),
    **_any("2000", "progress_bar_time"),
    **_any("", "enable_profiling", "disable_profiling", "profiling_mode", "profiling_coverage"),
    **_any("", "profile_output", "profiling_output", "custom_profiling_settings"),
    **_any("physical_only", "explain_output"),
    **_any("", "wal_autocheckpoint", "checkpoint_threshold", "force_compression"),
    **_any(
        "", "force_checkpoint", "disable_checkpoint_on_shutdown", "enable_checkpoint_on_shutdown"
    ),
    **_any("", "disabled_optimizers", "perfect_ht_threshold", "ordered_aggregate_threshold"),
    **_any("", "prefer_range_joins", "merge_join_threshold", "nested_loop_join_threshold"),
    **_any("", "asof_loop_join_threshold", "index_scan_max_count", "index_scan_percentage"),
    **_any("", "partitioned_write_flush_threshold", "partitioned_write_max_open_files"),
    **_any("", "streaming_buffer_size", "dynamic_or_filter_threshold", "pivot_filter_threshold"),
    **_any("", "enable_verification", "disable_verification", "verify_parallelism"),
    **_any("", "disable_verify_parallelism", "verify_external", "disable_verify_external"),
    **_any("", "verify_fetch_row", "disable_verify_fetch_row", "verify_serializer"),
    **_any("", "disable_verify_serializer", "enable_print_progress_bar", "debug_window_mode"),
    **_any("", "disable_progress_bar", "disable_print_progress_bar", "enable_logging"),
    **_any("", "logging_level", "logging_mode", "logging_storage", "enabled_log_types"),
    **_any("", "disabled_log_types", "variant_minimum_shredding_size"),
    **_any("", "debug_force_external", "debug_force_no_cross_product", "debug_checkpoint_abort"),
    **_any("", "read_ahead_depth", "parquet_prefetch_column_gap", "disable_parquet_prefetching"),
    **_any("", "delim_join_as_cte", "tracked_metrics"),
    **_any("false", "parquet_metadata_cache"),
    **_any("", "approximate_join_order_threshold", "async_threads", "block_allocator_memory"),
    **_any("", "auto_checkpoint_skip_wal_threshold", "wal_autocheckpoint_entries"),
    **_any("", "cache_local_files", "validate_external_file_cache", "external_file_cache_spill"),
    **_any("", "geometry_minimum_shredding_size", "initial_column_segment_size"),
    **_any("", "http_client_pool_capacity", "late_materialization_max_rows", "pin_threads"),
    **_any("", "max_streaming_buffer_size", "max_vacuum_tasks", "operator_memory_limit"),
    **_any("", "pandas_analyze_sample", "prefetch_all_parquet_files", "storage_block_prefetch"),
    **_any("", "scheduler_process_partial", "experimental_metadata_reuse"),
    **_any("", "write_buffer_row_group_count", "write_buffer_row_group_memory_limit"),
    **_any("", "zstd_min_string_length", "profiling_renderer_settings", "enable_fsst_vectors"),
    **_any("", "log_query_path", "user_agent", "custom_user_agent"),
    "immediate_transaction_mode": TakenSetting("false", _OFF),
    "default_collation": TakenSetting("", ("", "binary", "c", "posix")),
    "ieee_floating_point_ops": TakenSetting("true", _ON),
    "old_implicit_casting": TakenSetting("false", _OFF),
    "lock_configuration": TakenSetting("false", _OFF),
    "disable_timestamptz_casts": TakenSetting("false", _OFF),
    "lambda_syntax": TakenSetting("DEFAULT", ("default", "enable_single_arrow")),
    "json_geometry_format": TakenSetting("wkt", ("wkt", "")),
    "calendar": TakenSetting("gregorian", ("gregorian",)),
}
_POSTGRES = {
    **_any("1", "extra_float_digits"),
    **_any("0", "jit_above_cost"),
    **_any("notice", "log_min_messages"),
    "client_min_messages": TakenSetting(
        "notice", MESSAGE_LEVELS, about="the lowest level of messages that a client is told"
    ),
    **_any("on", "synchronous_commit", "row_security", "check_function_bodies", "jit"),
    **_any("on", "escape_string_warning", "geqo", "enable_seqscan", "enable_indexscan"),
    **_any("on", "enable_bitmapscan", "enable_indexonlyscan", "enable_hashjoin", "enable_nestloop"),
    **_any("on", "enable_mergejoin", "enable_sort", "enable_hashagg", "enable_material"),
    **_any("off", "quote_all_identifiers", "log_statement", "log_duration", "debug_print_plan"),
    **_any("content", "xmloption"),
    **_any("", "work_mem", "maintenance_work_mem", "temp_buffers", "effective_cache_size"),
    **_any("", "default_tablespace", "temp_tablespaces", "default_table_access_method"),
    **_any("", "default_statistics_target", "random_page_cost", "seq_page_cost", "cpu_tuple_cost"),
    **_any("", "lc_messages", "lc_monetary", "lc_numeric", "lc_time", "cursor_tuple_fraction"),
    **_any("", "max_parallel_workers_per_gather", "max_parallel_workers", "plan_cache_mode"),
    **_any("", "parallel_setup_cost", "parallel_tuple_cost", "log_min_duration_statement"),
    **_any("on", "synchronize_seqscans", "enable_partition_pruning", "enable_memoize"),
    **_any("on", "enable_tidscan", "enable_parallel_append", "enable_parallel_hash"),
    **_any("on", "enable_gathermerge", "enable_incremental_sort", "enable_async_append"),
    **_any("off", "enable_partitionwise_join", "enable_partitionwise_aggregate"),
    **_any("", "geqo_threshold", "geqo_effort", "from_collapse_limit", "join_collapse_limit"),
    **_any("", "cpu_index_tuple_cost", "cpu_operator_cost", "hash_mem_multiplier", "commit_delay"),
    **_any(
        "", "vacuum_cost_delay", "vacuum_cost_limit", "vacuum_freeze_min_age", "wal_skip_threshold"
    ),
    **_any(
        "", "log_min_error_statement", "log_error_verbosity", "log_temp_files", "commit_siblings"
    ),
    **_any("", "gin_fuzzy_search_limit", "gin_pending_list_limit", "track_activities"),
    **_any("", "track_io_timing", "track_counts", "tcp_user_timeout", "backend_flush_after"),
    **_any(
        "", "effective_io_concurrency", "maintenance_io_concurrency", "logical_decoding_work_mem"
    ),
    **_any("", "min_parallel_table_scan_size", "min_parallel_index_scan_size", "temp_file_limit"),
    **_any("", "max_parallel_maintenance_workers", "parallel_leader_participation"),
    **_any("", "jit_inline_above_cost", "jit_optimize_above_cost", "jit_expressions"),
    **_any("partition", "constraint_exclusion"),
    **_any("pglz", "default_toast_compression"),
    **_any("Default", "timezone_abbreviations"),
    "default_with_oids": TakenSetting("off", _OFF),
    "xmlbinary": TakenSetting("base64", ("base64",)),
    **_any("", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"),
    "transaction_timeout": TakenSetting("0", ("0",)),
    "client_encoding": TakenSetting("UTF8", ("utf8", "utf-8", "unicode")),
    "server_encoding": TakenSetting("UTF8", ("utf8", "utf-8", "unicode")),
    "standard_conforming_strings": TakenSetting("on", _ON),
    "backslash_quote": TakenSetting("safe_encoding", ("safe_encoding",)),
    "array_nulls": TakenSetting("on", _ON),
    "transform_null_equals": TakenSetting("off", _OFF),
    "password_encryption": TakenSetting("scram-sha-256", ("scram-sha-256",)),
    "bytea_output": TakenSetting("hex", ("hex",)),
    "datestyle": TakenSetting("ISO, MDY", ("iso", "iso mdy", "mdy"), one_value=True),
    "intervalstyle": TakenSetting(
        "postgres",
        ("postgres", "iso_8601"),
        about="how a server writes intervals: postgres or iso_8601",
    ),
    "integer_datetimes": TakenSetting("on", _ON),
    "in_hot_standby": TakenSetting("off", _OFF),
    "lc_collate": TakenSetting("C", ("c",)),
    "lc_ctype": TakenSetting("C.UTF-8", ("c.utf-8",)),
    "server_version": TakenSetting(SERVER_VERSION, (SERVER_VERSION.lower(),)),
    "server_version_num": TakenSetting("150000", ("150000",)),
    "max_identifier_length": TakenSetting("63", ("63",)),
    "max_index_keys": TakenSetting("32", ("32",)),
    "max_function_args": TakenSetting("100", ("100",)),
    "block_size": TakenSetting("8192", ("8192",)),
    "max_prepared_transactions": TakenSetting("0", ("0",)),
    "transaction_deferrable": TakenSetting("off", _OFF),
    "session_replication_role": TakenSetting("origin", ("origin", "local")),
    "default_transaction_deferrable": TakenSetting("off", _OFF),
    "default_transaction_isolation": TakenSetting(
        "repeatable read", ("read uncommitted", "read committed", "repeatable read")
    ),
    "transaction_isolation": TakenSetting(
        "repeatable read", ("read uncommitted", "read committed", "repeatable read")
    ),
}


def taken_settings(dialect: str) -> dict[str, TakenSetting]:
    """The settings that a client of this dialect may send, by name in lower case."""
    if dialect in {"postgres", "postgresql"}:
        return _POSTGRES
    return _DUCKDB if dialect == "duckdb" else {}
