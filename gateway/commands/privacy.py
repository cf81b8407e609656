"""``palimpsest privacy``: requests of people, from the day they come until they are answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from gateway.commands.connecting import (
    ENGINE_OPTION,
    JSON_OPTION,
    MASTER_OPTION,
    Access,
    open_connection,
    perform,
    set_workers,
    upkeep_options,
)
from gateway.commands.failure import COPIES_LEFT, STATEMENT, exit_on_error
from gateway.commands.privacy_output import (
    request_line,
    write_batches,
    write_plan,
    write_requests,
)
from gateway.commands.progress import show_progress
from gateway.commands.queried_people import people_lines
from gateway.governance.utc_moments import in_utc
from gateway.privacy_desk import decisions, questions, restricting_steps, running, submission
from gateway.privacy_desk import evidence as evidences
from gateway.privacy_desk.desk_policy import PrivacyAction
from gateway.privacy_desk.policy_files import settings_in
from gateway.privacy_desk.request_files import identities_in_words, requests_in_csv
from gateway.procedures.erasing import read_subjects
from gateway.wording import counted
from journal.erasure.audit_anchor import read_anchors
from journal.local_engine.file_modes import write_private

_ACTIONS = ["access", "erasure", "portability", "restriction", "rectification"]
_NAMES = click.argument("names", nargs=-1, required=True, metavar="REQUESTS...")
_REASON = click.option("--reason", metavar="TEXT", help="Recorded; name nobody in it.")


@click.group("privacy")
def command() -> None:
    """Take requests of people, follow them, and execute them in batches.

    A request is verified and approved where the policy asks for that, waits in a queue, shares a
    scan with others, and is COMPLETED when nothing is left to do. The desk encrypts its
    identifiers until then, and destroys them afterwards.

    \b
    Examples:
      palimpsest privacy submit --action erasure --subject email=ada@example.org
      palimpsest privacy submit --action access --csv people.csv --regulation CCPA
      palimpsest privacy run --dry-run
      palimpsest privacy run
      palimpsest privacy due
    """


@command.command("submit")
@click.option(
    "--action", type=click.Choice(_ACTIONS), required=True, help="What the request asks for."
)
@click.option("--subject", "subjects", multiple=True, metavar="TYPE=VALUE",
              help="A person; repeat it for further identifiers of this person.")  # fmt: skip
@click.option("--composite", "composites", multiple=True, metavar="TYPE=VALUE&TYPE=VALUE",
              help="Rows that have all of these values.")  # fmt: skip
@click.option("--csv", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Many: a line for each person, a header that names the types.")  # fmt: skip
@click.option("--query", metavar="SQL",
              help="Many out of a table: a row for each person; columns are types.")  # fmt: skip
@click.option(
    "--regulation", default="GDPR", show_default=True, help="The regulation whose deadline counts."
)
@click.option("--external-id", metavar="ID", help="The id of the request in another system.")
@click.option("--idempotency-key", metavar="KEY",
              help="The same key again gives the same requests, and makes none.")  # fmt: skip
@click.option(
    "--received", "received", metavar="TIME", help="When the request came in; default: now."
)
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Only in this table.")
@click.option("--store", "stores", multiple=True, metavar="PROFILE",
              help="In the store of this profile; '.' is this store, '*' all.")  # fmt: skip
@click.option("--set", "values", multiple=True, metavar="COLUMN=VALUE",
              help="What a rectification writes.")  # fmt: skip
@click.option("--erase-past", is_flag=True,
              help="Take the wrong value out of every earlier version.")  # fmt: skip
@_REASON
@JSON_OPTION
@upkeep_options
def submit(
    action: str,
    subjects: tuple[str, ...],
    composites: tuple[str, ...],
    file: Path | None,
    query: str | None,
    regulation: str,
    external_id: str | None,
    idempotency_key: str | None,
    received: str | None,
    tables: tuple[str, ...],
    stores: tuple[str, ...],
    values: tuple[str, ...],
    erase_past: bool,
    reason: str | None,
    as_json: bool,
    access: Access,
) -> None:
    """Take a request, or a file of them; nothing is done about it before `privacy run`.

    \b
    Examples:
      palimpsest privacy submit --action erasure --subject email=ada@example.org
      palimpsest privacy submit --action erasure --csv people.csv --idempotency-key june
      palimpsest privacy submit --action erasure --query "SELECT email FROM hr.leavers"
      palimpsest privacy submit --action erasure --subject email=ada@example.org --store '*'
      palimpsest privacy submit --action rectification --table hr.people
          --subject email=ada@example.org --set dept=4
    """
    if [file is not None, query is not None, bool(subjects or composites)].count(True) != 1:
        raise click.UsageError("give --subject or --composite, or --csv, or --query")
    with exit_on_error(as_json=as_json):
        if file is not None:
            requests = requests_in_csv(read_subjects(file))
        elif query is None:
            named = identities_in_words(subjects, composites)
            written = identities_in_words(values, ())
            requests = [submission.NewRequest(named, external_id, written)]
        terms = submission.SubmissionTerms(
            *(PrivacyAction(action), regulation, reason, idempotency_key, _moment(received)),
            tables=tables,
            erases_past=erase_past,
            stores=stores,
        )
    with open_connection(access, "privacy", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            if query is not None:
                requests = requests_in_csv(people_lines(connection, query))
            made = connection.client_session.perform(submission.submit, terms, requests)
    write_requests(made, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise click.UsageError(
            f"--received {text} is not a point in time: write 2026-11-26T12:00Z"
        ) from error


def _deciding(name: str, summary: str, needs_reason: bool = False) -> Callable[..., None]:
    """A command that decides on some requests, by the operation of its name."""

    @click.command(name, help=summary, short_help=summary)
    @_NAMES
    @click.option("--reason", metavar="TEXT", required=needs_reason,
                  help="Recorded; name nobody in it.")  # fmt: skip
    @JSON_OPTION
    @upkeep_options
    def decide(names: tuple[str, ...], reason: str | None, as_json: bool, access: Access) -> None:
        operations: dict[str, Any] = {
            "verify": decisions.verify_identity,
            "approve": decisions.approve,
            "deny": decisions.deny,
            "hold": decisions.hold_requests,
            "release": decisions.release_requests,
            "cancel": decisions.cancel,
            "lift": restricting_steps.lift,
        }
        with open_connection(access, "privacy", as_json=as_json) as connection:
            with exit_on_error(as_json=as_json):
                session = connection.client_session
                found = session.perform(operations[name], names, reason)
        write_requests(found, as_json=as_json)

    return decide


for _name, _summary, _needs in (
    ("verify", "Confirm the identity of requesters.", False),
    ("approve", "Approve requests.", False),
    ("deny", "Deny requests, with a reason.", True),
    ("hold", "Hold requests: no batch executes them.", False),
    ("release", "Release requests that were held.", False),
    ("cancel", "Cancel requests that no batch executes yet.", False),
    ("lift", "Lift restrictions: queries return the rows again.", False),
):
    command.add_command(_deciding(_name, _summary, _needs))  # type: ignore[arg-type]


@command.command("extend")
@_NAMES
@click.option("--by", "by", required=True, metavar="DURATION", help="How much longer: '2 months'.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; the requester is told.")
@JSON_OPTION
@upkeep_options
def extend(names: tuple[str, ...], by: str, reason: str, as_json: bool, access: Access) -> None:
    """Extend the deadline of requests, once."""
    found = perform(access, "privacy", as_json, decisions.extend, names, by, reason)
    write_requests(found, as_json=as_json)


@command.command("run")
@click.argument("names", nargs=-1, metavar="[REQUESTS]...")
@click.option(
    "--dry-run", is_flag=True, help="Only show the batches, and their bytes, seconds and price."
)
@click.option("--due", "only_due", is_flag=True,
              help="Form new batches only where they are full, old, or due soon.")  # fmt: skip
@ENGINE_OPTION
@MASTER_OPTION
@JSON_OPTION
@upkeep_options
def run(
    names: tuple[str, ...],
    dry_run: bool,
    only_due: bool,
    engine: str | None,
    master: str | None,
    as_json: bool,
    access: Access,
) -> None:
    """Execute queued requests in batches that share a scan, and continue earlier batches.

    The exit code is 1 if a batch failed or waits, and 5 if all are done and one is PARTIAL.

    \b
    Examples:
      palimpsest privacy run --dry-run
      palimpsest privacy run
      palimpsest privacy run 4f0c9a --json
    """
    with open_connection(access, "privacy", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json), show_progress("privacy", quiet=as_json):
            set_workers(connection, engine, master)
            session = connection.client_session
            if dry_run:
                planned = session.perform(running.plan, names)
            else:
                done = session.perform(running.run, names, only_due=only_due)
    if dry_run:
        write_plan(planned, as_json=as_json)
        return
    write_batches(done, as_json=as_json)
    steps = {batch.step for batch in done}
    if steps - {"COMPLETED", "PARTIAL", "CANCELLED"}:
        sys.exit(STATEMENT)
    if "PARTIAL" in steps:
        sys.exit(COPIES_LEFT)


@command.command("list")
@click.option("--state", "states", multiple=True, metavar="STATE", help="Only in this state.")
@click.option("--submission", metavar="ID", help="Only of this submission.")
@JSON_OPTION
@upkeep_options
def list_command(
    states: tuple[str, ...], submission: str | None, as_json: bool, access: Access
) -> None:
    """List requests, with their states and deadlines."""
    found = perform(access, "privacy", as_json, questions.list_requests, states, submission)
    write_requests(found, as_json=as_json)


@command.command("show")
@click.argument("name", metavar="REQUEST")
@JSON_OPTION
@upkeep_options
def show(name: str, as_json: bool, access: Access) -> None:
    """Show one request, and what became of it in each table."""
    found = perform(access, "privacy", as_json, questions.show_request, name)
    if as_json:
        click.echo(json.dumps(found.to_json()))
        return
    click.echo(request_line(found.request))
    if found.batch is not None:
        write_batches([found.batch], as_json=False)
    if found.export is not None and found.export.is_there:
        click.echo(f"  export {found.export.path} until {found.export.expires_at:%Y-%m-%d}")


@command.command("due")
@JSON_OPTION
@upkeep_options
def due(as_json: bool, access: Access) -> None:
    """List open requests by deadline; the exit code is 1 if one is overdue or due soon."""
    found = perform(access, "privacy", as_json, questions.due_requests)
    if as_json:
        click.echo(json.dumps([one.to_json() for one in found]))
    for one in () if as_json else found:
        click.echo(f"{one.urgency}  {request_line(one.request)}")
    if any(one.urgency != "IN_TIME" for one in found):
        sys.exit(STATEMENT)


@command.command("waive")
@click.argument("name", metavar="REQUEST")
@click.argument("tables", nargs=-1, required=True)
@click.option("--reason", required=True, metavar="TEXT", help="Why nobody need search there.")
@JSON_OPTION
@upkeep_options
def waive(name: str, tables: tuple[str, ...], reason: str, as_json: bool, access: Access) -> None:
    """Complete a PARTIAL request without searching TABLES, for a reason; then `privacy run`."""
    found = perform(access, "privacy", as_json, questions.waive, name, tables, reason)
    if as_json:
        click.echo(json.dumps(found.to_json()))
    elif found.batch is not None:
        write_batches([found.batch], as_json=False)


@command.command("export")
@click.argument("name", required=False, metavar="[REQUEST]")
@click.option("--to", "target", metavar="FILE", help="Move the file there; it stays on record.")
@click.option("--gone", is_flag=True, help="Only forget it: it lay on a machine that is no more.")
@JSON_OPTION
@upkeep_options
def export(name: str | None, target: str | None, gone: bool, as_json: bool, access: Access) -> None:
    """Say where the file of REQUEST lies, or move it; without REQUEST list all files."""
    with open_connection(access, "privacy", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            session = connection.client_session
            if name is None:
                found = session.perform(questions.list_exports)
            else:
                place = None if target is None else str(Path(target).expanduser().resolve())
                found = [session.perform(questions.export_of, name, place, gone=gone)]
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], default=str))
        return
    for one in found:
        rows = counted(one.rows, "row")
        click.echo(f"{one.request}  {one.path}  {rows}, until {one.expires_at:%Y-%m-%d}")


@command.command("evidence")
@click.argument("name", metavar="REQUEST|FILE")
@click.option("--to", "target", metavar="FILE", help="The file to write; default: its own name.")
@click.option("--anchor", "anchors", metavar="FILE",
              help="Anchors of the audit log; its entries begin behind the last.")  # fmt: skip
@click.option("--verify", "verifies", is_flag=True, help="Check the package FILE by this store.")
@JSON_OPTION
@upkeep_options
def evidence(
    name: str,
    target: str | None,
    anchors: str | None,
    verifies: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Write what was asked, decided and done about REQUEST as one file, or check such a FILE.

    \b
    Examples:
      palimpsest privacy evidence 4f0c9a --to 4711.zip --anchor anchors.jsonl
      palimpsest privacy evidence --verify 4711.zip
    """
    with open_connection(access, "privacy", as_json=as_json) as connection:
        with exit_on_error(as_json=as_json):
            session = connection.client_session
            if verifies:
                data = Path(name).expanduser().read_bytes()
                checked = session.perform(evidences.check_evidence, data)
            else:
                known = [] if anchors is None else read_anchors(_text_of(anchors), anchors)
                made = session.perform(evidences.make_evidence, name, known)
                path = Path(target or f"evidence-{name}.zip").expanduser()
                write_private(path, made)
    if not verifies:
        click.echo(json.dumps({"file": str(path)}) if as_json else f"Wrote {path}.")
        return
    if as_json:
        click.echo(json.dumps(asdict(checked)))
    else:
        whole = "not whole" if checked.problems else "whole"
        click.echo(f"Request {checked.request}: {whole}, {checked.entries} entries of the log.")
        for problem in checked.problems:
            click.echo(f"  {problem}", err=True)
    if checked.problems:
        sys.exit(STATEMENT)


def _text_of(file: str) -> str:
    return Path(file).expanduser().read_text(encoding="utf-8")


@command.command("policy")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting.")
@click.option("--file", "source", metavar="FILE", help="Change the settings in a file of YAML.")
@JSON_OPTION
@upkeep_options
def policy(settings: tuple[str, ...], source: str | None, as_json: bool, access: Access) -> None:
    """Show or change the policy of the desk: deadlines, approvals, batches, prices, actions.

    \b
    Examples:
      palimpsest privacy policy
      palimpsest privacy policy --set four_eyes=erasure,rectification
      palimpsest privacy policy --set deadlines.APPI="30 days" --set batch_bytes=1000000000
      palimpsest privacy policy --set actions.hr.people.email=hmac
      palimpsest privacy policy --file desk.yaml
    """
    wanted: dict[str, str] = {}
    if source is not None:
        with exit_on_error(as_json=as_json):
            wanted |= settings_in(_text_of(source), source)
    for word in settings:
        name, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"--set {word}: write name=value")
        wanted[name.strip()] = value
    version, found = perform(access, "privacy", as_json, decisions.change_policy, wanted)
    shown = {"version": version, **found.to_dict()}
    if as_json:
        click.echo(json.dumps(shown))
        return
    for name, value in shown.items():
        click.echo(f"{name}: {json.dumps(value)}")
