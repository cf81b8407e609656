"""The modules of this package that need the client of OpenLineage, loaded when they are needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from journal.model.errors import Code, PalimpsestError

EVENTS, TRANSPORTS = "gateway.openlineage.events", "gateway.openlineage.transports"


def client_module(name: str) -> ModuleType:
    """One of the modules above; raises NOT_SUPPORTED without the extra ``openlineage``."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "events of OpenLineage need its client, openlineage-python",
            advice="pip install 'palimpsest-gateway[openlineage]'",
        ) from None
