"""Functions of the embedded store that PostgreSQL lacks, and what to use instead.

They are passed on, since an extension or the user may have made one of that name in the database;
when the server knows none, the refusal stands here. Pure.
"""

from __future__ import annotations

import re

_MISSING = re.compile(
    r"^function (?:\"?(?:_palimpsest|pg_catalog)\"?\.)?\"?(\w+)\"?\(.*\) does not exist$"
)
_ADVICE = {
    "make it in the database with CREATE EXTENSION fuzzystrmatch": ("levenshtein editdist3"),
    "make it in the database with CREATE EXTENSION unaccent, as a function of that name": (
        "strip_accents"
    ),
    "make it in the database from pgcrypto's digest(), or use sha256 or md5": "sha1 sha",
    "compare the texts in the client": (
        "damerau_levenshtein hamming jaccard jaro_similarity jaro_winkler_similarity"
        " jarowinkler_similarity mismatches"
    ),
    "unnest the list, and aggregate it again": (
        "aggregate array_aggr array_aggregate array_grade_up array_intersect array_resize"
        " array_select array_slice array_unique array_where array_zip flatten grade_up"
        " list_aggr list_aggregate list_approx_count_distinct list_bit_and list_bit_or list_bit_xor"
        " list_bool_and list_bool_or list_entropy list_grade_up list_histogram list_intersect"
        " list_kurtosis list_kurtosis_pop list_mad list_median list_mode list_product list_resize"
        " list_select list_sem list_skewness list_slice list_stddev_pop list_stddev_samp"
        " list_unique list_var_pop list_var_samp list_where list_zip unpivot_list"
    ),
    "unnest both lists, and sum over their elements": (
        "array_cosine_distance array_cosine_similarity array_cross_product array_distance"
        " array_dot_product array_inner_product array_negative_dot_product"
        " array_negative_inner_product array_value cosine_distance euclidean_distance"
        " list_cosine_distance list_cosine_similarity list_distance list_dot_product"
        " list_inner_product list_negative_dot_product list_negative_inner_product"
    ),
    "use columns of their own, or JSON": (
        "cardinality element_at histogram histogram_exact map map_concat map_contains"
        " map_contains_entry map_contains_value map_entries map_extract map_extract_value"
        " map_from_entries map_keys map_values remap_struct row struct_concat struct_contains"
        " struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys"
        " struct_pack struct_position struct_update struct_values union_extract union_tag"
        " union_value is_histogram_other_bin"
    ),
    "join the parts with ||, or use format() with %s": "printf",
    "use pg_typeof, which gives the server's own name of the type": (
        "typeof get_type vector_type enum_code enum_first enum_last enum_range enum_range_boundary"
        " make_type can_cast_implicitly cast_to_type replace_type"
    ),
    "write LIKE or ILIKE with ESCAPE": (
        "like_escape ilike_escape not_like_escape not_ilike_escape"
    ),
    "use date_diff, which counts the boundaries between them": "date_sub datesub",
    "use quantile_cont or quantile_disc, which are exact": (
        "approx_quantile reservoir_quantile approx_top_k"
    ),
    "compute it from sum, avg, stddev and count": (
        "entropy geomean geometric_mean kurtosis kurtosis_pop mad product sem skewness"
        " wavg weighted_avg lttb binom gamma lgamma nextafter signbit bit_count equi_width_bins"
        " stats bitstring_agg bit_position"
    ),
    "take the parts of a JSON value with ->>, or use PostgreSQL's functions of JSON": (
        "from_json from_json_strict json json_contains json_deep_merge json_exists"
        " json_group_array json_group_object json_group_structure json_insert json_keys"
        " json_merge_patch json_merge_patch_diff json_normalize json_pretty json_quote json_remove"
        " json_replace json_set json_structure json_transform json_transform_strict json_valid"
        " json_value json_array json_object json_copy_strftime_if_date"
        " json_copy_strftime_if_timestamp json_serialize_sql json_deserialize_sql"
    ),
    "order and compare by a collation of the server: ORDER BY s COLLATE ..": (
        "icu_sort_key icu_collate_de collate_de"
    ),
    "write the rows with VALUES": "test_all_types test_vector_types repeat_row",
    "use md5 or sha256": "hash md5_number md5_number_lower md5_number_upper create_sort_key",
    "encode it in the client": (
        "hex to_hex bin to_binary from_binary unbin to_base url_encode url_decode bar"
        " formatreadabledecimalsize formatreadablesize format_bytes parse_formatted_bytes"
    ),
    "use gen_random_uuid": "uuidv7 uuid_extract_timestamp uuid_extract_version",
    "cast the text to a moment, or give strptime one format": (
        "try_strptime make_timestamp_ns normalized_interval timezone timezone_hour timezone_minute"
        " julian julian_day"
    ),
    "take the characters with substring": (
        "left_grapheme right_grapheme length_grapheme substring_grapheme nfc_normalize"
        " regexp_escape"
    ),
    "take the text apart with split_part": (
        "parse_dirname parse_dirpath parse_filename parse_path path_join"
        " hive_partition_component parse_duckdb_log_message"
    ),
    "write it with operators and CASE": (
        "divide array_pop_back array_pop_front sum_no_overflow assert_true count_star decode repeat"
        " time_bucket alias constant_or_null isfinite round_even roundbankers fmod decimal_division"
        " decimal_average normalized_interval switch invoke sleep_ms bitstring"
        " greatest_common_divisor least_common_multiple"
    ),
    "order the rows in a subquery, and take one of them": (
        "last arg_max_null arg_max_nulls_last arg_min_null arg_min_nulls_last"
    ),
    "use list_transform, list_filter, or a comprehension of the list": (
        "apply array_apply array_transform array_reduce list_apply list_reduce reduce"
    ),
    "look for elements of lists with list_contains": "contains position",
    "ask the server with its own functions": (
        "ago combine combine_aggr finalize to_aggregate_state format_pg_type map_to_pg_oid user"
        " current_localtime bitstring_byte_comparable timetz_byte_comparable vertex_extract"
        " current_connection_id current_query_id current_transaction_id current_query"
        " in_search_path get_block_size"
    ),
}
_BY_NAME = {name: advice for advice, names in _ADVICE.items() for name in names.split()}
_AS_WRITTEN = {
    "sha": "sha1",
    "position": "contains",
    "jarowinkler_similarity": "jaro_winkler_similarity",
    "cosine_distance": "list_cosine_distance",
    "euclidean_distance": "list_distance",
}
"""How the embedded store calls what is passed on under another name."""


NAMES = frozenset(_BY_NAME)
"""The names, lower-case."""


def lacking(message: str) -> tuple[str, str] | None:
    """The function of a server's message, as it is called here, and advice; None if unknown."""
    found = _MISSING.match(message)
    advice = None if found is None else _BY_NAME.get(found[1].lower())
    if found is None or advice is None:
        return None
    return _AS_WRITTEN.get(found[1], found[1]), advice
