"""PostgreSQL's functions on its catalog, as macros over the relations of schema ``pgc``.

Each is called ``pgc_<name>`` here, so that none of the engine's own is taken for it. A macro that
PostgreSQL overloads takes its optional arguments in further definitions. Relations inside have
aliases that no client uses: an argument such as ``c.oid`` would be taken for a column of theirs.
"""

from __future__ import annotations

from gateway.servers.pg_catalog.numbering import CATALOGS
from rewriter.reading.postgres.quoting import QUOTED_NAME

_NUMBERS = ", ".join(f"'{name}': {oid}" for name, oid in CATALOGS.items())
_NAMES = ", ".join(f"{oid}: '{name}'" for name, oid in CATALOGS.items())
_SPELLED_TYPES = (
    "'int': 'integer', 'dec': 'numeric', 'decimal': 'numeric', 'float': 'double precision',"
    " 'char': 'bpchar', 'character': 'bpchar'"
)
MACROS: dict[str, tuple[str, ...]] = {
    # A macro comes behind those that it calls.
    # The catalog's own tables are not in pg_class.
    "own_table": (
        (f"(n) AS map_extract_value(MAP {{{_NUMBERS}}}, replace(replace(n, '\"', ''),"
        " 'pg_catalog.', ''))::UINTEGER"),
    ),
    "own_name": (f"(o) AS map_extract_value(MAP {{{_NAMES}}}, o::BIGINT)",),
    # A schema as clients read it, however it was given, and a name without quotes.
    "schema_shown": (
        "(s) AS CASE s WHEN getvariable('pgc_home') THEN getvariable('pgc_shown_home') ELSE s END",
    ),
    # Blanks may stand around the dots between names: "public" . "t".
    "bare_name": ("(n) AS regexp_replace(trim(replace(n, '\"', '')), ' *[.] *', '.', 'g')",),
    "plain_name": (
        ("(n) AS CASE WHEN starts_with(pgc_bare_name(n), getvariable('pgc_home') || '.')"
        " THEN getvariable('pgc_shown_home') || substr(pgc_bare_name(n),"
        " length(getvariable('pgc_home')) + 1) ELSE pgc_bare_name(n) END"),
    ),
    "to_regclass": (
        ("(n) AS coalesce(pgc_own_table(n), (SELECT any_value(_c.oid) FROM pgc.pg_class _c"
        " JOIN pgc.pg_namespace _s ON _s.oid = _c.relnamespace"
        " WHERE CASE WHEN contains(n, '.') THEN"
        " _s.nspname || '.' || _c.relname = pgc_plain_name(n) ELSE _c.relname ="
        " pgc_plain_name(n) AND (_s.nspname IN ('pg_catalog', 'pg_temp')"
        " OR list_contains(getvariable('pgc_path'), _s.nspname)) END))"),
    ),
    # What a cast of a name gives, which has to be there.
    "regclass": (
        ("(o) AS CASE WHEN o IS NULL THEN NULL ELSE coalesce(TRY_CAST(o AS UINTEGER),"
        " pgc_to_regclass(o), error('relation \"' || o || '\" does not exist')::UINTEGER) END"),
    ),
    # What those about privileges share: numbers of roles, objects and columns by name or number.
    "role_of": (
        ("(u) AS (SELECT any_value(oid) FROM pgc.pg_roles _f WHERE rolname = u::VARCHAR"
        " OR oid::VARCHAR = u::VARCHAR)"),
    ),
    "schema_of": (
        ("(s) AS (SELECT any_value(oid) FROM pgc.pg_namespace _f"
        " WHERE nspname = pgc_schema_shown(s::VARCHAR)"
        " OR oid::VARCHAR = s::VARCHAR)"),
    ),
    "to_regnamespace": ("(s) AS pgc_schema_of(pgc_plain_name(s))",),
    "regnamespace": (
        ("(s) AS coalesce(pgc_to_regnamespace(s),"
        " error('schema \"' || s || '\" does not exist')::UINTEGER)"),
    ),
    # Of several functions of a name, one.
    "regproc": (
        ("(n) AS coalesce((SELECT any_value(_p.oid) FROM pgc.pg_proc _p WHERE _p.proname ="
        " regexp_extract(pgc_plain_name(n), '([^.(]+)([(].*)?$', 1)),"
        " error('function \"' || n || '\" does not exist')::UINTEGER)"),
    ),
    "to_regrole": ("(u) AS pgc_role_of(replace(u, '\"', ''))",),
    "regrole": (
        ("(u) AS coalesce(pgc_to_regrole(u),"
        " error('role \"' || u || '\" does not exist')::UINTEGER)"),
    ),
    "relation_of": (
        "(o) AS coalesce(TRY_CAST(o::VARCHAR AS UINTEGER), pgc_to_regclass(o::VARCHAR))",
    ),
    "place_of": (
        ("(o, c) AS (SELECT any_value(attnum) FROM pgc.pg_attribute _f WHERE attrelid ="
        " pgc_relation_of(o) AND (attname = c::VARCHAR OR attnum::VARCHAR = c::VARCHAR))"),
    ),
    "may": (
        ("(u, o, n, p) AS EXISTS (SELECT 1 FROM pgc.admins _a WHERE _a.oid = pgc_role_of(u)) OR"
        " EXISTS (SELECT 1 FROM pgc.granted _g WHERE _g.grantee = pgc_role_of(u) AND _g.object = o"
        " AND (n = -1 OR _g.place IN (0, n)) AND list_contains(list_transform(string_split(p, ','),"
        " lambda x: upper(trim(replace(upper(x), 'WITH GRANT OPTION', '')))), _g.privilege))"),
    ),
    "may_relation": ("(u, o, n, p) AS pgc_may(u, pgc_relation_of(o), n, p)",),
    "is_member": (
        ("(u, r) AS EXISTS (SELECT 1 FROM pgc.admins _a WHERE _a.oid = pgc_role_of(u)) OR"
        " EXISTS (SELECT 1 FROM pgc.member_of _m WHERE _m.member = pgc_role_of(u)"
        " AND _m.roleid = pgc_role_of(r))"),
    ),
    # What whoever owns a thing of a kind, and everybody, may do with it without any GRANT.
    "acldefault": (
        ("(k, o) AS (SELECT any_value(CASE k"
        " WHEN 'r' THEN [_r.rolname || '=arwdDxt/' || _r.rolname]"
        " WHEN 's' THEN [_r.rolname || '=rwU/' || _r.rolname]"
        " WHEN 'n' THEN [_r.rolname || '=UC/' || _r.rolname]"
        " WHEN 'L' THEN [_r.rolname || '=rw/' || _r.rolname]"
        " WHEN 'd' THEN ['=Tc/' || _r.rolname, _r.rolname || '=CTc/' || _r.rolname]"
        " WHEN 'f' THEN ['=X/' || _r.rolname, _r.rolname || '=X/' || _r.rolname]"
        " WHEN 'T' THEN ['=U/' || _r.rolname, _r.rolname || '=U/' || _r.rolname]"
        " WHEN 'l' THEN ['=U/' || _r.rolname, _r.rolname || '=U/' || _r.rolname]"
        " WHEN 'c' THEN []::VARCHAR[] ELSE [_r.rolname || '=U/' || _r.rolname] END)"
        " FROM pgc.pg_roles _r WHERE _r.oid = o)"),
    ),
    "array_lower": ("(a, d) AS CASE WHEN len(a) > 0 THEN 1 END",),
    "array_upper": ("(a, d) AS nullif(len(a), 0)",),
    "col_description": (
        ("(o, n) AS (SELECT any_value(description) FROM pgc.pg_description _f"
        " WHERE objoid = o AND objsubid = n)"),
    ),
    "current_database": ("() AS getvariable('pgc_database')",),
    "current_schema": ("() AS getvariable('pgc_path')[1]",),
    "current_schemas": (
        ("(x) AS CASE WHEN x THEN list_prepend('pg_catalog', getvariable('pgc_path'))"
        " ELSE getvariable('pgc_path') END"),
    ),
    # No name at all is what a statement with a parameter is described with.
    "known_setting": (
        "(n) AS (SELECT any_value(setting) FROM pgc.pg_settings _f WHERE lower(name) = lower(n))",
    ),
    "current_setting": (
        ("(n) AS CASE WHEN n = '' OR EXISTS (SELECT 1 FROM pgc.pg_settings _f WHERE lower(name) ="
        " lower(n)) THEN pgc_known_setting(n) WHEN n IS NOT NULL THEN"
        " error('setting \"' || n || '\" does not exist')::VARCHAR END"),
        ("(n, m) AS CASE WHEN m THEN pgc_known_setting(n) WHEN m IS NOT NULL THEN"
        " pgc_current_setting(n) END"),
    ),
    "current_user": ("() AS getvariable('pgc_user')",),
    "format_type": (
        ("(o, m) AS CASE WHEN o = 0 THEN '-' ELSE (SELECT any_value(CASE"
        " WHEN o = 1700 AND m > 3 THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535)"
        " || ')' WHEN o IN (1114, 1115) AND m >= 0 THEN regexp_replace(shown, 'timestamp',"
        " 'timestamp(' || m || ')')"
        " WHEN o IN (1042, 1043) AND m > 3 THEN shown || '(' || (m - 4) || ')'"
        " WHEN o IN (1014, 1015) AND m > 3 THEN replace(shown, '[]', '(' || (m - 4) || ')[]')"
        " WHEN o = 1231 AND m > 3 THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535)"
        " || ')[]'"
        " ELSE shown END) FROM pgc.shown_types _f WHERE oid = o) END"),
    ),
    "has_any_column_privilege": (
        "(o, p) AS getvariable('pgc_admin') OR pgc_may_relation(getvariable('pgc_user'), o, -1, p)",
        "(u, o, p) AS pgc_may_relation(u, o, -1, p)",
    ),
    "has_column_privilege": (
        ("(o, c, p) AS getvariable('pgc_admin') OR"
        " pgc_may_relation(getvariable('pgc_user'), o, pgc_place_of(o, c), p)"),
        "(u, o, c, p) AS pgc_may_relation(u, o, pgc_place_of(o, c), p)",
    ),
    "has_database_privilege": (
        ("(d, p) AS getvariable('pgc_admin') OR NOT contains(upper(p), 'CREATE') OR"
        " pgc_may(getvariable('pgc_user'), 16000, 0, p)"),
        "(u, d, p) AS NOT contains(upper(p), 'CREATE') OR pgc_may(u, 16000, 0, p)",
    ),
    "has_function_privilege": ("(a, b) AS true", "(a, b, c) AS true"),
    "has_schema_privilege": (
        ("(s, p) AS getvariable('pgc_admin') OR"
        " pgc_may(getvariable('pgc_user'), pgc_schema_of(s), 0, p)"),
        "(u, s, p) AS pgc_may(u, pgc_schema_of(s), 0, p)",
    ),
    "has_sequence_privilege": (
        "(o, p) AS getvariable('pgc_admin') OR pgc_may_relation(getvariable('pgc_user'), o, 0, p)",
        "(u, o, p) AS pgc_may_relation(u, o, 0, p)",
    ),
    "has_table_privilege": (
        "(o, p) AS getvariable('pgc_admin') OR pgc_may_relation(getvariable('pgc_user'), o, 0, p)",
        "(u, o, p) AS pgc_may_relation(u, o, 0, p)",
    ),
    "inet_server_addr": ("() AS NULL::VARCHAR",),
    "inet_server_port": ("() AS NULL::INTEGER",),
    "obj_description": (
        ("(o) AS (SELECT any_value(description) FROM pgc.pg_description _f"
        " WHERE objoid = o AND objsubid = 0)"),
        ("(o, c) AS (SELECT any_value(description) FROM pgc.pg_description _f"
        " WHERE objoid = o AND objsubid = 0)"),
    ),
    "pg_backend_pid": ("() AS getvariable('pgc_pid')",),
    # The number of the session, on which the reader acts.
    "pg_cancel_backend": ("(n) AS n::INTEGER",),
    "pg_terminate_backend": ("(n) AS n::INTEGER", "(n, t) AS n::INTEGER"),
    "pg_char_to_encoding": ("(n) AS 6",),
    "pg_database_size": ("(n) AS 0::BIGINT",),
    "pg_encoding_to_char": ("(n) AS 'UTF8'",),
    "getdatabaseencoding": ("() AS 'UTF8'",),
    "pg_client_encoding": ("() AS 'UTF8'",),
    "pg_get_constraintdef": tuple(
        f"({arguments}) AS (SELECT any_value(definition) FROM pgc.constraint_definitions _f"  # noqa: S608
        " WHERE oid = o)"
        for arguments in ("o", "o, p")
    ),
    "pg_get_expr": ("(e, r) AS e", "(e, r, p) AS e"),
    "pg_get_function_arguments": (
        "(o) AS (SELECT any_value(arguments) FROM pgc.function_texts _f WHERE oid = o)",
    ),
    "pg_get_function_identity_arguments": (
        "(o) AS (SELECT any_value(identity) FROM pgc.function_texts _f WHERE oid = o)",
    ),
    "pg_get_function_sqlbody": ("(o) AS NULL::VARCHAR",),
    "pg_get_function_result": (
        "(o) AS (SELECT any_value(result) FROM pgc.function_texts _f WHERE oid = o)",
    ),
    "pg_get_functiondef": (
        "(o) AS (SELECT any_value(definition) FROM pgc.function_texts _f WHERE oid = o)",
    ),
    "pg_get_indexdef": (
        ("(o) AS (SELECT any_value(definition) FROM pgc.index_definitions _f"
        " WHERE oid = o AND place = 0)"),
        ("(o, n, p) AS COALESCE((SELECT any_value(definition) FROM pgc.index_definitions _f"
        " WHERE oid = o AND place = n), (SELECT any_value(attname) FROM"
        " pgc.pg_attribute WHERE attrelid = o AND attnum = n))"),
    ),
    "pg_get_partition_constraintdef": ("(o) AS NULL::VARCHAR",),
    "pg_get_partkeydef": ("(o) AS NULL::VARCHAR",),
    "pg_get_ruledef": ("(o) AS NULL::VARCHAR", "(o, p) AS NULL::VARCHAR"),
    "pg_get_serial_sequence": (
        ("(t, c) AS (SELECT any_value(sequence) FROM pgc.serial_columns _f WHERE attname = c AND"
        " CASE WHEN contains(t, '.') THEN nspname || '.' || relname = pgc_plain_name(t) ELSE"
        " relname = replace(t, '\"', '') AND list_contains(getvariable('pgc_path'), nspname) END)"),
    ),
    # What a cast of such a name to regclass is.
    "sequence_named": (
        ("(n) AS (SELECT any_value(seqrelid) FROM pgc.serial_columns _f"
        " WHERE pgc_plain_name(sequence) = pgc_plain_name(n))"),
    ),
    "pg_get_statisticsobjdef_columns": ("(o) AS NULL::VARCHAR",),
    "pg_get_userbyid": (
        "(o) AS (SELECT any_value(rolname) FROM pgc.pg_roles _f WHERE oid = o)",
    ),
    "pg_get_viewdef": tuple(
        f"({arguments}) AS (SELECT any_value(definition) FROM pgc.view_definitions _f"  # noqa: S608
        " WHERE oid = o)"
        for arguments in ("o", "o, p")
    ),
    "pg_has_role": (
        "(r, p) AS getvariable('pgc_admin') OR pgc_is_member(getvariable('pgc_user'), r)",
        "(u, r, p) AS pgc_is_member(u, r)",
    ),
    # Of btree, which all indexes are here.
    "pg_index_column_has_property": (
        ("(o, n, p) AS (SELECT any_value(CASE lower(p)"
        " WHEN 'asc' THEN (indoption[n] & 1) = 0 WHEN 'desc' THEN (indoption[n] & 1) = 1"
        " WHEN 'nulls_first' THEN (indoption[n] & 2) = 2"
        " WHEN 'nulls_last' THEN (indoption[n] & 2) = 0 WHEN 'distance_orderable' THEN false"
        " WHEN 'orderable' THEN true WHEN 'returnable' THEN true WHEN 'search_array' THEN true"
        " WHEN 'search_nulls' THEN true END) FROM pgc.pg_index _f WHERE indexrelid ="
        " pgc_relation_of(o) AND n BETWEEN 1 AND len(indoption))"),
    ),
    "pg_indexes_size": ("(o) AS 0::BIGINT",),
    "pg_is_in_recovery": ("() AS false",),
    "pg_is_other_temp_schema": ("(o) AS false",),
    "pg_my_temp_schema": ("() AS 0::UINTEGER",),
    "pg_partition_ancestors": ("(o) AS o::BIGINT",),
    "pg_partition_root": ("(o) AS o::BIGINT",),
    "pg_postmaster_start_time": ("() AS getvariable('pgc_started')",),
    "pg_relation_is_publishable": ("(o) AS false",),
    # Bits for INSERT, UPDATE and DELETE; views take none of them.
    "pg_relation_is_updatable": (
        ("(o, t) AS (SELECT CASE WHEN any_value(_c.relkind) IN ('r', 'p') THEN 28 ELSE 0 END"
        " FROM pgc.pg_class _c WHERE _c.oid = pgc_regclass(o::VARCHAR))"),
    ),
    "pg_column_is_updatable": (
        "(o, n, t) AS n > 0 AND pgc_pg_relation_is_updatable(o, t) = 28",
    ),
    "pg_relation_size": ("(o) AS 0::BIGINT", "(o, f) AS 0::BIGINT"),
    # As for whoever may not read the sequence; pg_sequences says the same.
    "pg_sequence_last_value": ("(o) AS NULL::BIGINT",),
    "pg_size_pretty": ("(n) AS format_bytes(n)",),
    "pg_table_is_visible": (
        ("(o) AS coalesce((SELECT any_value(list_contains(getvariable('pgc_path'), _n.nspname) OR"
        " _n.nspname IN ('pg_catalog', 'pg_temp')) FROM pgc.pg_class _c"
        " JOIN pgc.pg_namespace _n ON _n.oid = _c.relnamespace"
        " WHERE _c.oid = o), false)"),
    ),
    "pg_table_size": ("(o) AS 0::BIGINT",),
    "pg_tablespace_location": ("(o) AS ''",),
    "pg_total_relation_size": ("(o) AS 0::BIGINT",),
    "pg_type_is_visible": (
        ("(o) AS NOT EXISTS (SELECT 1 FROM pgc.pg_type _t JOIN pgc.pg_namespace _s"
        " ON _s.oid = _t.typnamespace WHERE _t.oid = o AND _s.oid <> 11"
        " AND NOT list_contains(getvariable('pgc_path'), _s.nspname))"),
    ),
    "pg_function_is_visible": (
        ("(o) AS NOT EXISTS (SELECT 1 FROM pgc.pg_proc _p JOIN pgc.pg_namespace _s"
        " ON _s.oid = _p.pronamespace WHERE _p.oid = o AND _s.oid <> 11"
        " AND NOT list_contains(getvariable('pgc_path'), _s.nspname))"),
    ),
    "pg_opclass_is_visible": ("(o) AS true",),
    "pg_operator_is_visible": ("(o) AS true",),
    "pg_collation_is_visible": ("(o) AS true",),
    "pg_statistics_obj_is_visible": ("(o) AS true",),
    "oidvectortypes": (
        ("(v) AS coalesce((SELECT string_agg(pgc_format_type(_v.o, NULL), ', ' ORDER BY _v.i)"
        " FROM (SELECT unnest(v) AS o, generate_subscripts(v, 1) AS i) _v), '')"),
    ),
    "parse_ident": ("(n) AS string_split(replace(n, '\"', ''), '.')",),
    "quote_ident": (f"(x) AS {QUOTED_NAME}",),
    "quote_literal": ("(n) AS '''' || replace(n::VARCHAR, '''', '''''') || ''''",),
    "pg_get_triggerdef": tuple(
        f"({arguments}) AS (SELECT any_value(head || CASE WHEN {plain} AND"  # noqa: S608
        " list_contains(getvariable('pgc_path'), nspname) THEN '' ELSE"
        " pgc_quote_ident(nspname) || '.' END || relname || middle || CASE WHEN"
        " list_contains(getvariable('pgc_path'), proschema) THEN '' ELSE"
        " pgc_quote_ident(proschema) || '.' END || proname)"
        " FROM pgc.trigger_texts _f WHERE oid = o)"
        for arguments, plain in (("o", "false"), ("o, p", "p"))
    ),
    "row_security_active": (
        ("(o) AS CASE WHEN pgc_regclass(o::VARCHAR) IS NOT NULL THEN pgc_regclass(o::VARCHAR)"
        " IN (SELECT oid FROM pgc.secured_rows _f) END"),
    ),
    "session_user": ("() AS getvariable('pgc_login')",),
    "shobj_description": (
        ("(o, c) AS (SELECT any_value(description) FROM pgc.pg_shdescription _f WHERE objoid = o"
        " AND classoid = pgc_own_table(c))"),
    ),
    # Words of SQL come before names: char is not "char".
    "type_in_full": (
        f"(n) AS coalesce(map_extract_value(MAP {{{_SPELLED_TYPES}}}, lower(n)), n)",
    ),
    "to_regtype": (
        ("(n) AS (SELECT arg_min(_t.oid, _t.typrelid) FROM pgc.pg_type _t"
        " JOIN pgc.shown_types _s USING (oid)"
        " WHERE _t.typname = regexp_replace(replace(pgc_type_in_full(n), '\"', ''), '^.*\\.', '')"
        " OR _s.shown = lower(pgc_type_in_full(n)))"),
    ),
    # What a cast of a name gives, which has to be there.
    "regtype": (
        ("(n) AS coalesce(pgc_to_regtype(n),"
        " error('type \"' || n || '\" does not exist')::UINTEGER)"),
    ),
    "txid_current": ("() AS 1::BIGINT",),
    "user": ("() AS getvariable('pgc_user')",),
    "version": ("() AS getvariable('pgc_version')",),
    # What information_schema makes of a type and its modifier.
    "_pg_truetypid": ("(a, k, b) AS CASE k WHEN 'd' THEN b ELSE a END",),
    "_pg_truetypmod": ("(a, k, b) AS CASE k WHEN 'd' THEN b ELSE a END",),
    "_pg_char_max_length": ("(o, m) AS CASE WHEN m > 3 AND o IN (1042, 1043) THEN m - 4 END",),
    "_pg_numeric_precision": (
        ("(o, m) AS CASE o WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24"
        " WHEN 701 THEN 53 WHEN 1700 THEN CASE WHEN m > 3 THEN ((m - 4) >> 16) & 65535 END END"),
    ),
    "_pg_numeric_scale": (
        ("(o, m) AS CASE WHEN o IN (20, 21, 23) THEN 0"
        " WHEN o = 1700 AND m > 3 THEN (m - 4) & 65535 END"),
    ),
    "_pg_datetime_precision": (
        ("(o, m) AS CASE WHEN o = 1082 THEN 0 WHEN o IN (1083, 1114, 1184, 1186, 1266)"
        " THEN CASE WHEN m < 0 THEN 6 ELSE m END END"),
    ),
    "nameconcatoid": ("(n, o) AS n || '_' || o::VARCHAR",),
    "_pg_expandarray": (
        "(a) AS unnest(list_transform(a, lambda v, i: {'x': v, 'n': i::INTEGER}))",
    ),
    # What a cast gives that names an object by its number.
    "as_regclass": (
        ("(o) AS coalesce((SELECT any_value(CASE WHEN _n.nspname = 'pg_temp'"
        " OR list_contains(getvariable('pgc_path'), _n.nspname) THEN ''"
        " ELSE pgc_quote_ident(_n.nspname) || '.' END || pgc_quote_ident(_c.relname))"
        " FROM pgc.pg_class _c"
        " JOIN pgc.pg_namespace _n ON _n.oid = _c.relnamespace"
        " WHERE _c.oid = TRY_CAST(o AS UINTEGER)),"
        " pgc_own_name(o), o::VARCHAR)"),
    ),
    "as_regtype": (
        ("(o) AS coalesce((SELECT any_value(shown) FROM pgc.shown_types _f"
        " WHERE oid = coalesce(TRY_CAST(o AS UINTEGER), pgc_to_regtype(o::VARCHAR))), o::VARCHAR)"),
    ),
    "as_regnamespace": (
        ("(o) AS coalesce((SELECT any_value(pgc_quote_ident(nspname)) FROM pgc.pg_namespace _f"
        " WHERE oid = TRY_CAST(o AS UINTEGER)),"
        " o::VARCHAR)"),
    ),
    "as_regrole": (
        ("(o) AS coalesce((SELECT any_value(pgc_quote_ident(rolname)) FROM pgc.pg_roles _f"
        " WHERE oid = TRY_CAST(o AS UINTEGER)), o::VARCHAR)"),
    ),
}  # fmt: skip


def macro_statements() -> list[str]:
    """The statements that define all macros."""
    return [
        f"CREATE MACRO pgc_{name}{', '.join(definitions)}" for name, definitions in MACROS.items()
    ]
