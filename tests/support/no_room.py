"""A small warehouse with something for every command to do, and the commands, on ground that fails.

    python -m tests.support.no_room FOLDER [PARTS [COMMANDS]]   JSON lines; lists by comma

Run as a program, it locks each part of the ground before each command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gateway
from gateway.cli import main

PASSPHRASE = "correct horse battery"
ROWS, ERASED = 20_000, 1
PARTS = ("warehouse", "segments", "private", "outside", "files")

COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("init", "{}/new"),
    "query": ("query", "SELECT count(*) FROM people"),
    "query to a file": ("query", "SELECT * FROM people", "-o", "{}/out.csv", "--format", "csv"),
    "insert": ("query", "INSERT INTO more SELECT i, repeat('x', 99) FROM range(99000) r(i)"),
    "create": ("query", "CREATE TABLE IF NOT EXISTS third (a INTEGER PRIMARY KEY)"),
    "update": ("query", "UPDATE people SET day = day + 1 WHERE id < 100"),
    "import": ("import", "{}/in.csv", "people"),
    "export": ("export", "people", "{}/out.csv"),
    "export parquet": ("export", "people", "{}/out.parquet"),
    "copy": ("query", "COPY people TO '{}/copied.parquet' (FORMAT parquet)"),
    "flush": ("flush",),
    "compact": ("job", "compact", "people", "--engine", "local"),
    "retain": ("job", "retain", "people", "--now", "2024-02-15", "--engine", "local"),
    "backup": ("job", "backup", "more", "-o", "to={}/copies"),
    "restore": ("job", "restore", "people", "--backup", "one", "--engine", "local"),
    "vacuum": ("job", "vacuum", "people", "--retain", "1 days"),
    "job verify": ("job", "verify", "people"),
    "purge": ("job", "purge", "people", "--engine", "local"),
    "access job": ("job", "access", "people", "-o", "subjects={}/who.csv", "-o", "to={}"),
    "erase submit": ("erase", "submit", "--subject", "email=p9@x.example"),
    "erase dry run": ("erase", "submit", "--subject", "email=p9@x.example", "--dry-run"),
    "erase run": ("erase", "run", "--engine", "local"),
    "erase list": ("erase", "list"),
    "erase scope": ("erase", "scope", "--allow", "*"),
    "access create": ("access", "create", "--subject", "email=p9@x.example", "{}/p.package"),
    "access open": ("access", "open", "{}/ready.package", "--to", "{}/opened"),
    "hold": ("hold", "place", "people", "--reason", "x"),
    "hold list": ("hold", "list"),
    "audit": ("audit", "verify"),
    "log": ("log",),
    "verify": ("verify",),
    "scheduler": ("scheduler", "--once"),
    "shell": ("shell", "-c", "DELETE FROM people WHERE id = 1", "-c", "SELECT 1"),
    "shell to a file": ("shell", "-c", "\\o {}/out.txt", "-c", "SELECT * FROM people"),
    "preview": ("preview", "UPDATE people SET day = day WHERE id = 1"),
}


SETUP = """
SET job_engine = 'local';
CREATE TABLE people (id INTEGER PRIMARY KEY, email VARCHAR, day DATE, x VARCHAR)
  WITH (erasure = 'email LOWER');
INSERT INTO people SELECT i, 'p' || i || '@x.example', DATE '2024-01-01' + (i % 60)::INTEGER,
  md5(i::VARCHAR) || md5((i + 1)::VARCHAR) FROM range(20000) r(i);
CALL system.flush('people');
UPDATE people SET day = day + 1 WHERE id % 3 = 0;
CALL system.flush('people');
CALL system.backup('people', name => 'one');
UPDATE people SET day = day + 1 WHERE id % 7 = 0;
ALTER TABLE people SET POLICY (RETENTION = 30 DAYS ON COLUMN day ACTION = ARCHIVE);
CREATE TABLE more (id INTEGER PRIMARY KEY, v VARCHAR);
INSERT INTO more SELECT -i, md5(i::VARCHAR) FROM range(1, 40000) r(i);
""".split(";")[:-1]


def make(folder: Path) -> None:
    """A warehouse ``w`` with segments, a head, a backup and an erasure; files beside it."""
    with gateway.connect(f"palimpsest:///{folder / 'w'}", autocommit=True) as connection:
        for sql in SETUP:
            connection.execute(sql)
    run(folder, "access", "create", "--subject", "email=p5@x.example", "{}/ready.package")
    run(folder, "query", "ERASE FROM people WHERE email = 'p7@x.example'")
    lines = [f"{100_000 + i},n{i}@x.example,2024-02-01,{'y' * 60}{i}" for i in range(ROWS)]
    (folder / "in.csv").write_text("id,email,day,x\n" + "\n".join(lines) + "\n")
    (folder / "who.csv").write_text("email\np9@x.example\n")


def run(folder: Path, *words: str, options: str = "") -> Result:
    """Run a command on the warehouse of a folder; ``{}`` in its words is the folder."""
    environment = {
        "PALIMPSEST_WAREHOUSE": f"palimpsest:///{folder / 'w'}{options}",
        "PALIMPSEST_PASSPHRASE": PASSPHRASE,
    }
    return CliRunner().invoke(main, [w.replace("{}", str(folder)) for w in words], env=environment)


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many megabytes at a folder that is there; skips where nobody may."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True, capture_output=True)


def fill_disk(disk: Path, free: int) -> Path:
    """Leave so many bytes; the file that takes the others."""
    found, ballast = os.statvfs(disk), disk / "ballast"
    with suppress(OSError), ballast.open("wb") as opened:
        opened.write(b"x" * max(0, found.f_bavail * found.f_frsize - free))
    return ballast


def copied(template: Path, folder: Path) -> None:
    """Let a folder hold what the template does, and nothing else."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(template, folder, dirs_exist_ok=True)


def _locked(folder: Path, how: str) -> list[Path]:
    """Take the right to write away; the folders that lost it."""
    found = {
        "warehouse": [folder / "w"],
        "segments": [p for p in (folder / "w" / "main").rglob("*") if p.is_dir()]
        + [folder / "w" / "main"],
        "private": [folder / "w" / "_palimpsest", folder / "w" / "_palimpsest" / "erasure"],
        "outside": [folder],
        "files": [p for p in (folder / "w").rglob("*") if p.is_file()],
    }[how]
    for path in found:
        path.chmod(0o500 if path.is_dir() else 0o400)
    return found


def each_locked_out(folder: Path, parts: Sequence[str], names: Sequence[str]) -> None:
    """Run commands with parts of the ground locked; a line of JSON for each."""
    template, place = folder / "template", folder / "place"
    place.mkdir()
    make(place)
    shutil.copytree(place, template)
    for how in parts:
        for name in names:
            copied(template, place)
            locked = _locked(place, how)
            found = run(place, *COMMANDS[name])
            for path in locked:
                path.chmod(0o700 if path.is_dir() else 0o600)
            again = run(place, *COMMANDS[name])
            line = [how, name, *outcome(found), *outcome(again)]
            sys.stdout.write(json.dumps(line) + "\n")


def outcome(found: Result) -> tuple[int, str]:
    """The exit code, and what was said; an exception that nobody looked after is said so."""
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        return found.exit_code, f"RAISED {found.exception!r}"
    return found.exit_code, found.stderr.strip()


if __name__ == "__main__":
    os.umask(0o077)
    given = [words.split(",") for words in sys.argv[2:]]
    each_locked_out(Path(sys.argv[1]), *(given + [list(PARTS), list(COMMANDS)][len(given) :]))
