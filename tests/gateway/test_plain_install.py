"""What works without any extra works, and what needs one says which, with a code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

_MODULES = {
    "openlineage-python": "openlineage",
    "psycopg[binary]": "psycopg",
    "pure-sasl": "puresasl",
    "python-stdnum": "stdnum",
}
_RUN = (
    "import json, sys\n"
    "missing, commands = json.loads(sys.argv[1])\n"
    "sys.modules.update(dict.fromkeys(missing))\n"
    "class NoPandas:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        if name == 'pandas':\n"
    "            raise ModuleNotFoundError(name)\n"
    "sys.meta_path.insert(0, NoPandas())\n"
    "from gateway.cli import main\n"
    "for command in commands:\n"
    "    try:\n"
    "        main(command, prog_name='palimpsest')\n"
    "    except SystemExit as end:\n"
    "        print('exit', end.code or 0, flush=True)\n"
)


def _missing(root: Path) -> list[str]:
    """The modules of all extras that people install; Arrow looks for pandas in a way of its own."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [line for name, group in extras.items() if name != "dev" for line in group]
    names = [re.split(r"[><=~]", line)[0] for line in lines]
    return [_MODULES.get(name, name.replace("-", "_")) for name in names if name != "pandas"]


def _said(root: Path, folder: Path, *commands: list[str]) -> tuple[list[int], str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps([_missing(root), commands])],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(root), "PALIMPSEST_PASSPHRASE": "for this test only"},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return [int(code) for code in re.findall(r"^exit (\d+)$", done.stdout, re.M)], done.stderr


def test_upkeep_and_erasures_need_no_extra(root: Path, tmp_path: Path) -> None:
    table = "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')"
    rows = "INSERT INTO t SELECT i, i::VARCHAR || '@example.org' FROM range(100) r(i)"
    commands = [
        ["init"],
        ["query", f"{table}; {rows}; CALL system.flush(); DELETE FROM t WHERE id = 3"],
        ["job", "compact", "--all"],
        ["erase", "submit", "--subject", "email=7@example.org"],
        ["erase", "run"],
        ["audit", "verify"],
        ["scheduler", "--once"],
        ["verify"],
    ]
    codes, errors = _said(root, tmp_path, *commands)
    assert codes == [0] * len(commands), errors
    assert list((tmp_path / "warehouse").rglob("filters.bloom"))


_NEED = (
    ("postgres", ["query", "-w", "palimpsest+postgresql://h/d", "SELECT 1"]),
    ("hive", ["query", "-w", "palimpsest+hive://h/d", "SELECT 1"]),
    ("elsewhere", ["export", "t", "s3://bucket/t.csv"]),
    ("jobs", ["scheduler"]),
    ("jobs", ["access", "create", "--subject", "email=1@example.org", "package"]),
    ("demo", ["demo"]),
)


def test_what_needs_an_extra_says_which(root: Path, tmp_path: Path) -> None:
    table = "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR) WITH (erasure = 'email')"
    commands = [["init"], ["query", table], *(command for _, command in _NEED)]
    codes, errors = _said(root, tmp_path, *commands)
    assert codes[:2] == [0, 0]
    assert codes[2:] == [3, 3, 1, 1, 1, 1]
    each = re.split(r"^ERROR PAL-\d+ ", errors, flags=re.M)[1:]
    named = [re.findall(r"palimpsest-gateway\[(\w+)\]", error) for error in each]
    assert [names[0] for names in named] == [extra for extra, _ in _NEED], errors


def test_the_page_about_operations_explains_each_extra(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (root / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = page.partition("| extra |")[2].partition("\n\n")[0].splitlines()
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert told == {*project["optional-dependencies"]} - {"dev"}
