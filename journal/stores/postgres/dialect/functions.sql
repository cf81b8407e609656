-- Functions that the adapter's SQL calls, in schema _palimpsest. Each can be made again over itself,
-- so opening a catalog brings it up to date. Statements are parted by empty lines.
-- The schema is last in the search path of each connection, so that PostgreSQL's own functions are
-- taken wherever it has one.

CREATE OR REPLACE FUNCTION _palimpsest.fail(what text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION '%', what USING ERRCODE = 'P0001';
END $$

CREATE OR REPLACE FUNCTION _palimpsest.try_cast(value text, sample anyelement)
RETURNS anyelement LANGUAGE plpgsql STABLE AS $$
BEGIN
    EXECUTE format('SELECT %L::%s', value, pg_typeof(sample)) INTO sample;
    RETURN sample;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$

-- Safe in parallel plans, or no current view of a compacted table would have one.
CREATE OR REPLACE FUNCTION _palimpsest.replaced() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION
        'could not serialize access: the journal was compacted since this transaction began'
        USING ERRCODE = '40001', HINT = 'run it again';
END $$

CREATE OR REPLACE FUNCTION _palimpsest.read_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% can only be read here', TG_RELID::regclass
        USING ERRCODE = '0A000', HINT = 'change it through the gateway, which keeps its history';
END $$

-- For rules, where views have no triggers.
CREATE OR REPLACE FUNCTION _palimpsest.refuse_write(place regclass)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION '% can only be read here', place
        USING ERRCODE = '0A000', HINT = 'change it through the gateway, which keeps its history';
END $$

CREATE OR REPLACE FUNCTION _palimpsest.keep_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is a part of a journal, which gateways only add rows to', TG_RELID::regclass
        USING ERRCODE = '0A000',
        HINT = 'change the table through the gateway, which keeps its history';
END $$

-- Statements at a partition itself have no triggers of the whole.
CREATE OR REPLACE FUNCTION _palimpsest.guard(place regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT place UNION SELECT relid FROM pg_partition_tree(place) LOOP
        EXECUTE format(
            'CREATE TRIGGER palimpsest_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON %s'
            ' FOR EACH STATEMENT EXECUTE FUNCTION _palimpsest.keep_out()', part);
        EXECUTE format(
            'CREATE TRIGGER palimpsest_guard_appends BEFORE INSERT ON %s FOR EACH STATEMENT WHEN'
            ' (current_setting(''palimpsest.gateway'', true) IS DISTINCT FROM ''on'')'
            ' EXECUTE FUNCTION _palimpsest.keep_out()', part);
    END LOOP;
END $$

-- Places in JSON are paths ($.a[0]) or keys; which, only the value of a parameter tells.
CREATE OR REPLACE FUNCTION _palimpsest.json_at(value json, place text)
RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN place LIKE '$%'
                THEN jsonb_path_query_first(value::jsonb, place::jsonpath)::json
                ELSE value -> place END
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_text_at(value json, place text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT _palimpsest.json_at(value, place) #>> '{}' $$

CREATE OR REPLACE FUNCTION _palimpsest.json_type(json)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE json_typeof($1) WHEN 'object' THEN 'OBJECT' WHEN 'array' THEN 'ARRAY'
           WHEN 'string' THEN 'VARCHAR' WHEN 'boolean' THEN 'BOOLEAN' WHEN 'null' THEN 'NULL'
           WHEN 'number' THEN CASE WHEN $1::text ~ '[.eE]' THEN 'DOUBLE'
                                   WHEN $1::text LIKE '-%' THEN 'BIGINT' ELSE 'UBIGINT' END END
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_type(json, text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT _palimpsest.json_type(CASE WHEN $2 LIKE '/%'
        THEN $1 #> string_to_array(substr($2, 2), '/') ELSE _palimpsest.json_at($1, $2) END)
$$

-- PostgreSQL has ANY_VALUE since version 16.
CREATE OR REPLACE FUNCTION _palimpsest.earlier(kept anyelement, other anyelement)
RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1'

CREATE OR REPLACE AGGREGATE _palimpsest.any_value(anyelement) (
    SFUNC = _palimpsest.earlier, STYPE = anyelement, PARALLEL = SAFE,
    COMBINEFUNC = _palimpsest.earlier)

CREATE OR REPLACE FUNCTION _palimpsest.length(anyarray)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(array_length($1, 1), 0)
$$

CREATE OR REPLACE FUNCTION _palimpsest.date_trunc(text, date)
RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT date_trunc($1, $2::timestamp)
$$

CREATE OR REPLACE FUNCTION _palimpsest.epoch_ms(bigint)
RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT timestamp '1970-01-01' + $1 * interval '1 millisecond'
$$

-- Buckets of days and less begin at the first Monday of 2000, those of months and more at its
-- first month.
CREATE OR REPLACE FUNCTION _palimpsest.time_bucket(interval, timestamp)
RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN months > 0
                THEN timestamp '2000-01-01'
                     + (floor(month / months) * months)::integer * interval '1 month'
                ELSE timestamp '2000-01-03'
                     + (floor(since / width) * width)::bigint * interval '1 microsecond' END
    FROM (SELECT (EXTRACT(YEAR FROM $1) * 12 + EXTRACT(MONTH FROM $1))::bigint AS months,
                 ((EXTRACT(YEAR FROM $2) - 2000) * 12 + EXTRACT(MONTH FROM $2) - 1)::numeric AS month,
                 EXTRACT(EPOCH FROM $2 - timestamp '2000-01-03')::numeric * 1000000 AS since,
                 EXTRACT(EPOCH FROM $1)::numeric * 1000000 AS width) AS parts
$$

CREATE OR REPLACE FUNCTION _palimpsest.time_bucket(interval, date)
RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT _palimpsest.time_bucket($1, $2::timestamp)::date
$$
