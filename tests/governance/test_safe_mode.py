"""Safe mode by command, and when a profile may move (rows F14 and F15)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.governance.entity import Entity, EntityKind
from gateway.governance.profile_updates import check_move, is_same_store
from journal.model.errors import Code, PalimpsestError


def _run(root: Path, *words: str) -> Result:
    environment = {"PALIMPSEST_WAREHOUSE": str(root)}
    return CliRunner().invoke(main, list(words), env=environment)


def test_f14_safe_mode_by_command(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    assert _run(root, "init", str(root)).exit_code == 0
    assert _run(root, "query", "CREATE TABLE t (a INTEGER)").exit_code == 0
    assert _run(root, "safe-mode", "status").stdout == "safe mode is off\n"
    assert "SAFE MODE" not in _run(root, "status").stdout
    on = _run(root, "safe-mode", "on", "--reason", "upgrade")
    assert on.stdout.startswith("safe mode is on, since ")
    assert on.stdout.endswith(": upgrade\n")
    assert ": upgrade" in _run(root, "status").stdout
    assert json.loads(_run(root, "status", "--json").stdout)["safe_mode"]["reason"] == "upgrade"
    erased = _run(root, "erase", "submit", "--subject", "email=a@example.org")
    assert erased.exit_code == 1
    assert "PAL-650" in erased.stderr
    assert _run(root, "query", "INSERT INTO t VALUES (1)").exit_code == 0
    off = json.loads(_run(root, "safe-mode", "off", "--json").stdout)
    assert off["is_on"] is False
    again = json.loads(_run(root, "safe-mode", "off", "--json").stdout)
    assert again == off


def _profile(url: str, **more: str) -> Entity:
    return Entity.of(EntityKind.PROFILE, "night", {"url": url, **more})


HERE = _profile("palimpsest+postgresql://me@a.example:5432/company")
THERE = _profile("palimpsest+postgresql://b.example/company?sslmode=require")
OTHER = _profile("palimpsest+postgresql://b.example/others")


@pytest.mark.parametrize(
    ("new", "dependents", "is_safe", "is_admin", "code"),
    [
        (THERE, 0, False, False, None),
        (OTHER, 0, False, False, None),
        (_profile(HERE.fields["url"], owner="ops"), 3, False, False, None),
        (THERE, 1, False, True, Code.SAFE_MODE),
        (_profile(HERE.fields["url"], engine="spark"), 1, False, True, Code.SAFE_MODE),
        (THERE, 1, True, False, Code.PRIVILEGE),
        (OTHER, 1, True, True, Code.ENTITY),
        (THERE, 1, True, True, None),
    ],
)
def test_f15_when_a_profile_may_move(
    new: Entity, dependents: int, is_safe: bool, is_admin: bool, code: Code | None
) -> None:
    if code is None:
        check_move(HERE, new, dependents, is_safe=is_safe, is_admin=is_admin)
        return
    with pytest.raises(PalimpsestError) as refused:
        check_move(HERE, new, dependents, is_safe=is_safe, is_admin=is_admin)
    assert refused.value.code is code


def test_f15_the_same_store_by_its_url() -> None:
    assert is_same_store("palimpsest:///srv/w", "palimpsest:///srv/w?engine=local")
    assert not is_same_store("palimpsest:///srv/w", "palimpsest:///srv/x")
    assert not is_same_store("palimpsest://a/w", "palimpsest+hive://a/w")
