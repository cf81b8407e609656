"""Runs the Spark application of a process: spark-submit as a child process.

The environment has ``PALIMPSEST_INSTANCE`` and ``PALIMPSEST_NOMINAL``; parameters of the process in
its arguments, such as ``{nominal}``, become their values. It starts at least once with the same id:
who is killed between its end and the record of it starts it again. No shell reads the arguments.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from journal.model.errors import Code, PalimpsestError

_HOLDER = re.compile(r"\{(\w+)\}")
_TAIL = 200
_SUBMIT = "spark-submit"


def run_application(
    spark: Mapping[str, Any],
    instance: str,
    values: Mapping[str, Any],
    log_line: Callable[[str], None],
    watch: Callable[[Callable[[], None]], None],
) -> None:
    """Run an application to its end; raises APPLICATION_FAILED unless it ends with 0.

    ``watch`` is given what stops it from another thread.
    """
    words = application_words(spark, values, submit_command())
    log_line(f"{words[0]} {spark['app']}")
    environment = {
        **os.environ,
        "PALIMPSEST_INSTANCE": instance,
        "PALIMPSEST_NOMINAL": _value_text(values["nominal"]),
    }
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        child = subprocess.Popen(  # noqa: S603 - the command is what the entity declares.
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise _application_error(f"{words[0]} could not be started: {error.strerror}") from error
    watch(lambda: _end_group(child.pid))
    tail: deque[str] = deque(maxlen=_TAIL)
    assert child.stdout is not None
    with child.stdout:
        tail.extend(line.rstrip() for line in child.stdout)
    code = child.wait()
    for line in tail:
        log_line(line)
    if code:
        raise _application_error(f"{spark['app']} ended with exit code {code}")


def application_words(
    spark: Mapping[str, Any], values: Mapping[str, Any], submit: str
) -> list[str]:
    """The command of an application.

    >>> application_words({"app": "a.py", "args": ["{instance}"]}, {"instance": "x"}, "submit")
    ['submit', 'a.py', 'x']
    """
    words = [submit]
    if "master" in spark:
        words += ["--master", spark["master"]]
    for name, value in spark.get("conf", {}).items():
        words += ["--conf", f"{name}={value}"]
    return [*words, spark["app"], *(_filled(text, values) for text in spark.get("args", ()))]


def submit_command() -> str:
    """spark-submit of ``SPARK_HOME``, of the path, or of the package pyspark."""
    home = os.environ.get("SPARK_HOME")
    beside = Path(sys.executable).parent / _SUBMIT
    if home:
        return str(Path(home) / "bin" / _SUBMIT)
    return shutil.which(_SUBMIT) or (str(beside) if beside.exists() else _SUBMIT)


def _filled(text: str, values: Mapping[str, Any]) -> str:
    return _HOLDER.sub(
        lambda found: _value_text(values[found[1]]) if found[1] in values else found[0], text
    )


def _value_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)


def _application_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.APPLICATION_FAILED, message, advice="palimpsest instance logs shows what it wrote"
    )
