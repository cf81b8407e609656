"""A table whose rows an erasure takes without their people: they may be written there again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main
from journal.model.errors import Code
from tests.support.kept import rows
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ERASURE)]
ADA, BOB = "ada@x.example", "bob@x.example"


def _run(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"PALIMPSEST_WAREHOUSE": store.url})


def _erase(store: Store, mail: str) -> dict[str, Any]:
    for words in (["submit", "--action", "erasure", "--subject", f"email={mail}"], ["run"]):
        done = _run(store, "privacy", *words, "--json")
        assert done.exit_code == 0, done.output + done.stderr
    (batch,) = json.loads(done.stdout)
    assert batch["step"] == "COMPLETED", batch
    return dict(batch)


@pytest.mark.long
@pytest.mark.also_on("hive", "postgres")
def test_rows_go_and_the_same_people_may_be_written_again_there_alone(store: Store) -> None:
    with store.connect() as con:
        for table in ("people", "visits"):
            con.execute(
                f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, email VARCHAR)"
                " WITH (erasure = 'email LOWER')"
            )
            con.execute(f"INSERT INTO {table} VALUES (1, '{ADA}'), (2, '{BOB}')")
        con.execute(f"UPDATE visits SET email = '{ADA.upper()}' WHERE id = 1")
        late = store.connect()
        with late:
            late.autocommit = False
            late.execute("INSERT INTO visits SELECT id + 10, email FROM visits WHERE id = 1")
            place = f"actions.{store.home}.visits"
            declared = _run(store, "privacy", "policy", "--set", f"{place}=rows")
            assert declared.exit_code == 0, declared.output
            receipts = _erase(store, ADA)["detail"]["receipts"]
            # Whoever read the rows before cannot copy them past the erasure.
            with pytest.raises(gateway.Error) as lost:
                late.commit()
            assert lost.value.sqlstate == "40001"
        told = {r["table"].split(".")[-1]: (r["versions_removed"], r["why"]) for r in receipts}
        assert told["visits"][0] >= 2
        assert "may be written here again" in told["visits"][1]
        assert "again" not in told["people"][1]
        past = "SELECT id, email FROM visits FOR SYSTEM_TIME ALL ORDER BY id"
        assert rows(con, past) == [(2, BOB)]
        # The same key, and another one, with the same identifier.
        con.execute(f"INSERT INTO visits VALUES (1, '{ADA}'), (3, '{ADA}')")
        assert rows(con, "SELECT id, email FROM visits ORDER BY id") == [
            (1, ADA),
            (2, BOB),
            (3, ADA),
        ]
        for values in (f"(1, '{BOB}')", f"(3, '{ADA}')"):
            with pytest.raises(gateway.Error) as refused:
                con.execute(f"INSERT INTO people VALUES {values}")
            assert refused.value.code == Code.ERASED.value.code
    # Another erasure takes what was written since, and the log is whole.
    assert _erase(store, ADA)["step"] == "COMPLETED"
    with store.connect() as con:
        assert rows(con, past) == [(2, BOB)]
    checked = _run(store, "audit", "verify")
    assert checked.exit_code == 0, checked.output
