"""Functions by name, as they travel to workers and executors: ``package.module:name``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from journal.model.errors import Code, PalimpsestError


def load_function(name: str) -> Callable[..., Any]:
    """The function of that name; raises JOB_FAILED where there is none."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PalimpsestError(
            Code.JOB_FAILED,
            f"the job's function {name} cannot be loaded: {error}",
            advice="install the package that has it, in the same version, wherever Spark runs",
        ) from error
    assert callable(found)
    return found  # type: ignore[no-any-return]
