"""Erases the people of a batch step by step, through erasure requests.

    FINDING     a request of the erasure machinery for each part: from then on nobody sees the rows
    EXECUTING   one purge for all parts
    VERIFYING   receipts, and the same search once more; then what was filled from the tables

A part carries the batch in its reason, so that a process that was killed between accepting and
noting it finds it again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, replace
from typing import Any

from gateway.lineage.questions import NamedEdge, filled_from
from gateway.privacy_desk import composite, sealing, table_actions
from gateway.privacy_desk.batch_steps import identities_in, move, subjects_in
from gateway.privacy_desk.batches import Estimate
from gateway.privacy_desk.desk import Desk, Named
from gateway.privacy_desk.desk_policy import DeskPolicy
from gateway.privacy_desk.parts import Part, planned
from gateway.privacy_desk.states import PrivacyEvent
from gateway.procedures import requests as erasures
from gateway.procedures.erasing import names_of
from gateway.procedures.erasure_program import erasure_of
from gateway.session.operations import Advance
from journal.erasure import erasure_spec
from journal.erasure.audit import columns_changed
from journal.erasure.erasure_spec import KEPT, ErasureSpec
from journal.erasure.requests import ErasureRequest, Outcome, State, Target
from journal.erasure.scope import load_scope
from journal.erasure.unreachable_copies import OUT_OF_REACH
from journal.identity.descriptor import ever_described
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.suppression import Suppression
from journal.records.privacy_rows import PrivacyBatch, PrivacyRequest
from journal.transactions.reading import committed_state, reading

_MARK = "privacy batch"
_OUTCOMES = [str(o) for o in (Outcome.SEARCHED_NONE, Outcome.ERASED, Outcome.PENDING)]
"""Those that parts of a table may have, the one that all of it has the last."""
_STATEMENT_MAX = 200
"""Characters of a statement that a receipt shows."""


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A table or file that may hold people whom a batch erases, and was not searched."""

    name: str
    why: str


def find(desk: Desk, batch: PrivacyBatch) -> PrivacyBatch:
    """Accept the parts of a batch, those that were accepted already apart."""
    requests, named = identities_in(desk, batch)
    searches_all = batch.detail.get("searches_all", False)
    before = set() if searches_all else _searched_tables(_requests_of(desk, batch))
    wanted = _batch_erasures(desk, batch, requests, named, before)
    if batch.detail.get("parts") is None:
        parts = [part.to_json() for part in wanted.parts(desk)]
        batch = move(desk, batch, PrivacyEvent.FIND, {"parts": parts})
    accepted = _accept(desk, batch, wanted)
    ids = [*batch.detail.get("erasures", ()), *(r.id for r in accepted)]
    with desk.reading() as records:
        _, policy = desk.policy(records)
    read = sum(t.bytes_searched for r in accepted for t in r.targets)
    work = erasure_of(desk.session).planned
    tables = sorted({t.table_id for r in accepted for t in r.targets if t.mask})
    written = sum(work(table_id, accepted).written.bytes for table_id in tables)
    detail = {
        "erasures": list(dict.fromkeys(ids)),
        "estimate": asdict(Estimate.of(policy, read, written)),
        "covered_before": sorted(before),
        "searches_all": False,
        "parts": None,
    }
    keys = sum(t.keys for r in accepted for t in r.targets)
    return move(
        desk, batch, PrivacyEvent.PLAN, detail, {"keys": keys, "erasures": detail["erasures"]}
    )


def _accept(desk: Desk, batch: PrivacyBatch, wanted: _BatchErasures) -> list[ErasureRequest]:
    """The requests of all parts; those that were accepted before are found by their reason."""
    known = {r.reason: r for r in erasure_spec.requests(desk.journal) if r.reason is not None}
    round_number = int(batch.detail.get("round", 1))
    accepted: list[ErasureRequest] = []

    def take(number: int, spec: ErasureSpec) -> None:
        mark = f"{_MARK} {batch.id} part {round_number}.{number}"
        found = known.get(mark)
        if found is None:
            found = erasure_of(desk.session).accept(replace(spec, reason=mark), desk.by)
        accepted.append(found)

    parts = [Part.of_json(part) for part in batch.detail["parts"]]
    for number, part in enumerate(parts, 1):
        spec = part.spec(committed_state(desk.journal), wanted.subjects, accepted)
        if spec is not None:
            take(number, wanted.with_actions(spec))
    whole = wanted.whole_specs() if not parts else wanted.conditions
    for number, spec in enumerate(whole, len(parts) + 1):
        take(number, wanted.with_actions(spec))
    return accepted


def execute(desk: Desk, batch: PrivacyBatch, advance: Advance) -> PrivacyBatch:
    """Purge the parts of a batch in one run, and go on as far as they are."""
    names = batch.detail["erasures"]
    with desk.reading() as records:
        _, policy = desk.policy(records)
    found, run = erasures.purge(desk.session, advance, names, policy.part_bytes)
    error = None if run is None else run.error
    if error is not None and not _waits_for_copy(error, found):
        raise error
    detail = {"receipts": _receipts(found), "waits_for": ""}
    waits = next((r.waits_for for r in found if r.waits_for), "")
    if any(r.state is State.ON_HOLD for r in found):
        return move(desk, batch, PrivacyEvent.HOLD, {**detail, "waits_for": waits}, {"why": waits})
    left = [t for r in found for t in r.unsearched]
    if left:
        why = "; ".join(t.why for t in left)
        return move(desk, batch, PrivacyEvent.AWAIT_BACKUPS, {**detail, "waits_for": why})
    if error is not None:
        return move(desk, batch, PrivacyEvent.AWAIT_BACKUPS, {**detail, "waits_for": error.message})
    if any(r.state not in {State.COMPLETED, State.CANCELLED} for r in found):
        # Something of the rows is still open somewhere; the next run looks again.
        return move(desk, batch, PrivacyEvent.EXECUTE, {**detail, "waits_for": waits})
    return move(desk, batch, PrivacyEvent.VERIFY, detail)


def _waits_for_copy(error: PalimpsestError, found: Sequence[ErasureRequest]) -> bool:
    """True if all that a purge could not do is to search, or to write anew, copies out of reach."""
    waiting = [r for r in found if r.state is State.ACCEPTED]
    if error.code not in OUT_OF_REACH or not waiting:
        return False
    hidden = [t for r in waiting for t in r.targets if t.mask is not None]
    # What lies in the store was purged where the receipt has a manifest after it.
    is_purged = all(t.manifest_after for t in hidden)
    return is_purged and all(r.unsearched or r.masks for r in waiting)


def verify(desk: Desk, batch: PrivacyBatch) -> PrivacyBatch:
    """Look for the people once more; the batch is COMPLETED, or PARTIAL while a copy is left."""
    with desk.reading() as records:
        _, policy = desk.policy(records)
    requests, named = identities_in(desk, batch)
    if policy.verification == "search":
        _check_none_left(desk, batch, requests, named)
    uncovered = uncovered_by(desk, batch, policy, subjects_in(named))
    waived = {**batch.detail.get("waived", {}), **dict.fromkeys(policy.waived, "by the policy")}
    left = [u for u in uncovered if u.name not in waived]
    detail = {
        "uncovered": {u.name: u.why for u in left},
        "waived": {u.name: waived[u.name] for u in uncovered if u.name in waived},
        "verified": policy.verification,
    }
    event = PrivacyEvent.LEAVE_PART if left else PrivacyEvent.COMPLETE
    return move(desk, batch, event, detail, {"uncovered": [u.name for u in left]})


@dataclass(frozen=True, slots=True)
class PlannedParts:
    """What finding some requests would come to, and the parts that they would be split into."""

    keys: int
    tables: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    bytes_read: int
    bytes_written: int


def planned_parts(desk: Desk, requests: Sequence[PrivacyRequest], named: Named) -> PlannedParts:
    """A dry run of some requests, which writes nothing."""
    wanted = _batch_erasures(desk, None, requests, named)
    program, state = erasure_of(desk.session), committed_state(desk.journal)
    parts = [part.description(state) for part in wanted.parts(desk)]
    specs = [wanted.with_actions(spec) for spec in wanted.whole_specs()]
    whole = [[".".join(key) for key in sorted(spec.tables or ())] for spec in specs]
    targets = [t for spec in specs for t in program.dry_run(spec).targets]
    return PlannedParts(
        sum(t.keys for t in targets),
        tuple(sorted({t.table for t in targets if t.keys})),
        tuple(map(tuple, parts or whole)),
        sum(t.bytes_searched + t.kept_bytes_searched for t in targets),
        sum(t.bytes_rewritten for t in targets),
    )


def uncovered_by(
    desk: Desk, batch: PrivacyBatch, policy: DeskPolicy, subjects: Mapping[str, Sequence[str]]
) -> list[Uncovered]:
    """What may hold these people and was not searched: copies, what was filled, what is denied."""
    mine = _requests_of(desk, batch)
    covered = _searched_tables(mine)
    state = committed_state(desk.journal)
    described = {
        str(table.name)
        for table in state.catalog.tables()
        if {i.type for i in ever_described(state.tables[table.id].layouts)} & set(subjects)
    }
    found: dict[str, str] = {}
    kept = {t.table for r in mine for t in r.targets if t.why.startswith(KEPT)}
    for target in (t for r in mine for t in r.targets):
        if target.table in covered or target.is_deferred or target.table in kept:
            continue
        if state.catalog.by_id(target.table_id) is None:
            continue  # It was dropped since, with its rows.
        is_excluded = target.table in described and target.why != "not named"
        if target.holds_copies or is_excluded:
            found[target.table] = target.why
    searched = [table.name for table in state.catalog.tables() if str(table.name) in covered]
    for edge in filled_from(desk.session, searched):
        if edge.target not in covered | kept:
            whys = found.get(edge.target), _how_filled(edge)
            found[edge.target] = "; ".join(why for why in whys if why)
    return [Uncovered(name, why) for name, why in sorted(found.items())]


def _requests_of(desk: Desk, batch: PrivacyBatch) -> list[ErasureRequest]:
    """The requests of the erasure machinery that a batch has made."""
    names = set(batch.detail.get("erasures", ()))
    return [r for r in erasure_spec.requests(desk.journal) if r.id in names]


def _searched_tables(found: Sequence[ErasureRequest]) -> set[str]:
    """The tables that some requests have searched."""
    return {
        t.table
        for r in found
        for t in r.targets
        if not t.is_deferred and t.outcome is not Outcome.NOT_SEARCHED
    }


def _how_filled(edge: NamedEdge) -> str:
    """Which statement filled a table or file, without its values, and from what."""
    text = " ".join((edge.statement or "").split())
    shown = f": {text[:_STATEMENT_MAX]}{' ..' if len(text) > _STATEMENT_MAX else ''}"
    return f"a statement filled it from {edge.source}{shown if text else ''}"


def _check_none_left(
    desk: Desk, batch: PrivacyBatch, requests: Sequence[PrivacyRequest], named: Named
) -> None:
    """Raise ERASURE if the people are in a table that this round has searched."""
    program, before = erasure_of(desk.session), set(batch.detail.get("covered_before", ()))
    wanted = _batch_erasures(desk, batch, requests, named, before)
    for spec in wanted.whole_specs():
        found = program.dry_run(wanted.with_actions(spec))
        # Where only rows were erased the same people may have been written since.
        again = [t for t in found.targets if t.keys and not t.rows_only]
        left = sorted(t.table for t in again if not t.holds_copies)
        if left:
            raise PalimpsestError(
                Code.ERASURE,
                f"rows of people whom batch {batch.id} has erased are in {', '.join(left)} again",
                advice="palimpsest privacy run finds and purges them; they came past the gateway",
            )


@dataclass(frozen=True, slots=True)
class _BatchErasures:
    """What a batch asks the machinery for: people in ``only`` some tables, and ``conditions``.

    Conditions are those of identities of several parts, each on one table as a whole.
    """

    subjects: Mapping[str, Sequence[str]]
    only: frozenset[tuple[str, str]] | None
    conditions: Sequence[ErasureSpec]
    actions: table_actions.TableActions

    def parts(self, desk: Desk) -> list[Part]:
        """The parts of what ``subjects`` are looked for in; empty where it is one."""
        if not self.subjects:
            return []
        with desk.reading() as records:
            _, policy = desk.policy(records)
        kept = self.actions.kept
        return planned(desk, set(self.subjects), self.only, kept, policy.part_bytes)

    def whole_specs(self) -> list[ErasureSpec]:
        """All that is asked, in as few requests as can be."""
        whole = [ErasureSpec(subjects=self.subjects, tables=self.only)] if self.subjects else []
        return [*whole, *self.conditions]

    def with_actions(self, spec: ErasureSpec) -> ErasureSpec:
        """With what becomes of columns and tables. The last part alone suppresses identifiers.

        It searches what has come by then, and so nobody has to be kept out before.
        """
        actions = self.actions
        if spec.share is not None and not spec.share.is_last:
            spec = replace(spec, suppression=Suppression.KEY)
        return replace(
            spec, changes=actions.changes, kept=actions.kept, rows_only=actions.rows_only
        )


def _batch_erasures(
    desk: Desk,
    batch: PrivacyBatch | None,
    requests: Sequence[PrivacyRequest],
    named: Named,
    before: AbstractSet[str] = frozenset(),
) -> _BatchErasures:
    """What the machinery is asked for; tables that a round ``before`` has searched are left out.

    There may be nothing else to ask then.
    """
    session = desk.session
    with desk.reading() as records:
        _, policy = desk.policy(records)
    actions = table_actions.resolve(committed_state(desk.journal), policy.actions)
    options = requests[0].detail.get("options", {})
    only = names_of(session, list(options.get("tables", ())))
    subjects = subjects_in(named)
    if before:
        kinds = {kind for pairs in named.values() for kind, _ in pairs}
        only = _unsearched_tables(desk, kinds, only, before, actions.kept)
        if not only:
            return _BatchErasures({}, only, (), actions)
    conditions = [
        s for s in composite.specs(session, named, only) if not s.rows.keys() & actions.kept
    ]
    if not subjects and not conditions:
        who = "the people of a dry run" if batch is None else f"the people of batch {batch.id}"
        raise PalimpsestError(
            Code.ERASURE,
            f"no table identifies {who}",
            advice="onboard one: ALTER TABLE t SET TBLPROPERTIES ('erasure' = 'email LOWER')",
        )
    return _BatchErasures(subjects, only, conditions, actions)


def _unsearched_tables(
    desk: Desk,
    kinds: AbstractSet[str],
    only: AbstractSet[tuple[str, str]] | None,
    before: AbstractSet[str],
    kept: Container[int],
) -> frozenset[tuple[str, str]]:
    """The tables that identify people by some types and can be searched, less those that were."""
    state = committed_state(desk.journal)
    with reading(desk.journal) as statement:
        scope = load_scope(statement.session)
    parts = {part for kind in kinds for part in sealing.types_of(kind)}
    return frozenset(
        table.name.key
        for table in state.catalog.tables()
        if (only is None or table.name.key in only)
        and str(table.name) not in before
        and table.id not in kept
        and scope.why_not(table.name) is None
        and {i.type for i in ever_described(state.tables[table.id].layouts)} & parts
    )


def _receipts(found: Sequence[ErasureRequest]) -> list[dict[str, Any]]:
    """By table what was found and removed, the parts of one together; counts alone."""
    shared = {t.table_id for r in found for t in r.targets if t.pieces}
    pairs = [(r, t) for r in found for t in r.targets if _is_told(t)]
    merged: dict[tuple[int, str], dict[str, Any]] = {}
    for number, (request, target) in enumerate(pairs):
        is_part = target.table_id in shared and not target.is_deferred
        place = target.table_id, "" if is_part else str(number)
        before = merged.get(place)
        one = _receipt(request, target)
        merged[place] = one if before is None else _with_part(before, one)
    return list(merged.values())


def _with_part(receipt: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt of a table with that of one more part of it."""
    sums = ("keys", "versions_removed", "versions_changed", "files_searched", "files_skipped")
    return {
        **part,
        **receipt,
        **{n: receipt.get(n, 0) + part.get(n, 0) for n in sums if n in {*receipt, *part}},
        "erasure": f"{receipt['erasure']}, {part['erasure']}",
        "state": part["state"],
        "outcome": max(receipt["outcome"], part["outcome"], key=_OUTCOMES.index),
        "manifest_before": receipt["manifest_before"] or part["manifest_before"],
        "manifest_after": part["manifest_after"] or receipt["manifest_after"],
        "why": "; ".join(dict.fromkeys(why for why in (receipt["why"], part["why"]) if why)),
        "parts": receipt.get("parts", 1) + 1,
    }


def _is_told(target: Target) -> bool:
    """True for what was searched, or holds copies, or is left out on purpose."""
    is_searched = target.outcome is not Outcome.NOT_SEARCHED
    is_kept = target.why.startswith(KEPT)
    return is_searched or target.is_deferred or target.holds_copies or is_kept


def _receipt(request: ErasureRequest, target: Target) -> dict[str, Any]:
    return {
        "erasure": request.id,
        "state": request.state.value,
        "table": target.table,
        "outcome": target.outcome.value,
        "keys": target.keys,
        "versions_removed": target.versions_removed + target.copies_removed,
        **_told_changes(target),
        "files_searched": target.files_searched,
        "files_skipped": target.files_skipped,
        "manifest_before": target.manifest_before,
        "manifest_after": target.manifest_after,
        "why": target.remarks,
    }


def _told_changes(target: Target) -> dict[str, Any]:
    """What became of columns where rows stay, by their names in files; no value of them."""
    if not target.changes:
        return {}
    return {"columns": columns_changed(target), "versions_changed": target.versions_changed}
