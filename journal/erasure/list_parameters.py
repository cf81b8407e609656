"""The parameters of queries over the suppression list: hash keys and the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from journal.identity.key_ring import is_secret_parameter, key_of_parameter
from journal.identity.suppression_list import P_NOW
from journal.model.plan import Query

if TYPE_CHECKING:
    from journal.erasure.seam import SecretJournal


def list_parameters(journal: SecretJournal, query: Query) -> dict[str, Any]:
    """The values of a query's parameters; raises WAREHOUSE_FORMAT where a key of them is gone."""
    found: dict[str, Any] = {P_NOW: journal.clock.now()}
    for name in filter(is_secret_parameter, query.parameters):
        found[name] = journal.read_secret(key_of_parameter(name))
    return found
