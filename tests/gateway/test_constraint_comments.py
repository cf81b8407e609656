"""COMMENT ON CONSTRAINT: kept with its table, through ALTER TABLE and a new start."""

from __future__ import annotations

from pathlib import Path

import pytest

import gateway
from journal.model.schema import Table, TableName


def _said(con: gateway.Connection) -> dict[str, str]:
    table = con.session.catalog.get(TableName("main", "t"))
    assert isinstance(table, Table)
    return dict(table.constraint_comments)


def test_comments_of_constraints_last_and_go_with_them(tmp_path: Path) -> None:
    url = f"palimpsest:///{tmp_path}/warehouse"
    with gateway.connect(url, autocommit=True, dialect="postgres") as con:
        con.execute(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER UNIQUE, CONSTRAINT low CHECK (b > 0))"
        )
        for name in ("t_pkey", "t_b_key", "low"):
            con.execute(f"COMMENT ON CONSTRAINT {name} ON t IS 'first'")
            con.execute(f"COMMENT ON CONSTRAINT {name.upper()} ON t IS 'of {name}'")
        con.execute("ALTER TABLE t RENAME CONSTRAINT low TO lower")
        con.execute("ALTER TABLE t ADD COLUMN c INTEGER")
    with gateway.connect(url, autocommit=True, dialect="postgres") as con:
        assert _said(con) == {"t_pkey": "of t_pkey", "t_b_key": "of t_b_key", "lower": "of low"}
        con.execute("ALTER TABLE t DROP CONSTRAINT lower")
        con.execute("COMMENT ON CONSTRAINT t_pkey ON t IS NULL")
        con.execute("ALTER TABLE t ADD CONSTRAINT lower CHECK (b > 1)")
        assert _said(con) == {"t_b_key": "of t_b_key"}
        with pytest.raises(gateway.Error, match="its constraints are t_b_key, lower, t_pkey"):
            con.execute("COMMENT ON CONSTRAINT low ON t IS 'x'")
