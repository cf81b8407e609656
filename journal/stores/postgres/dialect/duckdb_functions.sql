-- Functions of DuckDB that PostgreSQL lacks, or has with another meaning and so under another name
-- here. As those of functions.sql they can be made again over themselves, and are parted by empty
-- lines.

-- A DOUBLE divided by zero is infinite, and zero by zero no number.
CREATE OR REPLACE FUNCTION _palimpsest.quotient(double precision, double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $2 <> 0 THEN $1 / $2
                WHEN $1 = 0 OR $1 = 'NaN' THEN 'NaN'::double precision
                WHEN $1 > 0 THEN 'Infinity'::double precision
                ELSE '-Infinity'::double precision END
$$

-- What // gives: of whole numbers a whole one, of others what / gives.
CREATE OR REPLACE FUNCTION _palimpsest.whole_quotient(smallint, smallint)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT $1::integer / $2'

CREATE OR REPLACE FUNCTION _palimpsest.whole_quotient(integer, integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT $1 / $2'

CREATE OR REPLACE FUNCTION _palimpsest.whole_quotient(bigint, bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT $1 / $2'

CREATE OR REPLACE FUNCTION _palimpsest.whole_quotient(double precision, double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT _palimpsest.quotient($1, $2)'

CREATE OR REPLACE FUNCTION _palimpsest.whole_quotient(numeric, numeric)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT _palimpsest.quotient($1::double precision, $2::double precision)'

CREATE OR REPLACE FUNCTION _palimpsest.cut_quotient(numeric, numeric)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT div($1, $2)'

CREATE OR REPLACE FUNCTION _palimpsest.float_remainder(double precision, double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $2 = 0 OR abs($1) = 'Infinity' OR $1 = 'NaN' OR $2 = 'NaN'
                THEN 'NaN'::double precision
                WHEN abs($2) = 'Infinity' THEN $1
                ELSE mod($1::numeric, $2::numeric)::double precision END
$$

-- One byte, which PostgreSQL has no type for.
CREATE OR REPLACE FUNCTION _palimpsest.one_byte(integer)
RETURNS smallint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    IF $1 BETWEEN -128 AND 127 THEN
        RETURN $1;
    END IF;
    RAISE EXCEPTION 'value "%" is out of range for type tinyint', $1 USING ERRCODE = '22003';
END $$

-- A number that is a HUGEINT, which the server keeps as a NUMERIC.
CREATE OR REPLACE FUNCTION _palimpsest.no_hugeint(numeric)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    RAISE EXCEPTION 'value "%" is out of range for type hugeint', $1 USING ERRCODE = '22003';
END $$

CREATE OR REPLACE FUNCTION _palimpsest.hugeint(numeric)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 BETWEEN -170141183460469231731687303715884105728
                            AND 170141183460469231731687303715884105727
                THEN $1 ELSE _palimpsest.no_hugeint($1) END
$$

-- A DOUBLE of 2^53 or more with all of its digits; beyond all types if it is none. It is seldom
-- called where it stands: by its usual COST the server would compile each statement of many rows.
CREATE OR REPLACE FUNCTION _palimpsest.large_number(double precision)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT COST 1 AS $$
    SELECT CASE WHEN abs($1) < 'Infinity' THEN pg_catalog.round(
                    ($1 / 2::double precision ^ floor(ln(abs($1)) / ln(2::double precision) - 54)
                    )::bigint * 2::numeric ^ floor(
                        ln(abs($1)) / ln(2::double precision) - 54)::numeric, 0)
                ELSE '1e999'::numeric END
$$

-- A DOUBLE without a fraction, with all of its digits. Neither this function nor the next two are
-- STRICT: the server puts what they say in the place of a call, which takes a tenth of its time.
CREATE OR REPLACE FUNCTION _palimpsest.whole_number(double precision)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE CALLED ON NULL INPUT AS $$
    SELECT CASE WHEN abs($1) < 9007199254740992 THEN $1::bigint::numeric
                ELSE _palimpsest.large_number($1) END
$$

-- A DOUBLE as a DECIMAL with a number of digits behind the point.
CREATE OR REPLACE FUNCTION _palimpsest.scaled(double precision, integer)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE CALLED ON NULL INPUT AS $$
    SELECT CASE WHEN abs($1 * 10::double precision ^ $2) < 9007199254740992
                THEN (trunc($1 * 10::double precision ^ $2) + CASE
                          WHEN abs($1 * 10::double precision ^ $2
                                   - trunc($1 * 10::double precision ^ $2)) >= 0.5
                          THEN sign($1) ELSE 0 END)::bigint::numeric
                ELSE _palimpsest.large_number($1 * 10::double precision ^ $2)
           END * ('1e-' || $2::text)::numeric
$$

CREATE OR REPLACE FUNCTION _palimpsest.nearest(double precision)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE CALLED ON NULL INPUT AS
'SELECT _palimpsest.whole_number(pg_catalog.round($1))'

CREATE OR REPLACE FUNCTION _palimpsest.before_point(double precision)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN abs($1) < 'Infinity' THEN _palimpsest.whole_number(trunc($1))
                ELSE ($1::text || ' has no digits')::numeric END
$$

-- The text of a value, as DuckDB writes it.
CREATE OR REPLACE FUNCTION _palimpsest.shown(double precision)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1::text ~ '^-?\d+$' THEN $1::text || '.0'
                WHEN $1 = 'NaN' THEN 'nan' WHEN $1 = 'Infinity' THEN 'inf'
                WHEN $1 = '-Infinity' THEN '-inf'
                WHEN $1::text ~ '^-?\d(\.\d+)?e\+15$'
                THEN $1::text::numeric::text || '.0'
                ELSE $1::text END
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(real)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1::text ~ '^-?\d+$' THEN $1::text || '.0'
                WHEN $1 = 'NaN' THEN 'nan' WHEN $1 = 'Infinity' THEN 'inf'
                WHEN $1 = '-Infinity' THEN '-inf'
                WHEN $1::text ~ 'e\+(0\d|1[0-5])$'
                THEN regexp_replace($1::text::numeric::text, '^(-?\d+)$', '\1.0')
                ELSE $1::text END
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(interval)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE STRICT AS $$
    SELECT regexp_replace(
        regexp_replace(replace($1::text, '+', ''), '\mmon(s?)\M', 'month\1'),
        '(^| )-1 (year|month|day)s\M', '\1-1 \2', 'g')
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(bytea)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(string_agg(
               CASE WHEN byte BETWEEN 32 AND 126 AND byte NOT IN (34, 39, 92) THEN chr(byte)
                    ELSE '\x' || upper(lpad(to_hex(byte), 2, '0')) END, '' ORDER BY n), '')
    FROM (SELECT n, get_byte($1, n) AS byte FROM generate_series(0, length($1) - 1) AS n) AS bytes
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(anynonarray)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE STRICT AS 'SELECT $1::text'

-- Texts within lists are quoted where they hold what could be taken for a part of the list.
CREATE OR REPLACE FUNCTION _palimpsest.shown_in_list(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 IS NULL THEN 'NULL'
                WHEN $1 = '' OR $1 ~ '^\s|\s$|[][{}(),''"\\:=]' OR upper($1) = 'NULL'
                THEN '''' || regexp_replace($1, '([''\\])', '\\\1', 'g') || ''''
                ELSE $1 END
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(text[])
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN array_ndims($1) = 2 THEN (
        SELECT '[' || string_agg(
            _palimpsest.shown(ARRAY(SELECT unnest($1[n:n]))), ', ' ORDER BY n) || ']'
        FROM generate_series(1, array_length($1, 1)) AS n)
    ELSE (SELECT '[' || coalesce(string_agg(_palimpsest.shown_in_list(v), ', ' ORDER BY n), '')
                 || ']'
          FROM unnest($1) WITH ORDINALITY AS u(v, n)) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.shown(anyarray)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN array_ndims($1) = 2 THEN (
        SELECT '[' || string_agg(
            _palimpsest.shown(ARRAY(SELECT unnest($1[n:n]))), ', ' ORDER BY n) || ']'
        FROM generate_series(1, array_length($1, 1)) AS n)
    WHEN array_ndims($1) > 2 THEN _palimpsest.fail('a list of lists of lists as a text')::text
    ELSE (SELECT '[' || coalesce(string_agg(
                _palimpsest.shown_in_list(_palimpsest.shown(v)), ', ' ORDER BY n), '') || ']'
          FROM unnest($1) WITH ORDINALITY AS u(v, n)) END
$$

-- Parts of texts by the places of their characters, from the end where these are below zero.
CREATE OR REPLACE FUNCTION _palimpsest.text_part(text, bigint, bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN first > last THEN '' ELSE substr($1, first, last - first + 1) END
    FROM (SELECT greatest(coalesce(CASE WHEN $2 < 0 THEN length($1) + 1 + $2 ELSE $2 END, 1), 1)
                     ::integer AS first,
                 least(coalesce(CASE WHEN $3 < 0 THEN length($1) + 1 + $3 ELSE $3 END,
                                length($1)), length($1))::integer AS last) AS places
    WHERE $1 IS NOT NULL
$$

CREATE OR REPLACE FUNCTION _palimpsest.text_at(text, bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $2 < 0 AND length($1) + $2 < 0 THEN ''
                WHEN $2 < 0 THEN substr($1, (length($1) + 1 + $2)::integer, 1)
                WHEN $2 = 0 OR $2 > length($1) THEN '' ELSE substr($1, $2::integer, 1) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_slice(anyarray, bigint, bigint)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT $1[CASE WHEN $2 < 0 THEN coalesce(array_length($1, 1), 0) + 1 + $2 ELSE $2 END
              : CASE WHEN $3 < 0 THEN coalesce(array_length($1, 1), 0) + 1 + $3 ELSE $3 END]
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_slice(text, bigint, bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT _palimpsest.text_part($1, $2, $3)'

-- One of the lists in a list, which is one array of all of them.
CREATE OR REPLACE FUNCTION _palimpsest.inner_list(anyarray, bigint)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN place BETWEEN 1 AND array_length($1, 1)
                THEN ARRAY(SELECT unnest($1[place:place])) END
    FROM (SELECT CASE WHEN $2 < 0 THEN array_length($1, 1) + 1 + $2 ELSE $2 END AS place) AS places
$$

CREATE OR REPLACE FUNCTION _palimpsest.inner_lists(anyarray)
RETURNS SETOF anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT ARRAY(SELECT unnest($1[n:n])) FROM generate_series(1, array_length($1, 1)) AS n
    ORDER BY n
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_intersect(anyarray, anyarray)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT ARRAY(SELECT v FROM unnest($1) WITH ORDINALITY AS u(v, n)
                 WHERE v = ANY ($2) GROUP BY v ORDER BY min(n))
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_median(anyarray)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v::text::double precision)
    FROM unnest($1) AS u(v)
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_mode(anyarray)
RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT v FROM unnest($1) WITH ORDINALITY AS u(v, n) WHERE v IS NOT NULL
    GROUP BY v ORDER BY count(*) DESC, min(n) LIMIT 1
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_product(anyarray)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT _palimpsest.product(v::text::double precision) FROM unnest($1) AS u(v)
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_bool_and(boolean[])
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT bool_and(v) FROM unnest($1) AS u(v)'

CREATE OR REPLACE FUNCTION _palimpsest.list_bool_or(boolean[])
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT bool_or(v) FROM unnest($1) AS u(v)'

CREATE OR REPLACE FUNCTION _palimpsest.list_resize(anyarray, bigint, anyelement)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY(SELECT CASE WHEN n <= coalesce(array_length($1, 1), 0) THEN $1[n] ELSE $3 END
                 FROM generate_series(1, $2::integer) AS n ORDER BY n)
    WHERE $1 IS NOT NULL
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_where(anyarray, boolean[])
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT ARRAY(SELECT v FROM unnest($1) WITH ORDINALITY AS u(v, n) WHERE $2[n] ORDER BY n)
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_select(anyarray, bigint[])
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT ARRAY(SELECT $1[place] FROM unnest($2) WITH ORDINALITY AS u(place, n) ORDER BY n)
$$

-- True for lists whose elements can be taken together; others end in an error.
CREATE OR REPLACE FUNCTION _palimpsest.are_paired(name text, anyarray, anyarray)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    said text := CASE
        WHEN cardinality($2) <> cardinality($3) THEN
            format('list dimensions must be equal, got left length %s and right length %s',
                   quote_literal(cardinality($2)), quote_literal(cardinality($3)))
        WHEN array_position($2, NULL) IS NOT NULL THEN
            'left argument can not contain NULL values'
        WHEN array_position($3, NULL) IS NOT NULL THEN
            'right argument can not contain NULL values' END;
BEGIN
    IF said IS NOT NULL THEN
        RAISE EXCEPTION '%: %', name, said USING ERRCODE = '22000';
    END IF;
    RETURN TRUE;
END $$

CREATE OR REPLACE FUNCTION _palimpsest.list_dot_product(anyarray, anyarray)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(sum(x * y), 0)::double precision FROM unnest($1, $2) AS u(x, y)
    WHERE _palimpsest.are_paired('list_inner_product', $1, $2)
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_distance(anyarray, anyarray)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT sqrt(coalesce(sum((x - y) * (x - y)), 0)::double precision)
    FROM unnest($1, $2) AS u(x, y) WHERE _palimpsest.are_paired('list_distance', $1, $2)
$$

CREATE OR REPLACE FUNCTION _palimpsest.list_cosine_similarity(anyarray, anyarray)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT _palimpsest.quotient(sum(x * y)::double precision,
                                sqrt((sum(x * x) * sum(y * y))::double precision))
    FROM unnest($1, $2) AS u(x, y)
    WHERE _palimpsest.are_paired('list_cosine_similarity', $1, $2)
$$

-- Functions of a DOUBLE that end in NaN or infinity where PostgreSQL's own end in an error.
CREATE OR REPLACE FUNCTION _palimpsest.boundless_log(double precision, text)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 = 0 THEN '-Infinity'::double precision
                WHEN $1 < 0 THEN 'NaN'::double precision
                WHEN $2 = 'ln' THEN ln($1) WHEN $2 = '2' THEN ln($1) / ln(2::double precision)
                ELSE log($1) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.boundless_exp(double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 > 709.782712893384 THEN 'Infinity'::double precision
                WHEN $1 < -745.133219101941 THEN 0 ELSE exp($1) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.boundless_degrees(double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN abs($1) > 3.13755e306 THEN sign($1) * 'Infinity'::double precision
                ELSE degrees($1) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.boundless_power(double precision, double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 = 0 AND $2 < 0 THEN 'Infinity'::double precision
                WHEN $1 = 0 OR abs($1) IN ('Infinity', 'NaN') OR abs($2) IN ('Infinity', 'NaN')
                THEN power($1, $2)
                WHEN $1 < 0 AND $2 <> floor($2) THEN 'NaN'::double precision
                WHEN $2 * ln(abs($1)) < -745.133219101941 THEN 0
                WHEN $2 * ln(abs($1)) < 709.782712893384 THEN power($1, $2)
                WHEN $1 < 0 AND mod($2::numeric, 2) <> 0 THEN '-Infinity'::double precision
                ELSE 'Infinity'::double precision END
$$

CREATE OR REPLACE FUNCTION _palimpsest.signed_binary(bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(nullif(ltrim($1::bit(64)::text, '0'), ''), '0')
$$

CREATE OR REPLACE FUNCTION _palimpsest.hex(bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT upper(to_hex($1))'

CREATE OR REPLACE FUNCTION _palimpsest.hex(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT upper(encode(convert_to($1, 'UTF8'), 'hex'))$$

CREATE OR REPLACE FUNCTION _palimpsest.hex(bytea)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$SELECT upper(encode($1, 'hex'))$$

CREATE OR REPLACE FUNCTION _palimpsest.bin(bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT _palimpsest.signed_binary($1)'

CREATE OR REPLACE FUNCTION _palimpsest.bin(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(string_agg(get_byte(bytes, n)::bit(8)::text, '' ORDER BY n), '')
    FROM (SELECT convert_to($1, 'UTF8') AS bytes) AS encoded,
        generate_series(0, length(bytes) - 1) AS n
$$

CREATE OR REPLACE FUNCTION _palimpsest.bit_count(smallint)
RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT length(replace($1::integer::bit(16)::text, '0', ''))::smallint$$

CREATE OR REPLACE FUNCTION _palimpsest.bit_count(bigint)
RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT length(replace($1::bit(64)::text, '0', ''))::smallint$$

CREATE OR REPLACE FUNCTION _palimpsest.bit_count(integer)
RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT length(replace($1::bit(32)::text, '0', ''))::smallint$$

CREATE OR REPLACE FUNCTION _palimpsest.to_base(bigint, integer)
RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    made text := '';
    rest bigint := $1;
BEGIN
    IF $1 < 0 OR $2 NOT BETWEEN 2 AND 36 THEN
        RAISE EXCEPTION 'to_base takes a number from 0 and a base from 2 to 36'
            USING ERRCODE = '22023';
    END IF;
    LOOP
        made := substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', (rest % $2)::integer + 1, 1) || made;
        rest := rest / $2;
        EXIT WHEN rest = 0;
    END LOOP;
    RETURN made;
END $$

-- Shifts of the bits of a number: from the left none may get lost, nor reach the sign.
CREATE OR REPLACE FUNCTION _palimpsest.left_shift(bigint, bigint)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    IF $1 < 0 OR $2 NOT BETWEEN 0 AND 63 OR $1 > (9223372036854775807 >> $2::integer) THEN
        RAISE EXCEPTION 'overflow in left shift (% << %)', $1, $2 USING ERRCODE = '22003';
    END IF;
    RETURN $1 << $2::integer;
END $$

CREATE OR REPLACE FUNCTION _palimpsest.left_shift(integer, integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT _palimpsest.left_shift($1::bigint, $2::bigint)::integer'

CREATE OR REPLACE FUNCTION _palimpsest.right_shift(bigint, bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT CASE WHEN $2 BETWEEN 0 AND 63 THEN $1 >> $2::integer ELSE 0 END'

CREATE OR REPLACE FUNCTION _palimpsest.right_shift(integer, integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
'SELECT CASE WHEN $2 BETWEEN 0 AND 31 THEN $1 >> $2 ELSE 0 END'

-- A number with so many digits behind the point, as C writes it; its fraction has no error.
CREATE OR REPLACE FUNCTION _palimpsest.fixed(double precision, integer)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 = 'NaN' THEN 'nan' WHEN abs($1) = 'Infinity' THEN
                    CASE WHEN $1 > 0 THEN 'inf' ELSE '-inf' END
                WHEN $2 = 0 THEN sign || _palimpsest.nearest(abs($1))::text
                ELSE sign || pg_catalog.round(_palimpsest.whole_number(trunc(abs($1)))
                     + to_char(abs($1) - trunc(abs($1)),
                               'FM0.' || repeat('0', least($2, 14)))::numeric, $2)::text END
    FROM (SELECT CASE WHEN $1 < 0 OR $1::text = '-0' THEN '-' ELSE '' END AS sign) AS signed
$$

-- The whole part of a number with a comma behind each three digits.
CREATE OR REPLACE FUNCTION _palimpsest.grouped(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT regexp_replace(split_part($1, '.', 1), '(\d)(?=(?:\d{3})+$)', '\1,', 'g')
           || substr($1, length(split_part($1, '.', 1)) + 1)
$$

CREATE OR REPLACE FUNCTION _palimpsest.aligned(text, integer, filling text, align text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN more <= 0 THEN $1 WHEN align = '<' THEN $1 || repeat(filling, more)
                WHEN align = '^' THEN repeat(filling, more / 2) || $1
                                      || repeat(filling, more - more / 2)
                WHEN align = '0' AND $1 ~ '^[-+]'
                THEN left($1, 1) || repeat('0', more) || substr($1, 2)
                ELSE repeat(filling, more) || $1 END
    FROM (SELECT $2 - length($1) AS more) AS missing
$$

CREATE OR REPLACE FUNCTION _palimpsest.isfinite(double precision)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT $1 <> 'NaN' AND abs($1) <> 'Infinity'$$

CREATE OR REPLACE FUNCTION _palimpsest.isfinite(timestamp)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT pg_catalog.isfinite($1)'

CREATE OR REPLACE FUNCTION _palimpsest.regexp_escape(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$SELECT regexp_replace($1, '([^A-Za-z0-9_])', '\\\1', 'g')$$

-- The characters as people see them from the last to the first: marks stay behind their letters.
CREATE OR REPLACE FUNCTION _palimpsest.reverse_graphemes(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN octet_length($1) = length($1) THEN reverse($1) ELSE (
        SELECT coalesce(string_agg(c[1], '' ORDER BY n DESC), '') FROM regexp_matches($1,
            '([\U0001F1E6-\U0001F1FF]{2}|.[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff'
            || '\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U0001F3FB-\U0001F3FF]*'
            || '(?:\u200d.[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U0001F3FB-\U0001F3FF]*)*)', 'g')
            WITH ORDINALITY AS found(c, n)) END
$$

CREATE OR REPLACE FUNCTION _palimpsest.url_encode(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(string_agg(CASE WHEN c ~ '[A-Za-z0-9_.~-]' THEN c ELSE
        regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END,
        '' ORDER BY n), '')
    FROM regexp_split_to_table($1, '') WITH ORDINALITY AS u(c, n)
$$

-- Distances of texts, as DuckDB counts them.
CREATE OR REPLACE FUNCTION _palimpsest.levenshtein(a text, b text)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    before integer[] := ARRAY(SELECT n FROM generate_series(0, length(b)) AS n ORDER BY n);
    line integer[];
BEGIN
    FOR i IN 1 .. length(a) LOOP
        line := ARRAY[i];
        FOR j IN 1 .. length(b) LOOP
            line := line || least(
                line[j] + 1, before[j + 1] + 1,
                before[j] + (substr(a, i, 1) <> substr(b, j, 1))::integer);
        END LOOP;
        before := line;
    END LOOP;
    RETURN before[length(b) + 1];
END $$

CREATE OR REPLACE FUNCTION _palimpsest.hamming(a text, b text)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    IF length(a) <> length(b) OR length(a) = 0 THEN
        RAISE EXCEPTION 'Mismatch Function: Strings must be of equal length!'
            USING ERRCODE = '22023';
    END IF;
    RETURN (SELECT count(*) FROM generate_series(1, length(a)) AS n
            WHERE substr(a, n, 1) <> substr(b, n, 1));
END $$

CREATE OR REPLACE FUNCTION _palimpsest.jaccard(a text, b text)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN a = '' OR b = '' THEN
                    _palimpsest.fail('jaccard: an argument is too short')::text::double precision
                ELSE count(*) FILTER (WHERE both_have)::double precision / count(*) END
    FROM (SELECT bool_or(side = 1) AND bool_or(side = 2) AS both_have
          FROM (SELECT regexp_split_to_table(a, '') AS c, 1 AS side
                UNION ALL SELECT regexp_split_to_table(b, ''), 2) AS letters
          GROUP BY c) AS found
$$

CREATE OR REPLACE FUNCTION _palimpsest.strip_accents(text)
RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    RETURN regexp_replace(normalize($1, NFD), '[\u0300-\u036f]', '', 'g');
END $$

-- The time between two moments; on the last day of a month one is complete from any later day on.
CREATE OR REPLACE FUNCTION _palimpsest.age_to_end(first timestamp, last timestamp)
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT age(last, CASE WHEN extract(DAY FROM last + interval '1 day') = 1 AND days > 0
                          THEN first - days * interval '1 day' ELSE first END)
    FROM (SELECT extract(DAY FROM first)::integer - extract(DAY FROM last)::integer AS days) AS more
$$

-- Whole units between two moments, where date_diff counts the boundaries.
CREATE OR REPLACE FUNCTION _palimpsest.date_sub(unit text, first timestamp, last timestamp)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT trunc(CASE
        WHEN lower(unit) ~ '^(year|yr|y)s?$' THEN months / 12
        WHEN lower(unit) = 'isoyear' THEN trunc(months / 12) + (
            last > first
            AND first + make_interval(years => trunc(months / 12)::integer + 1) <= last)::integer
        WHEN lower(unit) ~ '^quarters?$' THEN months / 3
        WHEN lower(unit) ~ '^(month|mon)s?$' THEN months
        WHEN lower(unit) ~ '^decades?$' THEN months / 120
        WHEN lower(unit) ~ '^(centur(y|ies)|cent|c)$' THEN months / 1200
        WHEN lower(unit) ~ '^(millenni(a|ums?)|mil)$' THEN months / 12000
        WHEN lower(unit) = 'era' THEN (last >= '0001-01-01')::integer
                                      - (first >= '0001-01-01')::integer
        WHEN lower(unit) ~ '^(week|w|yearweek)s?$' THEN seconds / 604800
        WHEN lower(unit) ~ '^(day|d|doy|dow|isodow|weekday|julian)s?$' THEN seconds / 86400
        WHEN lower(unit) ~ '^(hour|hr|h)s?$' THEN seconds / 3600
        WHEN lower(unit) ~ '^(minute|min|m)s?$' THEN seconds / 60
        WHEN lower(unit) ~ '^(second|sec|s|epoch)s?$' THEN seconds
        WHEN lower(unit) ~ '^(millisecond|msec|ms)s?$' THEN seconds * 1000
        WHEN lower(unit) ~ '^(microsecond|usec|us)s?$' THEN seconds * 1000000
        ELSE (unit || ' is no unit of time')::numeric END)::bigint
    FROM (SELECT CASE WHEN first > last THEN -1 ELSE 1 END
                 * (extract(YEAR FROM apart)::numeric * 12 + extract(MONTH FROM apart)::numeric)
                 AS months,
                 extract(EPOCH FROM last - first)::numeric AS seconds
          FROM _palimpsest.age_to_end(least(first, last), greatest(first, last)) AS apart
          WHERE pg_catalog.isfinite(first) AND pg_catalog.isfinite(last)) AS apart
$$

CREATE OR REPLACE FUNCTION _palimpsest.date_sub(unit text, first timestamptz, last timestamptz)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE STRICT AS
'SELECT _palimpsest.date_sub($1, $2::timestamp, $3::timestamp)'

-- strptime: what has another shape than its format is no moment, where PostgreSQL reads what it can.
CREATE OR REPLACE FUNCTION _palimpsest.parsed_moment(
    value text, shape text, earlier text, pattern text)
RETURNS timestamp LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT AS $$
BEGIN
    IF value !~* shape THEN
        RAISE EXCEPTION 'Could not parse string "%" according to its format', value
            USING ERRCODE = '22007';
    END IF;
    RETURN to_timestamp(earlier || value, pattern)::timestamp;
END $$

-- Not in parallel plans, nor is what else catches errors: a worker may begin no subtransaction.
CREATE OR REPLACE FUNCTION _palimpsest.tried_moment(
    value text, shape text, earlier text, pattern text)
RETURNS timestamp LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    RETURN _palimpsest.parsed_moment(value, shape, earlier, pattern);
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION _palimpsest.json_valid(text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    RETURN $1::json IS NOT NULL;
EXCEPTION WHEN data_exception THEN
    RETURN FALSE;
END $$

CREATE OR REPLACE FUNCTION _palimpsest.json_keys(json)
RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN json_typeof($1) = 'object'
                THEN ARRAY(SELECT json_object_keys($1)) ELSE '{}'::text[] END
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_type(text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_type($1::json)'

CREATE OR REPLACE FUNCTION _palimpsest.json_type(text, text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_type($1::json, $2)'

CREATE OR REPLACE FUNCTION _palimpsest.json_type(json, text[])
RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT ARRAY(SELECT _palimpsest.json_type($1, p) FROM unnest($2) WITH ORDINALITY AS u(p, n)
     ORDER BY n)'

CREATE OR REPLACE FUNCTION _palimpsest.json_type(text, text[])
RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_type($1::json, $2)'

-- What is no list has no elements.
CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(json)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE json_typeof($1) WHEN 'array' THEN json_array_length($1) ELSE 0 END
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(text)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_list_length($1::json)'

CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(json, text)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT _palimpsest.json_list_length(CASE WHEN $2 LIKE '/%'
        THEN $1 #> string_to_array(substr($2, 2), '/') ELSE _palimpsest.json_at($1, $2) END)
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(text, text)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_list_length($1::json, $2)'

CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(json, text[])
RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT ARRAY(SELECT _palimpsest.json_list_length($1, p)
     FROM unnest($2) WITH ORDINALITY AS u(p, n) ORDER BY n)'

CREATE OR REPLACE FUNCTION _palimpsest.json_list_length(text, text[])
RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT _palimpsest.json_list_length($1::json, $2)'

CREATE OR REPLACE FUNCTION _palimpsest.trunc(numeric[], integer)
RETURNS numeric[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
    'SELECT ARRAY(SELECT trunc(v, $2) FROM unnest($1) WITH ORDINALITY AS u(v, n) ORDER BY n)'

-- By how much a series ends before an end that is not a part of it.
CREATE OR REPLACE FUNCTION _palimpsest.short_step(bigint)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT sign($1)::integer'

CREATE OR REPLACE FUNCTION _palimpsest.short_step(interval)
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN $1 < interval '0' THEN interval '-1 microsecond'
                ELSE interval '1 microsecond' END
$$

CREATE OR REPLACE FUNCTION _palimpsest.json_steps_at(json, text[])
RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT $1 #> $2'

-- The text of JSON that is one value.
CREATE OR REPLACE FUNCTION _palimpsest.json_scalar(json)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$SELECT $1 #>> '{}'$$

-- JSON without blanks between its parts.
CREATE OR REPLACE FUNCTION _palimpsest.json_dense(json)
RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE json_typeof($1)
        WHEN 'object' THEN (
            SELECT '{' || coalesce(string_agg(to_json(u.key)::text || ':'
                   || _palimpsest.json_dense(u.value)::text, ',' ORDER BY u.ordinality), '') || '}'
            FROM json_each($1) WITH ORDINALITY AS u)::json
        WHEN 'array' THEN (
            SELECT '[' || coalesce(string_agg(_palimpsest.json_dense(u.value)::text, ','
                   ORDER BY u.ordinality), '') || ']'
            FROM json_array_elements($1) WITH ORDINALITY AS u)::json
        ELSE $1 END
$$

-- Aggregates over numbers in memory.
CREATE OR REPLACE FUNCTION _palimpsest.multiplied(double precision, double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS 'SELECT $1 * $2'

CREATE OR REPLACE AGGREGATE _palimpsest.product(double precision) (
    SFUNC = _palimpsest.multiplied, STYPE = double precision, PARALLEL = SAFE,
    COMBINEFUNC = _palimpsest.multiplied)

CREATE OR REPLACE FUNCTION _palimpsest.moment_of(double precision[], integer)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT avg((v - mean) ^ $2) FROM unnest($1) AS u(v),
        (SELECT avg(v) AS mean FROM unnest($1) AS u(v)) AS of_all
$$

CREATE OR REPLACE FUNCTION _palimpsest.skewness_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN n > 2 THEN _palimpsest.quotient(
        sqrt(n * (n - 1)) / (n - 2) * _palimpsest.moment_of($1, 3),
        _palimpsest.moment_of($1, 2) ^ 1.5) END
    FROM (SELECT count(v)::double precision AS n FROM unnest($1) AS u(v)) AS counted
$$

CREATE OR REPLACE FUNCTION _palimpsest.kurtosis_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN n > 3 THEN (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * _palimpsest.quotient(
        _palimpsest.moment_of($1, 4), _palimpsest.moment_of($1, 2) ^ 2) - 3 * (n - 1)) END
    FROM (SELECT count(v)::double precision AS n FROM unnest($1) AS u(v)) AS counted
$$

CREATE OR REPLACE FUNCTION _palimpsest.kurtosis_pop_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN array_length($1, 1) > 1 THEN _palimpsest.quotient(
        _palimpsest.moment_of($1, 4), _palimpsest.moment_of($1, 2) ^ 2) - 3 END
$$

CREATE OR REPLACE FUNCTION _palimpsest.mad_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(v - middle)) FROM unnest($1) AS u(v),
        (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS middle
         FROM unnest($1) AS u(v)) AS of_all
$$

CREATE OR REPLACE FUNCTION _palimpsest.geomean_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT exp(avg(ln(v))) FROM unnest($1) AS u(v)
$$

CREATE OR REPLACE FUNCTION _palimpsest.sem_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT stddev_pop(v) / sqrt(count(v)) FROM unnest($1) AS u(v)
$$

CREATE OR REPLACE FUNCTION _palimpsest.entropy_of(text[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(-sum(share * ln(share) / ln(2::double precision)) + 0, 0)
    FROM (SELECT count(*)::double precision / sum(count(*)) OVER () AS share
          FROM unnest($1) AS u(v) GROUP BY v) AS shares
$$

CREATE OR REPLACE FUNCTION _palimpsest.kept_number(double precision[], double precision)
RETURNS double precision[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $2 IS NULL THEN $1 ELSE $1 || $2 END
$$

CREATE OR REPLACE FUNCTION _palimpsest.kept_text(text[], anyelement)
RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $2 IS NULL THEN $1 ELSE $1 || $2::text END
$$

CREATE OR REPLACE FUNCTION _palimpsest.count_different(text[])
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
'SELECT count(DISTINCT v) FROM unnest($1) AS u(v)'

-- COUNT(DISTINCT x) OVER (..), which PostgreSQL has no form for.
CREATE OR REPLACE AGGREGATE _palimpsest.count_distinct(anyelement) (
    SFUNC = _palimpsest.kept_text, STYPE = text[], INITCOND = '{}', PARALLEL = SAFE,
    FINALFUNC = _palimpsest.count_different)

CREATE OR REPLACE AGGREGATE _palimpsest.entropy(anyelement) (
    SFUNC = _palimpsest.kept_text, STYPE = text[], INITCOND = '{}', PARALLEL = SAFE,
    FINALFUNC = _palimpsest.entropy_of)

CREATE OR REPLACE FUNCTION _palimpsest.later(kept anyelement, other anyelement)
RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $2'

-- The last value that is not NULL; any_value is the first one.
CREATE OR REPLACE AGGREGATE _palimpsest.last_known(anyelement) (
    SFUNC = _palimpsest.later, STYPE = anyelement, PARALLEL = SAFE,
    COMBINEFUNC = _palimpsest.later)

-- The first and the last value, NULL or not, in a list of one.
CREATE OR REPLACE FUNCTION _palimpsest.first_kept(anyarray, anyelement)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
'SELECT CASE WHEN $1 IS NULL THEN ARRAY[$2] ELSE $1 END'

CREATE OR REPLACE FUNCTION _palimpsest.last_kept(anyarray, anyelement)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT ARRAY[$2]'

CREATE OR REPLACE FUNCTION _palimpsest.only_one(anyarray)
RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1[1]'

CREATE OR REPLACE AGGREGATE _palimpsest.first(anyelement) (
    SFUNC = _palimpsest.first_kept, STYPE = anyarray, FINALFUNC = _palimpsest.only_one)

CREATE OR REPLACE AGGREGATE _palimpsest.last(anyelement) (
    SFUNC = _palimpsest.last_kept, STYPE = anyarray, FINALFUNC = _palimpsest.only_one)

-- Aggregates over the rows of a window, which PostgreSQL has for groups alone.
CREATE OR REPLACE FUNCTION _palimpsest.median_of(double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM unnest($1) AS u(v)'

CREATE OR REPLACE AGGREGATE _palimpsest.window_median(double precision) (
    SFUNC = _palimpsest.kept_number, STYPE = double precision[],
    FINALFUNC = _palimpsest.median_of)

CREATE OR REPLACE FUNCTION _palimpsest.kept_value(anyarray, anyelement)
RETURNS anyarray LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
'SELECT CASE WHEN $2 IS NULL THEN $1 ELSE $1 || ARRAY[$2] END'

CREATE OR REPLACE FUNCTION _palimpsest.mode_of(anyarray)
RETURNS anyelement LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT _palimpsest.list_mode($1)'

CREATE OR REPLACE AGGREGATE _palimpsest.window_mode(anyelement) (
    SFUNC = _palimpsest.kept_value, STYPE = anyarray, FINALFUNC = _palimpsest.mode_of)
