"""The kind ``access``: writes what a table holds about people into an encrypted package.

A CSV file names the people; its columns are types of identifiers. The passphrase comes from
PALIMPSEST_PASSPHRASE. Both stay out of the options, because ``system.jobs`` records these.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.jobs.arguments import Arguments, argument_error
from gateway.jobs.context import JobContext, JobKind
from gateway.procedures.erasing import subjects_of
from journal.files.object_storage import read_file, write_file
from journal.model.errors import Code, PalimpsestError
from journal.model.places import below, is_elsewhere, local_path
from journal.model.system_user import system_user
from journal.records.report import JobReport, Volume

if TYPE_CHECKING:
    from spark_compaction.erasure.access import Found

_PASSPHRASE = "PALIMPSEST_PASSPHRASE"
_DAYS = 30


def _run(context: JobContext) -> JobReport:
    from gateway.procedures.erasure_program import erasure_backend
    from spark_compaction.erasure.access import collect, gather

    backend = erasure_backend(context.session)
    subjects = _subjects(context)
    files, (found,) = gather(backend, subjects, [context.table.id])
    if found.why or not found.rows:
        return _report(context, "nothing", found, found.why or "no row that is seen names them")
    if context.dry_run:
        return _report(context, "planned", found, "", Volume(len(files), found.rows))
    target = below(_folder(context), f"{found.table}-{context.job_id}.package")
    days = context.number("days") or _DAYS
    expires = context.moment + timedelta(days=days)
    by = context.session.recorded_user or system_user()
    data, (found,) = collect(
        backend,
        subjects,
        os.environ.get(_PASSPHRASE, ""),
        expires,
        by,
        [context.table.id],
    )
    write_file(target, data)
    return _report(context, "done", found, "", Volume(1, found.rows, len(data)), target)


def _subjects(context: JobContext) -> dict[str, list[str]]:
    name = context.text("subjects") or ""
    try:
        return subjects_of([], read_file(name).decode().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise _access_error(f"cannot read {name}: {error}") from error


def _folder(context: JobContext) -> str:
    place = context.text("to") or "."
    if is_elsewhere(place):
        return place
    folder = local_path(place)
    root = context.session.journal.capabilities.folder
    inside = root is not None and folder.resolve().is_relative_to(root.resolve())
    if inside or not folder.is_dir():
        raise _access_error(f"{folder} is not a folder outside the warehouse")
    return str(folder)


def _access_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.FILE_ACCESS, message, advice="name a file that can be read, and a folder to write to"
    )


def _report(
    context: JobContext,
    state: str,
    found: Found,
    why: str,
    written: Volume = Volume(),  # noqa: B008 - a frozen value
    package: str | None = None,
) -> JobReport:
    return JobReport(
        id=context.job_id,
        kind="access",
        table=str(context.table.name),
        state=state,
        why="; ".join(part for part in (why, found.remark) if part),
        written=written,
        details={
            "package": package,
            "held": found.held,
            "hidden": found.hidden,
            "requests": list(found.requests),
        },
    )


def _check(given: Arguments) -> None:
    given.text("to")
    given.number("days")
    if given.text("subjects") is None:
        raise argument_error(
            "the job access needs to know whom it is about",
            "give subjects=FILE: a CSV file whose columns are types of identifiers",
        )


KIND = JobKind(
    "access",
    "an encrypted package of what a table holds about people",
    _run,
    ("subjects", "to", "days"),
    _check,
)
