-- The relations of information_schema, over those of the catalog as PostgreSQL defines them.
CREATE TABLE pgc.own_columns
    (nspname VARCHAR, relname VARCHAR, attname VARCHAR, attnum SMALLINT, atttypid UINTEGER);
CREATE VIEW pgc.standard_schemata AS
SELECT getvariable('pgc_database') AS catalog_name, n.nspname AS schema_name,
  r.rolname AS schema_owner, NULL::VARCHAR AS default_character_set_catalog,
  NULL::VARCHAR AS default_character_set_schema, NULL::VARCHAR AS default_character_set_name,
  NULL::VARCHAR AS sql_path
FROM pgc.pg_namespace n LEFT JOIN pgc.pg_roles r ON r.oid = n.nspowner
UNION ALL
SELECT getvariable('pgc_database'), 'system', 'palimpsest', NULL, NULL, NULL, NULL;
CREATE VIEW pgc.standard_tables AS
SELECT getvariable('pgc_database') AS table_catalog, nspname AS table_schema, relname AS table_name,
  CASE WHEN relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN relkind = 'v' THEN 'VIEW'
    ELSE 'BASE TABLE' END AS table_type,
  NULL::VARCHAR AS self_referencing_column_name, NULL::VARCHAR AS reference_generation,
  NULL::VARCHAR AS user_defined_type_catalog, NULL::VARCHAR AS user_defined_type_schema,
  NULL::VARCHAR AS user_defined_type_name,
  CASE WHEN relkind = 'v' THEN 'NO' ELSE 'YES' END AS is_insertable_into, 'NO' AS is_typed,
  NULL::VARCHAR AS commit_action
FROM pgc.pg_class JOIN pgc.pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p', 'v')
UNION ALL
SELECT DISTINCT getvariable('pgc_database'), 'system', relname, 'VIEW', NULL, NULL, NULL, NULL,
  NULL, 'NO', 'NO', NULL
FROM pgc.system_columns
UNION ALL
SELECT DISTINCT getvariable('pgc_database'), nspname, relname,
  CASE WHEN nspname = 'information_schema' OR starts_with(relname, 'pg_stat_') OR relname IN (
    'pg_roles', 'pg_settings', 'pg_tables', 'pg_views', 'pg_indexes', 'pg_matviews', 'pg_user',
    'pg_sequences', 'pg_group', 'pg_shadow', 'pg_locks', 'pg_cursors', 'pg_policies', 'pg_rules',
    'pg_stats', 'pg_prepared_statements', 'pg_timezone_names', 'pg_available_extensions',
    'pg_statio_user_tables', 'pg_statio_all_tables') THEN 'VIEW' ELSE 'BASE TABLE' END,
  NULL, NULL, NULL, NULL, NULL, 'NO', 'NO', NULL
FROM pgc.own_columns;
CREATE VIEW pgc.standard_columns AS
WITH shown_columns AS (
  SELECT attrelid, n.nspname, c.relname, c.relkind, attname, attnum, atttypid, atttypmod,
    attnotnull, attidentity, attgenerated, adbin, attcollation
  FROM pgc.pg_attribute
  JOIN pgc.pg_class c ON c.oid = attrelid
  JOIN pgc.pg_namespace n ON n.oid = relnamespace
  LEFT JOIN pgc.pg_attrdef d ON d.adrelid = attrelid AND d.adnum = attnum
  WHERE attnum > 0 AND relkind IN ('r', 'p', 'v')
  UNION ALL
  SELECT 0, 'system', relname, 'v', attname, attnum, atttypid, -1, false, '', '', NULL, 0
  FROM pgc.system_columns
  UNION ALL
  SELECT 0, nspname, relname, 'v', attname, attnum, atttypid, -1, false, '', '', NULL, 0
  FROM pgc.own_columns
), lengths AS (
  SELECT *, CASE WHEN atttypid IN (1042, 1043) AND atttypmod > 4 THEN atttypmod - 4 END AS length,
    atttypid = 1700 AND atttypmod > 4 AS is_exact
  FROM shown_columns
), sequences AS (
  SELECT refobjid, refobjsubid, s.* FROM pgc.pg_depend d
  JOIN pgc.pg_sequence s ON s.seqrelid = d.objid
  WHERE d.deptype = 'i' AND d.classid = 1259
)
SELECT getvariable('pgc_database') AS table_catalog, c.nspname AS table_schema,
  relname AS table_name, attname AS column_name, attnum::INTEGER AS ordinal_position,
  CASE WHEN attgenerated = '' THEN adbin END AS column_default,
  CASE WHEN attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
  CASE WHEN k.typelem <> 0 AND k.typlen = -1 THEN 'ARRAY'
    WHEN k.typtype IN ('c', 'e') THEN 'USER-DEFINED' ELSE shown END AS data_type,
  length AS character_maximum_length,
  CASE WHEN length IS NULL AND atttypid IN (25, 1042, 1043) THEN 1073741824
    ELSE length * 4 END AS character_octet_length,
  CASE WHEN is_exact THEN (atttypmod - 4) >> 16
    ELSE map_extract_value(MAP {21: 16, 23: 32, 20: 64, 700: 24, 701: 53}, atttypid)
    END AS numeric_precision,
  CASE WHEN atttypid IN (20, 21, 23, 700, 701) THEN 2 WHEN atttypid = 1700 THEN 10
    END AS numeric_precision_radix,
  CASE WHEN is_exact THEN (atttypmod - 4) & 65535 WHEN atttypid IN (20, 21, 23) THEN 0
    END AS numeric_scale,
  CASE WHEN atttypid = 1082 THEN 0 WHEN atttypid = 1114 AND atttypmod >= 0 THEN atttypmod
    WHEN atttypid IN (1083, 1114, 1184, 1186, 1266) THEN 6 END AS datetime_precision,
  NULL::VARCHAR AS interval_type, NULL::INTEGER AS interval_precision,
  NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
  NULL::VARCHAR AS character_set_name,
  CASE WHEN o.oid IS NOT NULL THEN getvariable('pgc_database') END AS collation_catalog,
  CASE WHEN o.oid IS NOT NULL THEN 'pg_catalog' END AS collation_schema,
  o.collname AS collation_name,
  NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema, NULL::VARCHAR AS domain_name,
  getvariable('pgc_database') AS udt_catalog, u.nspname AS udt_schema, k.typname AS udt_name,
  NULL::VARCHAR AS scope_catalog, NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
  NULL::INTEGER AS maximum_cardinality, attnum::VARCHAR AS dtd_identifier,
  'NO' AS is_self_referencing, CASE WHEN attidentity = '' THEN 'NO' ELSE 'YES' END AS is_identity,
  CASE attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
  q.seqstart::VARCHAR AS identity_start, q.seqincrement::VARCHAR AS identity_increment,
  q.seqmax::VARCHAR AS identity_maximum, q.seqmin::VARCHAR AS identity_minimum,
  CASE WHEN q.seqcycle THEN 'YES' ELSE 'NO' END AS identity_cycle,
  CASE WHEN attgenerated = '' THEN 'NEVER' ELSE 'ALWAYS' END AS is_generated,
  CASE WHEN attgenerated <> '' THEN adbin END AS generation_expression,
  CASE WHEN relkind = 'v' THEN 'NO' ELSE 'YES' END AS is_updatable
FROM lengths c
LEFT JOIN pgc.shown_types t ON t.oid = atttypid
LEFT JOIN pgc.pg_type k ON k.oid = atttypid
LEFT JOIN pgc.pg_namespace u ON u.oid = k.typnamespace
LEFT JOIN pgc.pg_collation o ON o.oid = attcollation AND o.oid <> 100
LEFT JOIN sequences q ON q.refobjid = attrelid AND q.refobjsubid = attnum AND attidentity <> ''
ORDER BY attrelid, attnum;
CREATE VIEW pgc.standard_constraints AS
SELECT getvariable('pgc_database') AS catalog, n.nspname, c.conname, r.relname, c.*
FROM pgc.pg_constraint c
JOIN pgc.pg_class r ON r.oid = c.conrelid
JOIN pgc.pg_namespace n ON n.oid = r.relnamespace;
CREATE VIEW pgc.standard_not_nulls AS
SELECT getvariable('pgc_database') AS catalog, n.nspname, r.relname, a.attname,
  n.oid::VARCHAR || '_' || r.oid::VARCHAR || '_' || a.attnum::VARCHAR || '_not_null' AS conname
FROM pgc.pg_attribute a
JOIN pgc.pg_class r ON r.oid = a.attrelid
JOIN pgc.pg_namespace n ON n.oid = r.relnamespace
WHERE a.attnotnull AND a.attnum > 0 AND r.relkind IN ('r', 'p');
CREATE VIEW pgc.standard_table_constraints AS
SELECT catalog AS constraint_catalog, nspname AS constraint_schema, conname AS constraint_name,
  catalog AS table_catalog, nspname AS table_schema, relname AS table_name,
  CASE contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY'
    WHEN 'u' THEN 'UNIQUE' END AS constraint_type,
  CASE WHEN condeferrable THEN 'YES' ELSE 'NO' END AS is_deferrable,
  CASE WHEN condeferred THEN 'YES' ELSE 'NO' END AS initially_deferred, 'YES' AS enforced,
  CASE WHEN contype = 'u' THEN 'YES' END AS nulls_distinct
FROM pgc.standard_constraints
UNION ALL
SELECT catalog, nspname, conname, catalog, nspname, relname, 'CHECK', 'NO', 'NO', 'YES', NULL
FROM pgc.standard_not_nulls;
CREATE VIEW pgc.standard_key_column_usage AS
SELECT catalog AS constraint_catalog, nspname AS constraint_schema, conname AS constraint_name,
  catalog AS table_catalog, nspname AS table_schema, relname AS table_name,
  a.attname AS column_name, place AS ordinal_position,
  CASE WHEN contype = 'f' THEN list_position(
    (SELECT any_value(i.indkey) FROM pgc.pg_index i WHERE i.indexrelid = conindid), confkey[place]
  ) END AS position_in_unique_constraint
FROM (
  SELECT *, unnest(generate_series(1, len(conkey)))::INTEGER AS place
  FROM pgc.standard_constraints WHERE contype IN ('p', 'u', 'f')
) c
JOIN pgc.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = conkey[place];
CREATE VIEW pgc.standard_referential_constraints AS
SELECT c.catalog AS constraint_catalog, c.nspname AS constraint_schema,
  c.conname AS constraint_name, k.catalog AS unique_constraint_catalog,
  k.nspname AS unique_constraint_schema, k.conname AS unique_constraint_name,
  CASE c.confmatchtype WHEN 'f' THEN 'FULL' ELSE 'NONE' END AS match_option,
  map_extract_value(MAP {'a': 'NO ACTION', 'r': 'RESTRICT', 'c': 'CASCADE', 'n': 'SET NULL',
    'd': 'SET DEFAULT'}, c.confupdtype) AS update_rule,
  map_extract_value(MAP {'a': 'NO ACTION', 'r': 'RESTRICT', 'c': 'CASCADE', 'n': 'SET NULL',
    'd': 'SET DEFAULT'}, c.confdeltype) AS delete_rule
FROM pgc.standard_constraints c
LEFT JOIN pgc.standard_constraints k ON k.conindid = c.conindid AND k.contype IN ('p', 'u')
WHERE c.contype = 'f';
CREATE VIEW pgc.standard_constraint_column_usage AS
SELECT catalog AS table_catalog, n.nspname AS table_schema, r.relname AS table_name,
  a.attname AS column_name, catalog AS constraint_catalog, c.nspname AS constraint_schema,
  conname AS constraint_name
FROM (
  SELECT catalog, nspname, conname,
    CASE WHEN contype = 'f' THEN confrelid ELSE conrelid END AS holder,
    unnest(CASE WHEN contype = 'f' THEN confkey ELSE conkey END) AS place
  FROM pgc.standard_constraints
) c
JOIN pgc.pg_class r ON r.oid = holder
JOIN pgc.pg_namespace n ON n.oid = r.relnamespace
JOIN pgc.pg_attribute a ON a.attrelid = holder AND a.attnum = place;
CREATE VIEW pgc.standard_check_constraints AS
SELECT catalog AS constraint_catalog, nspname AS constraint_schema, conname AS constraint_name,
  substr(d.definition, 7) AS check_clause
FROM pgc.standard_constraints c
JOIN pgc.constraint_definitions d USING (oid)
WHERE contype = 'c'
UNION ALL
SELECT catalog, nspname, conname, attname || ' IS NOT NULL' FROM pgc.standard_not_nulls;
CREATE VIEW pgc.standard_views AS
SELECT getvariable('pgc_database') AS table_catalog, schemaname AS table_schema,
  viewname AS table_name, definition AS view_definition, 'NONE' AS check_option,
  'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable,
  'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into
FROM pgc.pg_views;
CREATE VIEW pgc.standard_routines AS
SELECT
  getvariable('pgc_database') AS specific_catalog, n.nspname AS specific_schema,
  p.proname || '_' || p.oid AS specific_name, getvariable('pgc_database') AS routine_catalog,
  n.nspname AS routine_schema, p.proname AS routine_name, 'FUNCTION' AS routine_type,
  NULL::VARCHAR AS module_catalog, NULL::VARCHAR AS module_schema, NULL::VARCHAR AS module_name,
  NULL::VARCHAR AS udt_catalog, NULL::VARCHAR AS udt_schema, NULL::VARCHAR AS udt_name,
  t.shown AS data_type, NULL::INTEGER AS character_maximum_length,
  NULL::INTEGER AS character_octet_length, NULL::VARCHAR AS character_set_catalog,
  NULL::VARCHAR AS character_set_schema, NULL::VARCHAR AS character_set_name,
  NULL::VARCHAR AS collation_catalog, NULL::VARCHAR AS collation_schema,
  NULL::VARCHAR AS collation_name, NULL::INTEGER AS numeric_precision,
  NULL::INTEGER AS numeric_precision_radix, NULL::INTEGER AS numeric_scale,
  NULL::INTEGER AS datetime_precision, NULL::VARCHAR AS interval_type,
  NULL::INTEGER AS interval_precision, getvariable('pgc_database') AS type_udt_catalog,
  'pg_catalog' AS type_udt_schema, k.typname AS type_udt_name, NULL::VARCHAR AS scope_catalog,
  NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
  NULL::INTEGER AS maximum_cardinality, '0' AS dtd_identifier, 'EXTERNAL' AS routine_body,
  NULL::VARCHAR AS routine_definition, NULL::VARCHAR AS external_name,
  CASE p.prolang WHEN 13553 THEN 'PLPGSQL' ELSE 'SQL' END AS external_language, 'GENERAL' AS parameter_style, 'NO' AS is_deterministic,
  'MODIFIES' AS sql_data_access, NULL::VARCHAR AS is_null_call, NULL::VARCHAR AS sql_path,
  'YES' AS schema_level_routine, 0 AS max_dynamic_result_sets,
  NULL::VARCHAR AS is_user_defined_cast, NULL::VARCHAR AS is_implicitly_invocable,
  'INVOKER' AS security_type
FROM pgc.pg_proc p
JOIN pgc.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pgc.pg_type k ON k.oid = p.prorettype
LEFT JOIN pgc.shown_types t ON t.oid = p.prorettype;
CREATE VIEW pgc.standard_triggers AS
SELECT
  getvariable('pgc_database') AS trigger_catalog, n.nspname AS trigger_schema,
  t.tgname AS trigger_name, e.event AS event_manipulation,
  getvariable('pgc_database') AS event_object_catalog, n.nspname AS event_object_schema,
  c.relname AS event_object_table,
  row_number() OVER (PARTITION BY c.oid, e.event ORDER BY t.tgname)::INTEGER AS action_order,
  t.tgqual AS action_condition,
  'EXECUTE FUNCTION ' || CASE WHEN list_contains(getvariable('pgc_path'), x.proschema) THEN ''
    ELSE x.proschema || '.' END || x.proname AS action_statement,
  'ROW' AS action_orientation, 'BEFORE' AS action_timing,
  NULL::VARCHAR AS action_reference_old_table, NULL::VARCHAR AS action_reference_new_table,
  NULL::VARCHAR AS action_reference_old_row, NULL::VARCHAR AS action_reference_new_row,
  NULL::TIMESTAMPTZ AS created
FROM pgc.pg_trigger t
JOIN pgc.pg_class c ON c.oid = t.tgrelid
JOIN pgc.pg_namespace n ON n.oid = c.relnamespace
JOIN pgc.trigger_texts x ON x.oid = t.oid
JOIN (VALUES (4, 'INSERT'), (16, 'UPDATE')) e (bit, event) ON (t.tgtype & e.bit) <> 0;
-- There are no composite types, whose attributes these would be.
CREATE VIEW pgc.standard_attributes AS
SELECT
  NULL::VARCHAR AS udt_catalog, NULL::VARCHAR AS udt_schema, NULL::VARCHAR AS udt_name,
  NULL::VARCHAR AS attribute_name, NULL::INTEGER AS ordinal_position,
  NULL::VARCHAR AS attribute_default, NULL::VARCHAR AS is_nullable, NULL::VARCHAR AS data_type,
  NULL::INTEGER AS character_maximum_length, NULL::INTEGER AS character_octet_length,
  NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
  NULL::VARCHAR AS character_set_name, NULL::VARCHAR AS collation_catalog,
  NULL::VARCHAR AS collation_schema, NULL::VARCHAR AS collation_name,
  NULL::INTEGER AS numeric_precision, NULL::INTEGER AS numeric_precision_radix,
  NULL::INTEGER AS numeric_scale, NULL::INTEGER AS datetime_precision,
  NULL::VARCHAR AS interval_type, NULL::INTEGER AS interval_precision,
  NULL::VARCHAR AS attribute_udt_catalog, NULL::VARCHAR AS attribute_udt_schema,
  NULL::VARCHAR AS attribute_udt_name, NULL::VARCHAR AS scope_catalog,
  NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name,
  NULL::INTEGER AS maximum_cardinality, NULL::VARCHAR AS dtd_identifier,
  NULL::VARCHAR AS is_derived_reference_attribute
WHERE false;
CREATE VIEW pgc.standard_sequences AS
SELECT getvariable('pgc_database') AS sequence_catalog, schemaname AS sequence_schema,
  sequencename AS sequence_name, data_type,
  map_extract_value(MAP {'smallint': 16, 'integer': 32, 'bigint': 64}, data_type)
    AS numeric_precision,
  2 AS numeric_precision_radix, 0 AS numeric_scale, start_value::VARCHAR AS start_value,
  min_value::VARCHAR AS minimum_value, max_value::VARCHAR AS maximum_value,
  increment_by::VARCHAR AS increment, CASE WHEN cycle THEN 'YES' ELSE 'NO' END AS cycle_option
FROM pgc.pg_sequences
WHERE NOT EXISTS (
  SELECT 1 FROM pgc.pg_depend d
  JOIN pgc.pg_class c ON c.oid = d.objid
  JOIN pgc.pg_namespace n ON n.oid = c.relnamespace
  WHERE d.deptype = 'i' AND d.classid = 1259 AND c.relkind = 'S'
    AND c.relname = sequencename AND n.nspname = schemaname
);
INSERT INTO pgc.own_columns
SELECT CASE WHEN starts_with(table_name, 'pg_') THEN 'pg_catalog' ELSE 'information_schema' END,
  replace(table_name, 'standard_', ''), column_name, column_index,
  CASE data_type WHEN 'BOOLEAN' THEN 16 WHEN 'BIGINT' THEN 20 WHEN 'SMALLINT' THEN 21
    WHEN 'INTEGER' THEN 23 WHEN 'UINTEGER' THEN 26 WHEN 'FLOAT' THEN 700 ELSE 25 END
FROM duckdb_columns()
WHERE schema_name = 'pgc' AND (starts_with(table_name, 'pg_') OR starts_with(table_name, 'standard_'))
  AND table_name NOT IN ('standard_constraints', 'standard_not_nulls')
