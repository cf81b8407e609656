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
-- The rows of a relation are of a type that is called as it is.
INSERT INTO pgc.pg_type
    (oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred,
    typisdefined, typdelim, typrelid, typelem, typarray, typinput, typreceive, typalign, typstorage,
    typnotnull, typbasetype, typtypmod, typndims, typcollation)
SELECT reltype, relname, relnamespace, relowner, -1, false, 'c', 'C', false, true, ',', oid, 0, 0,
    'record_in', 'record_recv', 'd', 'x', false, 0, -1, 0, 0
FROM pgc.pg_class
WHERE reltype <> 0;
INSERT INTO pgc.pg_am (oid, amname, amtype, amhandler) VALUES
    (2, 'heap', 't', 'heap_tableam_handler'), (403, 'btree', 'i', 'bthandler'),
    (405, 'hash', 'i', 'hashhandler'), (783, 'gist', 'i', 'gisthandler'),
    (2742, 'gin', 'i', 'ginhandler'), (4000, 'spgist', 'i', 'spghandler'),
    (3580, 'brin', 'i', 'brinhandler');
INSERT INTO pgc.pg_opclass
    (oid, opcmethod, opcname, opcnamespace, opcowner, opcfamily, opcintype, opcdefault, opckeytype)
SELECT oid, 403, opcname, 11, 10, opcfamily, opcintype, true, opckeytype
FROM (VALUES
    (1978, 'int4_ops', 1976, 23, 0), (1979, 'int2_ops', 1976, 21, 0),
    (1981, 'oid_ops', 1989, 26, 0), (3122, 'date_ops', 434, 1082, 0),
    (3123, 'float8_ops', 1970, 701, 0), (3124, 'int8_ops', 1976, 20, 0),
    (3125, 'numeric_ops', 1988, 1700, 0), (3126, 'text_ops', 1994, 25, 0),
    (3127, 'timestamptz_ops', 434, 1184, 0), (3128, 'timestamp_ops', 434, 1114, 0),
    (10000, 'array_ops', 397, 2277, 0), (10002, 'bit_ops', 423, 1560, 0),
    (10003, 'bool_ops', 424, 16, 0), (10004, 'bpchar_ops', 426, 1042, 0),
    (10006, 'bytea_ops', 428, 17, 0), (10007, 'char_ops', 429, 18, 0),
    (10012, 'float4_ops', 1970, 700, 0), (10022, 'interval_ops', 1982, 1186, 0),
    (10028, 'name_ops', 1994, 19, 2275), (10038, 'time_ops', 1996, 1083, 0),
    (10041, 'timetz_ops', 2000, 1266, 0), (10043, 'varbit_ops', 2002, 1562, 0),
    (10065, 'uuid_ops', 2968, 2950, 0), (10069, 'enum_ops', 3522, 3500, 0),
    (10088, 'jsonb_ops', 4033, 3802, 0)
) AS o(oid, opcname, opcfamily, opcintype, opckeytype);
UPDATE pgc.pg_index AS i SET indclass = k.classes
FROM (
    SELECT p.indexrelid, list(coalesce(o.oid, 0)::UBIGINT ORDER BY p.place) AS classes
    FROM (
        SELECT indexrelid, indrelid, unnest(indkey) AS number,
            generate_subscripts(indkey, 1) AS place, indnkeyatts
        FROM pgc.pg_index
    ) AS p
    LEFT JOIN pgc.pg_attribute AS a ON a.attrelid = CASE p.number WHEN 0 THEN p.indexrelid
        ELSE p.indrelid END AND a.attnum = CASE p.number WHEN 0 THEN p.place ELSE p.number END
    LEFT JOIN pgc.pg_type AS t ON t.oid = a.atttypid
    LEFT JOIN pgc.pg_type AS b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
    LEFT JOIN pgc.pg_opclass AS o ON o.opcintype = CASE
        WHEN b.typtype = 'e' THEN 3500 WHEN b.typcategory = 'A' THEN 2277 WHEN b.oid = 1043 THEN 25
        ELSE b.oid END
    WHERE p.place <= p.indnkeyatts
    GROUP BY p.indexrelid
) AS k
WHERE k.indexrelid = i.indexrelid;
INSERT INTO pgc.pg_stat_all_indexes
SELECT i.indrelid, i.indexrelid, n.nspname, t.relname, c.relname, 0, 0, 0
FROM pgc.pg_index AS i
JOIN pgc.pg_class AS c ON c.oid = i.indexrelid
JOIN pgc.pg_class AS t ON t.oid = i.indrelid
JOIN pgc.pg_namespace AS n ON n.oid = t.relnamespace;
INSERT INTO pgc.pg_stat_user_indexes SELECT * FROM pgc.pg_stat_all_indexes;
INSERT INTO pgc.pg_stat_all_tables (relid, schemaname, relname)
SELECT c.oid, n.nspname, c.relname
FROM pgc.pg_class AS c
JOIN pgc.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm');
INSERT INTO pgc.pg_stat_user_tables SELECT * FROM pgc.pg_stat_all_tables;
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
INSERT INTO pgc.pg_language
    (oid, lanname, lanowner, lanispl, lanpltrusted, lanplcallfoid, laninline, lanvalidator)
SELECT oid, name, 10, false, oid = 14, 0, 0, 0
FROM (VALUES (12, 'internal'), (13, 'c'), (14, 'sql')) AS l (oid, name);
INSERT INTO pgc.pg_collation (oid, collname, collnamespace, collowner)
SELECT oid, name, 11, 10 FROM (VALUES (100, 'default'), (950, 'C')) AS c (oid, name)
