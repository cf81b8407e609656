"""Rows that refer to those which go by their date: what a policy lets happen, on any store."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import gateway
from tests.support.dependents import Stage


def check_refusals_and_counts(stage: Stage) -> None:
    """A run takes nothing while rows refer to what would go; or tells how many do."""
    run = stage.run
    run("ALTER TABLE people ADD COLUMN ds DATE DEFAULT DATE '2020-01-01'")
    assert run.error("ALTER TABLE people SET POLICY (DEPENDENTS = CASCADE)")[0] == "PAL-240"
    run("ALTER TABLE people SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, DEPENDENTS = REFUSE)")
    for more in ("", ", dry_run => true"):
        with pytest.raises(gateway.IntegrityError, match=rf"5 of {stage.home}\.visits ") as raised:
            run(f"CALL system.retain('people', now => '2024-01-01'{more})")
        assert (raised.value.code, raised.value.sqlstate) == ("PAL-307", "23503")
    assert run("SELECT count(*) FROM people") == [(3,)]
    run("DELETE FROM badges WHERE TRUE")
    run("DELETE FROM stays WHERE TRUE")
    run("ALTER TABLE people SET POLICY (DEPENDENTS = REPORT)")
    ((*_, planned),) = run("CALL system.retain('people', now => '2024-01-01', dry_run => true)")
    left = {f"{stage.home}.visits (visits_who_fkey)": 5}
    assert json.loads(planned)["details"]["dangling"] == left
    run("ALTER TABLE people SET POLICY (DEPENDENTS = REFUSE)")
    run("DELETE FROM visits WHERE k < 13")
    run("PLACE HOLD ON people WHERE id = 1 REASON 'a trial'")
    run("DELETE FROM visits WHERE who <> 1")
    run("CALL system.retain('people', now => '2024-01-01')")
    assert run("SELECT id FROM people") == [(1,)], "a row under a hold does not go"
    (hold,) = run("SELECT id FROM system.holds")[0]
    run(f"RELEASE HOLD '{hold}'")
    run("ALTER TABLE people SET POLICY (DEPENDENTS = REPORT)")
    ((*_, done),) = run("CALL system.retain('people', now => '2024-01-01')")
    assert json.loads(done)["details"]["dangling"] == dict.fromkeys(left, 1)
    assert run("SELECT count(*) FROM people") == [(0,)]
    assert run("SELECT who FROM visits WHERE who IS NOT NULL") == [(1,)]


def check_that_it_looks_again(
    stage: Stage, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    """``meanwhile`` has something done while a run has written what stays."""
    run = stage.run
    run("CREATE TABLE p (id INT PRIMARY KEY, ds DATE)")
    run("CREATE TABLE c (id INT PRIMARY KEY, p INT REFERENCES p)")
    run("INSERT INTO p VALUES (1, '2020-01-01')")
    run("ALTER TABLE p SET POLICY (RETENTION = 1 YEAR ON COLUMN ds, DEPENDENTS = REFUSE)")
    meanwhile(lambda: run("INSERT INTO c VALUES (1, 1)"))
    other = stage.open()
    with pytest.raises(gateway.Error, match=rf"{stage.home}\.c ") as raised:
        other("CALL system.retain('p', now => '2024-01-01')")
    assert raised.value.code == "PAL-307"
    assert run("SELECT count(*) FROM p") == [(1,)]
    run("DELETE FROM c WHERE TRUE")
    late = stage.open(autocommit=False)
    late("INSERT INTO c VALUES (2, 1)")
    other("CALL system.retain('p', now => '2024-01-01')")
    with pytest.raises(gateway.Error) as lost:
        late.connection.commit()
    assert lost.value.sqlstate == "40001"
    late.close()
    other.close()
    stage.check_clean()
