"""The stores that every test of this folder runs on, and what marks say about them.

``needs(capability, ..)``: a store that lacks one is left out, and the reason names the capability.
``also_on("hive")``: the pass on this store repeats what another one shows; it runs in the tier
``stores``. ``drifts(hive="...")``: this store does not keep the promise yet, and the text says how.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import apache_hive
from tests.support.stores import embedded, hive, postgres, toy
from tests.support.stores.store import Capability, Store, StoreKind

KINDS = [embedded.KIND, postgres.KIND, hive.KIND, toy.KIND]
if apache_hive.ASKED in os.environ:
    KINDS.append(hive.APACHE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a store one of each kind."""
    if "store" in metafunc.fixturenames:
        kinds = [pytest.param(kind, id=kind.name) for kind in KINDS]
        metafunc.parametrize("store", kinds, indirect=True)


_PROGRAMS = frozenset(
    {"test_backups", "test_compaction", "test_dry_runs", "test_erase_runs", "test_erasure"}
    | {"test_holds", "test_privacy_desk", "test_purged_rows", "test_privacy_over_stores"}
    | {"test_materialized_views", "test_redefined", "test_reject_files", "test_retention"}
    | {"test_schedulers", "test_suppression"}
)
"""Tests of programs that all stores share: ``make test`` runs them on the embedded store."""
_OF_TOY = frozenset(
    {"test_connections", "test_damage", "test_tables"}
    | {"test_backups", "test_dry_runs", "test_erase_runs", "test_erasure"}
    | {"test_purged_rows", "test_retention", "test_suppression"}
)
"""What ``make test`` shows of the toy store, whose programs go the way of servers: one module for
each program."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Do what the marks of a test say about the store of its pass."""
    for item in items:
        kind = getattr(item, "callspec", None) and item.callspec.params.get("store")  # type: ignore[attr-defined]
        if isinstance(kind, StoreKind):
            for mark in _marks(item, kind):
                item.add_marker(mark)


def _marks(item: pytest.Item, kind: StoreKind) -> Iterator[pytest.MarkDecorator]:
    for mark in item.iter_markers("needs"):
        for lacking in mark.args:
            if lacking not in kind.capabilities:
                yield pytest.mark.skip(f"a store without {lacking.value}")
    repeats = {name for mark in item.iter_markers("also_on") for name in mark.args}
    if item.path.stem in _PROGRAMS:
        repeats |= {"postgres", "hive"}
    if item.path.stem not in _OF_TOY:
        repeats |= {"toy"}
    if kind.name in repeats:
        yield pytest.mark.stores
    for mark in item.iter_markers("drifts"):
        if kind.name in mark.kwargs:
            yield pytest.mark.xfail(strict=False, reason=mark.kwargs[kind.name])


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new, empty store; others read it if the test needs that."""
    kind: StoreKind = request.param
    needs = {c for mark in request.node.iter_markers("needs") for c in mark.args}
    options = {"views": "on"} if Capability.OTHER_READERS in needs else {}
    with kind.open(request, tmp_path, options) as found:
        yield found


@pytest.fixture
def other_store(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Store]:
    """Another new, empty store of the kind of ``store``."""
    kind: StoreKind = request.node.callspec.params["store"]
    with kind.open(request, tmp_path / "other", {}) as found:
        assert found.url != store.url
        yield found


@pytest.fixture
def third_store(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Store]:
    """One more, as ``other_store``."""
    kind: StoreKind = request.node.callspec.params["store"]
    with kind.open(request, tmp_path / "third", {}) as found:
        assert found.url != store.url
        yield found
