"""Anchors of the audit log on every store: the newest entry is told, and an anchor must fit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.requests import audit_check
from journal.erasure.audit_anchor import Anchor
from journal.erasure.audit_check import AuditCheck
from tests.support.stores.store import Capability, Store

pytestmark = [pytest.mark.timeout(900), pytest.mark.needs(Capability.ACCESS_CONTROL)]


@pytest.fixture
def con(store: Store) -> Connection:
    return store.connect(user="root")


def _check(con: Connection, anchors: Sequence[Anchor] = ()) -> AuditCheck:
    return con.client_session.perform(audit_check, None, tuple(anchors))


@pytest.mark.also_on("hive")
def test_the_log_must_contain_what_was_anchored(con: Connection) -> None:
    con.execute("CREATE ROLE ann")
    first = _check(con)
    assert first.problems == ()
    assert first.newest.store
    con.execute("CREATE ROLE bob")
    newest = _check(con).newest
    assert (newest.store, newest.entry) == (first.newest.store, first.newest.entry + 1)
    assert _check(con, [first.newest, newest]).problems == ()
    ahead = replace(newest, entry=newest.entry + 1)
    other = replace(newest, hash="0" * 64)
    stranger = replace(newest, store="elsewhere")
    for anchor, said in ((ahead, "lacks entry"), (other, "written anew"), (stranger, "none of")):
        (problem,) = _check(con, [anchor]).problems
        assert said in problem
