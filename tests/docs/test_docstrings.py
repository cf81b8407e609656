"""Docstrings of what users call have examples, and the examples do what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "gateway",
    "gateway.dbapi.connection",
    "gateway.dbapi.cursor",
    "gateway.errors",
    "gateway.jobs.context",
    "gateway.jobs.runs",
    "gateway.jobs.scheduler",
    "gateway.sqlalchemy_dialect",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
