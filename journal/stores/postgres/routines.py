"""Functions that the adapter's SQL calls in schema ``_palimpsest``: their definitions, and no more.

Each can be made again over itself, so that opening a catalog brings it up to date.
"""

from __future__ import annotations

_AWAY = "sign({x}) * floor(abs({x}) + 0.5)"
"""Halves of a DOUBLE go away from zero; PostgreSQL's own round takes them to the even neighbour."""
_SCALED = "($1 * 10::double precision ^ $2)"
_PLAIN = "LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE"
_MEAN = (("numeric", "double precision"), ("double precision",) * 2, ("interval",) * 2)
_MEANS = ("avg", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop")
_ROUNDED = (
    ("double precision", "double precision", _AWAY.format(x="$1")),
    ("numeric", "numeric", "round($1)"),
    ("bigint", "bigint", "$1"),
    ("integer", "integer", "$1"),
    (
        "double precision, integer",
        "double precision",
        f"{_AWAY.format(x=_SCALED)} / 10::double precision ^ $2",
    ),
    ("numeric, integer", "numeric", "round($1, $2)"),
    ("bigint, integer", "bigint", "round($1::numeric, $2)::bigint"),
    ("integer, integer", "integer", "round($1::numeric, $2)::integer"),
)
FUNCTIONS = (
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.fail(what text)"
        " RETURNS boolean LANGUAGE plpgsql VOLATILE"
        " AS $$ BEGIN RAISE EXCEPTION '%', what USING ERRCODE = 'P0001'; END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.try_cast(value text, sample anyelement)"
        " RETURNS anyelement"
        " LANGUAGE plpgsql STABLE AS $$ BEGIN"
        " EXECUTE format('SELECT %L::%s', value, pg_typeof(sample)) INTO sample; RETURN sample;"
        " EXCEPTION WHEN data_exception THEN RETURN NULL; END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.replaced()"
        " RETURNS boolean LANGUAGE plpgsql VOLATILE"
        " AS $$ BEGIN RAISE EXCEPTION 'could not serialize access: the journal was compacted"
        " since this transaction began' USING ERRCODE = '40001', HINT = 'run it again'; END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.read_only()"
        " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION '% can only be read here', TG_RELID::regclass USING ERRCODE = '0A000',"
        " HINT = 'change it through the gateway, which keeps its history'; END $$"
    ),
    # For rules, where views have no triggers.
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.refuse_write(place regclass)"
        " RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN"
        " RAISE EXCEPTION '% can only be read here', place USING ERRCODE = '0A000',"
        " HINT = 'change it through the gateway, which keeps its history'; END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.keep_out()"
        " RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION '% is a part of a journal, which gateways only add rows to',"
        " TG_RELID::regclass USING ERRCODE = '0A000',"
        " HINT = 'change the table through the gateway, which keeps its history'; END $$"
    ),
    # Statements at a partition itself have no triggers of the whole.
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.guard(place regclass)"
        " RETURNS void LANGUAGE plpgsql AS $$ DECLARE part regclass; BEGIN"
        " FOR part IN SELECT place UNION SELECT relid FROM pg_partition_tree(place) LOOP"
        " EXECUTE format('CREATE TRIGGER palimpsest_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON %s"
        " FOR EACH STATEMENT EXECUTE FUNCTION _palimpsest.keep_out()', part);"
        " EXECUTE format('CREATE TRIGGER palimpsest_guard_appends BEFORE INSERT ON %s"
        " FOR EACH STATEMENT WHEN (current_setting(''palimpsest.gateway'', true) IS DISTINCT FROM"
        " ''on'') EXECUTE FUNCTION _palimpsest.keep_out()', part); END LOOP; END $$"
    ),
    # Places in JSON are paths ($.a[0]) or keys; which, only the value of a parameter tells.
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.json_at(value json, place text)"
        " RETURNS json LANGUAGE sql"
        " IMMUTABLE AS $$ SELECT CASE WHEN place LIKE '$%' THEN"
        " jsonb_path_query_first(value::jsonb, place::jsonpath)::json ELSE value -> place END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.json_text_at(value json, place text) RETURNS text"
        " LANGUAGE sql IMMUTABLE AS $$ SELECT _palimpsest.json_at(value, place) #>> '{}' $$"
    ),
    # PostgreSQL has ANY_VALUE since version 16.
    (
        "CREATE OR REPLACE FUNCTION _palimpsest.earlier(kept anyelement, other anyelement)"
        " RETURNS anyelement LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1'"
    ),
    (
        "CREATE OR REPLACE AGGREGATE _palimpsest.any_value(anyelement)"
        " (SFUNC = _palimpsest.earlier, STYPE = anyelement, PARALLEL = SAFE,"
        " COMBINEFUNC = _palimpsest.earlier)"
    ),
    # What these aggregates give of numbers is a DOUBLE; of intervals, what it is.
    *(
        f"CREATE OR REPLACE FUNCTION _palimpsest.{name}({given}) RETURNS {shown} {_PLAIN}"
        f" AS 'SELECT $1::{shown}'"
        for name in _MEANS
        for given, shown in _MEAN
    ),
    *(
        f"CREATE OR REPLACE FUNCTION _palimpsest.round({given}) RETURNS {shown} {_PLAIN}"
        f" AS 'SELECT {body}'"
        for given, shown, body in _ROUNDED
    ),
)
