"""Frameworks and libraries over their own PostgreSQL drivers: Django, Alembic, pandas, dbt."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

from tests.servers.conftest import Server

HERE = Path(__file__).parent
DBT = {
    "dbt_project.yml": (
        "name: shop\nversion: '1.0'\nprofile: shop\nmodels: {shop: {+materialized: table}}\n"
    ),
    "seeds/raw.csv": "id,name,amount\n1,a,1.5\n2,b,2.5\n3,c,\n",
    "models/clean.sql": "select id, name, coalesce(amount, 0) as amount from {{ ref('raw') }}",
    "models/totals.sql": (
        "{{ config(materialized='view') }} select count(*) as n from {{ ref('clean') }}"
    ),
    "models/over.sql": (
        "{{ config(materialized='view') }} select c.id, t.n from {{ ref('clean') }} c"
        " cross join {{ ref('totals') }} t"
    ),
    "models/mat.sql": (
        "{{ config(materialized='materialized_view') }} select id, name from {{ ref('clean') }}"
    ),
    "models/added.sql": (
        "{{ config(materialized='incremental', unique_key='id') }} select * from {{ ref('clean') }}"
        " {% if is_incremental() %} where id >= 2 {% endif %}"
    ),
    "models/schema.yml": (
        "version: 2\nmodels:\n  - name: clean\n    columns:\n      - name: id\n"
        "        tests: [unique, not_null]\n"
    ),
    "snapshots/snap.sql": (
        "{% snapshot snap %}{{ config(target_schema='dbt', unique_key='id', strategy='check',"
        " check_cols=['amount']) }} select * from {{ ref('clean') }}{% endsnapshot %}"
    ),
}


@pytest.fixture
def engine(server: Server) -> Iterator[sa.Engine]:
    """SQLAlchemy's own PostgreSQL dialect."""
    found = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    yield found
    found.dispose()


def test_pandas_writes_and_reads(engine: sa.Engine) -> None:
    days = pd.to_datetime(["2024-01-01"] * 3)
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None], "c": [1.5, 2.5, None], "d": days})
    frame.to_sql("frames", engine, if_exists="replace", index=False)
    frame.to_sql("frames", engine, if_exists="append", index=False, method="multi")
    found = pd.read_sql_table("frames", engine)
    assert found.shape == (6, 4)
    pd.testing.assert_series_equal(found["c"].head(3), frame["c"])
    with engine.connect().execution_options(stream_results=True) as connection:
        pieces = list(pd.read_sql("SELECT * FROM frames", connection, chunksize=4))
    assert [len(piece) for piece in pieces] == [4, 2]


def test_alembic_changes_tables_and_sees_no_difference(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        change = Operations(MigrationContext.configure(connection))
        key = sa.Column("id", sa.Integer, primary_key=True, autoincrement=False)
        change.create_table("al", key, sa.Column("n", sa.Text, nullable=False))
        change.add_column("al", sa.Column("x", sa.Numeric(8, 2)))
        change.create_index("al_n", "al", ["n"])
        change.alter_column("al", "n", nullable=True)
        change.alter_column("al", "x", new_column_name="y")
        change.create_unique_constraint("al_u", "al", ["n", "y"])
    wanted = sa.MetaData()
    sa.Table(
        "al",
        wanted,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n", sa.Text),
        sa.Column("y", sa.Numeric(8, 2)),
        sa.UniqueConstraint("n", "y", name="al_u"),
        sa.Index("al_n", "n"),
    )
    with engine.connect() as connection:
        options = {"include_name": lambda name, kind, _parents: kind != "table" or name == "al"}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), wanted) == []


@pytest.mark.skipif(importlib.util.find_spec("django") is None, reason="Django is not installed")
def test_django_migrates_and_works(server: Server, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "django_shop.py"), str(tmp_path), str(server.port)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "tags": {"k": [1, 2]},
        "author": "Ada",
        "dear": 11,
        "updated": 1,
        "deleted": 1,
        "iterated": 20,
        "errors": ["-301", "-303"],
        "locked": "Ada",
        "constraints": ["once", "price_positive"],
        "left": 0,
    }


@pytest.mark.stores
@pytest.mark.skipif(shutil.which("dbt") is None, reason="dbt, with dbt-postgres, is not installed")
def test_dbt_seeds_runs_snapshots_and_tests(server: Server, tmp_path: Path) -> None:
    for name, text in DBT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    output = f"type: postgres, host: 127.0.0.1, port: {server.port}, user: me, password: x"
    output = f"{{{output}, dbname: palimpsest, schema: dbt, threads: 1}}"
    profile = f"shop:\n  target: dev\n  outputs: {{dev: {output}}}\n"
    (tmp_path / "profiles.yml").write_text(profile)
    for step in ("seed", "run", "run", "snapshot", "snapshot", "test", "docs generate"):
        done = subprocess.run(
            ["dbt", "-q", *step.split(), "--profiles-dir", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    engine = sa.create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/palimpsest")
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM dbt.added")) == 3
        assert connection.scalar(sa.text("SELECT count(*) FROM dbt.snap")) == 3
    engine.dispose()
