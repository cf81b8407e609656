"""Processes that are Spark applications: spark-submit, told what it runs for, and its failures."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from gateway.governance.instance_operations import instance_attempts
from gateway.session.operations import no_progress
from tests.support.processes import day, flights, make_tables, process, run, schedule, states

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
APPLICATION = """
import os, sys
print("for", os.environ["PALIMPSEST_INSTANCE"], os.environ["PALIMPSEST_NOMINAL"], *sys.argv[1:])
sys.exit(3 if "2013-01-03" in os.environ["PALIMPSEST_NOMINAL"] else 0)
"""


def test_an_application_is_told_its_instance_and_its_failure_is_told(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APPLICATION)
    spark = {"app": str(app), "args": ["{flights_from}"], "master": "local[1]"}
    with gateway.connect("palimpsest://", autocommit=True) as con:
        make_tables(con)
        con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1), (DATE '2013-01-02', 2)")
        schedule(con, day(1), flights(), process(sql=None, spark=spark))
        run(con, day(3))
        assert states(con) == [(2, "SUCCEEDED"), (3, "FAILED")]
        (made,) = instance_attempts(con.session, no_progress, "daily", day(2))
        said = "for daily@2013-01-02T00:00Z 2013-01-02T00:00:00+00:00 2013-01-01T00:00:00+00:00"
        assert made.log[-1].endswith(said)
        (failed,) = instance_attempts(con.session, no_progress, "daily", day(3))
        assert failed.error_code == "PAL-622"
        assert failed.error is not None
        assert "ended with 3" in failed.error
