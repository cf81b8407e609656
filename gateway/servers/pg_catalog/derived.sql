-- Relations that are views in PostgreSQL, filled from those of the catalog as it defines them.
INSERT INTO pgc.pg_tables
    (schemaname, tablename, tableowner, hasindexes, hasrules, hastriggers, rowsecurity)
SELECT n.nspname, c.relname, r.rolname, c.relhasindex, c.relhasrules, c.relhastriggers,
    c.relrowsecurity
FROM pgc.pg_class AS c
JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pgc.pg_roles AS r ON r.oid = c.relowner
WHERE c.relkind IN ('r', 'p');
INSERT INTO pgc.pg_views (schemaname, viewname, viewowner, definition)
SELECT n.nspname, c.relname, r.rolname, d.definition
FROM pgc.pg_class AS c
JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pgc.pg_roles AS r ON r.oid = c.relowner
LEFT JOIN pgc.view_definitions AS d ON d.oid = c.oid
WHERE c.relkind = 'v';
INSERT INTO pgc.pg_indexes (schemaname, tablename, indexname, indexdef)
SELECT n.nspname, t.relname, c.relname, d.definition
FROM pgc.pg_index AS i
JOIN pgc.pg_class AS c ON c.oid = i.indexrelid
JOIN pgc.pg_class AS t ON t.oid = i.indrelid
JOIN pgc.pg_namespace AS n ON n.oid = t.relnamespace
LEFT JOIN pgc.index_definitions AS d ON d.oid = c.oid AND d.place = 0;
INSERT INTO pgc.pg_sequences
    (schemaname, sequencename, sequenceowner, data_type, start_value, min_value, max_value,
    increment_by, cycle, cache_size)
SELECT n.nspname, c.relname, r.rolname, k.shown, s.seqstart, s.seqmin, s.seqmax, s.seqincrement,
    s.seqcycle, s.seqcache
FROM pgc.pg_sequence AS s
JOIN pgc.pg_class AS c ON c.oid = s.seqrelid
JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pgc.pg_roles AS r ON r.oid = c.relowner
LEFT JOIN pgc.shown_types AS k ON k.oid = s.seqtypid;
CREATE VIEW pgc.standard_schemata AS
SELECT getvariable('pgc_database') AS catalog_name, nspname AS schema_name FROM pgc.pg_namespace;
CREATE VIEW pgc.standard_tables AS
SELECT getvariable('pgc_database') AS table_catalog, nspname AS table_schema, relname AS table_name,
  CASE WHEN relkind = 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type
FROM pgc.pg_class JOIN pgc.pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p', 'v');
CREATE VIEW pgc.standard_columns AS
SELECT getvariable('pgc_database') AS table_catalog, nspname AS table_schema, relname AS table_name,
  attname AS column_name, attnum AS ordinal_position, shown AS data_type,
  CASE WHEN attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable
FROM pgc.pg_attribute JOIN pgc.pg_class c ON c.oid = attrelid
JOIN pgc.pg_namespace n ON n.oid = relnamespace LEFT JOIN pgc.shown_types t ON t.oid = atttypid
WHERE attnum > 0 AND relkind IN ('r', 'p', 'v') ORDER BY attrelid, attnum
