"""What ``palimpsest privacy`` writes: requests, batches and plans, for people and for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from gateway.privacy_desk.running import PlannedBatch, planned_object
from gateway.wording import counted
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest

_SHOWN_MAX = 20

_NONE_QUEUED = "No request is queued. palimpsest privacy list shows those that wait for somebody."


def request_line(request: PrivacyRequest) -> str:
    """A request in a line: its state, whom it names by type, its deadline."""
    types = request.detail.get("types", {})
    named = ", ".join(f"{n} {t}" for t, n in types.items())
    external = f" ({request.external_id})" if request.external_id else ""
    due_at = f"due {request.due_at:%Y-%m-%d}"
    return f"{request.id}{external}  {request.state}  {request.action} of {named}, {due_at}"


def write_requests(requests: Sequence[PrivacyRequest], *, as_json: bool) -> None:
    """Write requests; of many the first, and how many are in which state."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in requests], default=_text))
        return
    for one in requests[:_SHOWN_MAX]:
        click.echo(request_line(one))
    if len(requests) > _SHOWN_MAX:
        states: dict[str, int] = {}
        for one in requests:
            states[one.state] = states.get(one.state, 0) + 1
        told = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
        click.echo(f"and {counted(len(requests) - _SHOWN_MAX, 'more')}: of all, {told}")


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def write_batches(batches: Sequence[PrivacyBatch], *, as_json: bool) -> None:
    """Write batches with their receipts, and what they wait for."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in batches], default=_text))
        return
    if not batches:
        click.echo(_NONE_QUEUED)
    for one in batches:
        requests = counted(one.requests, "request")
        waits = one.detail.get("waits_for")
        click.echo(f"{one.id}  {one.step}  {one.action}, {requests}"
                   f"{f'  (waits for {waits})' if waits else ''}")  # fmt: skip
        error = one.detail.get("error")
        if error:
            click.echo(f"  {error['code']} {error['message']}\n  {error['advice']}", err=True)
        for name, store in one.detail.get("stores", {}).items():
            click.echo(f"  {name}: {_standing(store)}")
        for receipt in one.detail.get("receipts", ()):
            keys = counted(receipt["keys"], "key")
            removed = counted(receipt["versions_removed"], "version")
            click.echo(f"  {receipt['table']}: {receipt['outcome']}  {keys}, {removed} removed")
        for name, why in one.detail.get("uncovered", {}).items():
            click.echo(f"  {name}: NOT_SEARCHED  {why}")


def _standing(store: Mapping[str, Any]) -> str:
    """How far the parts of a batch are in a store."""
    if store.get("states"):
        return ", ".join(f"{n} {state}" for state, n in sorted(store["states"].items()))
    for known in ("away", "error"):
        if store.get(known):
            return f"{known.upper()}  {store[known]['code']} {store[known]['message']}"
    if "waived" in store:
        return f"WAIVED  {store['waived']}"
    return f"NOTHING  {store.get('nothing', '')}"


def write_plan(planned: Sequence[PlannedBatch], *, as_json: bool) -> None:
    """Write what a run would do, and what it takes."""
    if as_json:
        click.echo(json.dumps([planned_object(one) for one in planned]))
        return
    if not planned:
        click.echo(_NONE_QUEUED)
    for one in planned:
        e = one.estimate
        parts = counted(max(1, len(one.parts)), "part")
        click.echo(
            f"{one.action}: {counted(one.requests, 'request')}, {counted(one.keys, 'key')} in"
            f" {counted(len(one.tables), 'table')}, {parts}; reads {e.bytes_read:,} bytes, writes"
            f" {e.bytes_written:,}, about {e.seconds:.1f} s and {e.price:.2f} {e.currency}"
        )
