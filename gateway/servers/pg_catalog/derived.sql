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
INSERT INTO pgc.pg_policies
    (schemaname, tablename, policyname, permissive, roles, cmd, qual, with_check)
SELECT n.nspname, c.relname, p.polname,
    CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
    CASE WHEN p.polroles = [0] THEN ['public'] ELSE (
        SELECT list(r.rolname ORDER BY r.rolname) FROM pgc.pg_roles AS r
        WHERE list_contains(p.polroles, r.oid)) END,
    CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
        WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
    p.polqual, p.polwithcheck
FROM pgc.pg_policy AS p
JOIN pgc.pg_class AS c ON c.oid = p.polrelid
JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace;
INSERT INTO pgc.pg_depend
SELECT 1259, oid, 0, 2615, relnamespace, 0, 'n' FROM pgc.pg_class WHERE relkind <> 'i'
UNION ALL
SELECT 2604, oid, 0, 1259, adrelid, adnum, 'a' FROM pgc.pg_attrdef
UNION ALL
SELECT 2606, oid, 0, 1259, conrelid, unnest(conkey), 'a' FROM pgc.pg_constraint
UNION ALL
SELECT 2606, oid, 0, 1259, confrelid, unnest(confkey), 'n' FROM pgc.pg_constraint
WHERE contype = 'f'
UNION ALL
SELECT 2606, oid, 0, 1259, conindid, 0, 'n' FROM pgc.pg_constraint
WHERE contype = 'f' AND conindid <> 0
UNION ALL
SELECT 1259, conindid, 0, 2606, oid, 0, 'i' FROM pgc.pg_constraint WHERE contype IN ('p', 'u')
UNION ALL
SELECT 1259, indexrelid, 0, 1259, indrelid, place, 'a'
FROM (SELECT indexrelid, indrelid, unnest(indkey) AS place FROM pgc.pg_index) AS k
WHERE indexrelid NOT IN (SELECT conindid FROM pgc.pg_constraint WHERE contype IN ('p', 'u'));
CREATE VIEW pgc.keywords AS
SELECT keyword_name AS word, map_extract_value(
    MAP {'unreserved': 'U', 'column_name': 'C', 'type_function': 'T', 'reserved': 'R'},
    keyword_category
  ) AS catcode, true AS barelabel,
  replace(keyword_category, '_', ' ') AS catdesc, 'can be bare label' AS baredesc
FROM duckdb_keywords()
