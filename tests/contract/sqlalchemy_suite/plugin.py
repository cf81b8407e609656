"""The pytest plugin of the suite: SQLAlchemy's own, our dialect, and what is left out and why."""

from __future__ import annotations

import os
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.dialects import registry
from sqlalchemy.testing import config, provision

registry.register("palimpsest", "gateway.sqlalchemy_dialect", "PalimpsestDialect")
registry.register("palimpsest.gateway", "gateway.sqlalchemy_dialect", "PalimpsestDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403 - its hooks become ours
from sqlalchemy.testing.plugin.pytestplugin import (  # noqa: E402
    pytest_collection_modifyitems as _arrange,
)

from tests.contract.sqlalchemy_suite.exclusions import reason_against  # noqa: E402


@provision.post_configure_engine.for_db("palimpsest")
def _make_schemas(url: Any, engine: Any, follower_ident: Any) -> None:
    """The two schemas that the suite expects to find."""
    with engine.begin() as connection:
        for schema in ("test_schema", "test_schema_2"):
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {schema}"))


@provision.temp_table_keyword_args.for_db("palimpsest")
def _temporary(cfg: Any, engine: Any) -> dict[str, list[str]]:
    """How a temporary table is asked for."""
    return {"prefixes": ["TEMPORARY"]}


@provision.upsert.for_db("palimpsest")
def _upsert(
    cfg: Any,
    table: Any,
    returning: Any,
    *,
    set_lambda: Any = None,
    sort_by_parameter_order: bool = False,
    index_elements: Any = None,
) -> Any:
    """An upsert that gives rows back."""
    from gateway.sqlalchemy_dialect import insert

    statement = insert(table)
    target = index_elements or [column.name for column in table.primary_key]
    if set_lambda:
        statement = statement.on_conflict_do_update(
            index_elements=target, set_=set_lambda(statement.excluded)
        )
    else:
        statement = statement.on_conflict_do_nothing()
    return statement.returning(*returning, sort_by_parameter_order=sort_by_parameter_order)


SHARE = "PALIMPSEST_SUITE_SHARE"
"""In the environment: 4 runs each fourth test of the classes in ``_MATRICES``, 1 all of them."""
_MATRICES = ("ComponentReflectionTest_", "JSONTest_")
"""Classes of hundreds of tests, which ask the same of each combination of a few words."""


def pytest_collection_modifyitems(session: Any, config: Any, items: list[Any]) -> None:
    """Mark what is left out, with its reason, after SQLAlchemy has arranged the tests."""
    _arrange(session, config, items)
    matrix = [i for i in items if i.cls is not None and i.cls.__name__.startswith(_MATRICES)]
    left_out = set(matrix) - set(matrix[:: int(os.environ.get(SHARE, "1"))])
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        owner = item.cls.__name__.split("_palimpsest")[0] if item.cls is not None else ""
        reason = reason_against(owner, item.name)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"excluded: {reason}"))


__all__ = ["config", "pytest_collection_modifyitems"]
