"""The statements of the demonstration; an ordinary DuckDB runs the same text for comparison."""

from __future__ import annotations

TABLES = {
    "airlines": "CREATE TABLE airlines (carrier VARCHAR PRIMARY KEY, name VARCHAR NOT NULL)",
    "airports": """CREATE TABLE airports (
  faa VARCHAR PRIMARY KEY, name VARCHAR, lat DOUBLE, lon DOUBLE, alt INTEGER, tz INTEGER,
  dst VARCHAR, tzone VARCHAR, arrivals INTEGER NOT NULL DEFAULT 0)""",
    "planes": """CREATE TABLE planes (
  tailnum VARCHAR PRIMARY KEY, year INTEGER, type VARCHAR, manufacturer VARCHAR, model VARCHAR,
  engines INTEGER, seats INTEGER, speed INTEGER, engine VARCHAR,
  flights INTEGER NOT NULL DEFAULT 0, miles BIGINT NOT NULL DEFAULT 0, last_seen DATE)""",
    "operations": """CREATE TABLE operations (
  year INTEGER, month INTEGER, day INTEGER, dep_time INTEGER, sched_dep_time INTEGER,
  dep_delay INTEGER, arr_time INTEGER, sched_arr_time INTEGER, arr_delay INTEGER, carrier VARCHAR,
  flight INTEGER, tailnum VARCHAR, origin VARCHAR, dest VARCHAR, air_time INTEGER,
  distance INTEGER, hour INTEGER, minute INTEGER, time_hour TIMESTAMP)""",
    "flights": """CREATE TABLE flights (
  day DATE, carrier VARCHAR, flight INTEGER, origin VARCHAR, dest VARCHAR NOT NULL,
  sched_dep_time INTEGER NOT NULL, distance INTEGER NOT NULL, tailnum VARCHAR,
  status VARCHAR NOT NULL DEFAULT 'scheduled', dep_delay INTEGER, arr_delay INTEGER,
  PRIMARY KEY (day, carrier, flight, origin))""",
}

SCHEDULE = """INSERT INTO flights (day, carrier, flight, origin, dest, sched_dep_time, distance)
SELECT make_date(year, month, day), carrier, flight, origin, dest, sched_dep_time, distance
FROM operations"""

_SAME = """f.day = ? AND o.month = ? AND o.day = ?
  AND f.carrier = o.carrier AND f.flight = o.flight AND f.origin = o.origin"""

DELAYS = f"""UPDATE flights AS f
SET status = 'flown', tailnum = o.tailnum, dep_delay = o.dep_delay, arr_delay = o.arr_delay
FROM operations AS o
WHERE {_SAME}
  AND o.dep_time IS NOT NULL"""  # noqa: S608 - two constants of this module

CANCELLATIONS = f"""DELETE FROM flights AS f USING operations AS o
WHERE {_SAME}
  AND o.dep_time IS NULL"""  # noqa: S608 - two constants of this module

PLANES = """MERGE INTO planes AS p
USING (
  SELECT tailnum, count(*) AS flights, sum(distance) AS miles,
    max(make_date(year, month, day)) AS last_seen
  FROM operations WHERE month = ? AND dep_time IS NOT NULL AND tailnum IS NOT NULL
  GROUP BY tailnum
) AS o ON p.tailnum = o.tailnum
WHEN MATCHED THEN UPDATE SET
  flights = p.flights + o.flights, miles = p.miles + o.miles, last_seen = o.last_seen
WHEN NOT MATCHED THEN INSERT (tailnum, flights, miles, last_seen)
  VALUES (o.tailnum, o.flights, o.miles, o.last_seen)"""

AIRPORTS = """MERGE INTO airports AS a
USING (
  SELECT dest, count(*) AS arrivals FROM operations
  WHERE month = ? AND arr_time IS NOT NULL GROUP BY dest
) AS o ON a.faa = o.dest
WHEN MATCHED THEN UPDATE SET arrivals = a.arrivals + o.arrivals
WHEN NOT MATCHED THEN INSERT (faa, arrivals) VALUES (o.dest, o.arrivals)"""

TOTALS = {
    "flights": "SELECT count(*), count(*) FILTER (WHERE status = 'flown'), sum(dep_delay),"
    " sum(arr_delay), sum(distance) FROM flights",
    "planes": "SELECT count(*), sum(flights), sum(miles), max(last_seen) FROM planes",
    "airports": "SELECT count(*), sum(arrivals) FROM airports",
}
TOTAL_NAMES = {
    "flights": ("rows", "flown", "departure delay", "arrival delay", "miles"),
    "planes": ("rows", "flights", "miles", "last seen"),
    "airports": ("rows", "arrivals"),
}
IN_ORDER = {
    "flights": "SELECT * FROM flights ORDER BY day, carrier, flight, origin",
    "planes": "SELECT * FROM planes ORDER BY tailnum",
    "airports": "SELECT * FROM airports ORDER BY faa",
}

NOW = """SELECT a.name AS airline, count(*) AS flights, round(avg(f.dep_delay), 1) AS mean_delay,
  count(*) FILTER (WHERE f.dep_delay > 60) AS over_an_hour
FROM flights AS f JOIN airlines AS a ON a.carrier = f.carrier
GROUP BY a.name ORDER BY flights DESC LIMIT 5"""

REPORT = f"CREATE VIEW airline_report AS\n{NOW}"

BLIZZARD = """SELECT day, count(*) AS flights, count(*) FILTER (WHERE status = 'flown') AS flown,
  round(avg(dep_delay), 1) AS mean_delay
FROM flights{past}
WHERE day BETWEEN DATE '2013-02-07' AND DATE '2013-02-10'
GROUP BY day ORDER BY day"""
