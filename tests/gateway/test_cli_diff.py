"""``palimpsest diff``: what it tells of two states is what Python finds between them."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gateway
from gateway.cli import main
from tests.support.tiers import in_tiers

Rows = dict[int, tuple[Any, ...]]


def _call(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["diff", *args], prog_name="palimpsest")
    # A log line about a slow statement goes to standard error, on a busy machine.
    return result.exit_code, result.stdout or result.output


class _Changes:
    """A table that is changed at random, with the state after each commit."""

    def __init__(self, root: str, seed: int) -> None:
        self.dice = random.Random(seed)
        self.states: list[tuple[int, Rows]] = []
        with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
            con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, a VARCHAR, n DECIMAL(9, 2))")
            self._keep(con, "INSERT INTO t SELECT i, 'x', i FROM range(30) r(i)")
            for _ in range(8):
                self._keep(con, self._statement())

    def _statement(self) -> str:
        dice = self.dice
        low, width = dice.randrange(30), dice.randrange(8)
        among = f"k BETWEEN {low} AND {low + width}"
        numbers = f"SELECT i, NULL, 0.5 FROM range({low}, {low + width}) r(i)"
        return dice.choice(
            [
                f"UPDATE t SET n = n + {dice.randrange(3)} WHERE {among}",
                f"UPDATE t SET a = '{dice.choice('xyz')}', n = NULL WHERE {among}",
                f"DELETE FROM t WHERE {among}",
                f"INSERT INTO t {numbers} ON CONFLICT DO NOTHING",
            ]
        )

    def _keep(self, con: Any, sql: str) -> None:
        con.execute(sql)
        ((version,),) = con.execute("SELECT max(version) FROM system.transactions").fetchall()
        rows = {row[0]: row for row in con.execute("SELECT * FROM t").fetchall()}
        self.states.append((version, rows))


def _sum(rows: Rows) -> Decimal:
    return sum((row[2] for row in rows.values() if row[2] is not None), Decimal(0))


@pytest.mark.parametrize("seed", in_tiers(range(3), {0}))
def test_counts_and_totals_are_those_of_the_states(tmp_path: Path, seed: int) -> None:
    root = str(tmp_path / "w")
    made = _Changes(root, seed)
    for _ in range(3):
        (first, old), (last, new) = sorted(made.dice.sample(made.states, 2), key=lambda s: s[0])
        code, text = _call("t", "--from", str(first), "--to", str(last), "--json", "-w", root)
        assert code == 0, text
        found = json.loads(text, parse_float=Decimal)
        both = [k for k in old.keys() & new.keys() if old[k] != new[k]]
        wanted = {
            "insert": len(new.keys() - old.keys()),
            "delete": len(old.keys() - new.keys()),
            "update": len(both),
        }
        kinds = [row["change"] for row in found["rows"]]
        assert {kind: kinds.count(kind) for kind in wanted} == wanted
        assert [found[n] for n in ("inserted", "deleted", "updated")] == list(wanted.values())
        assert (found["rows_before"], found["rows_after"]) == (len(old), len(new))
        of_columns = {
            name: sum(old[k][place] != new[k][place] for k in both)
            for place, name in ((1, "a"), (2, "n"))
        }
        assert found["columns"] == {name: n for name, n in of_columns.items() if n}
        total = found["totals"]["n"]
        assert (total["before"], total["after"]) == (_sum(old), _sum(new))
        assert total["difference"] == _sum(new) - _sum(old)
        for row in found["rows"]:
            for side, rows in (("before", old), ("after", new)):
                if row[side] is not None:
                    assert tuple(row[side].values()) == rows[row[side]["k"]]


@pytest.mark.long
def test_exit_codes_and_limits(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    made = _Changes(root, 7)
    version, last = str(made.states[0][0]), str(made.states[-1][0])
    assert _call("t", "--from", last, "--exit-code", "-w", root)[0] == 0
    assert _call("t", "--from", last, "-w", root) == (0, "main.t: no differences\n")
    code, text = _call("t", "--from", version, "--exit-code", "--limit", "1", "-w", root)
    assert code == 1
    assert "more: --limit shows them" in text
    assert _call("t", "--from", version, "-w", root)[0] == 0
    assert _call("t", "--from", version, "--json", "--html", "x", "-w", root)[0] == 2
    assert _call("nope", "--from", version, "-w", root)[0] == 1
    assert "PAL-230" in _call("t", "--from", "long ago", "-w", root)[1]


class _Page(HTMLParser):
    """Notes the tags that are open at the end, and addresses that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [name for name, _ in attrs if name in {"src", "href"}]
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_stands_alone_and_shows_values_as_text(tmp_path: Path) -> None:
    root, page = str(tmp_path / "w"), tmp_path / "d.html"
    with gateway.connect(f"palimpsest:///{root}", autocommit=True) as con:
        con.execute("""CREATE TABLE "<i>t" (k INTEGER PRIMARY KEY, "<b>" VARCHAR)""")
        con.execute("""INSERT INTO "<i>t" VALUES (1, '<script>'), (2, 'old')""")
        ((version,),) = con.execute("SELECT max(version) FROM system.transactions").fetchall()
        con.execute("""UPDATE "<i>t" SET "<b>" = '&' WHERE k = 2""")
        con.execute("""DELETE FROM "<i>t" WHERE k = 1""")
    code, text = _call('"<i>t"', "--from", str(version), "--html", str(page), "-w", root)
    assert (code, text) == (0, "")
    written = _Page()
    written.feed(page.read_text(encoding="utf-8"))
    assert (written.open, written.loaded) == ([], [])
    assert {"<script>", "old", "&", "<b>", "+", "-", "~"} & set(written.texts) == {
        *("<script>", "old", "&", "<b>", "-", "~")
    }
