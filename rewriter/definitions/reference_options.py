"""Checks the options of REFERENCES: actions, MATCH, and when it is checked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from journal.model.errors import Code, PalimpsestError
from journal.model.foreign_key import Deferral, ReferenceAction
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import Table
from rewriter.definitions.definition import WantedKey
from rewriter.name_resolution import position_of

_ADVICE = {
    "MATCH": "leave it out: a NULL in any of the columns refers to nothing",
}
_DEFERRALS = frozenset(
    {"DEFERRABLE", "NOT DEFERRABLE", "INITIALLY IMMEDIATE", "INITIALLY DEFERRED"}
)


@dataclass(frozen=True, slots=True)
class ReferenceOptions:
    """The options of a foreign key, each as given or else what the standard says."""

    on_delete: ReferenceAction = ReferenceAction.NO_ACTION
    on_update: ReferenceAction = ReferenceAction.NO_ACTION
    match_full: bool = False
    deferral: Deferral = Deferral.NEVER


def read_options(wanted: WantedKey) -> ReferenceOptions:
    """The options of a foreign key as written; raises NOT_SUPPORTED for those not kept."""
    given = _option_texts(wanted)
    actions = {"DELETE": ReferenceAction.NO_ACTION, "UPDATE": ReferenceAction.NO_ACTION}
    for option in given:
        words = option.split()
        if words[0] == "ON" and " ".join(words[2:]) in set(ReferenceAction):
            actions[words[1]] = ReferenceAction(" ".join(words[2:]))
        elif option not in _DEFERRALS and option not in {"MATCH SIMPLE", "MATCH FULL"}:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f"a foreign key with {option} is not supported",
                advice=_ADVICE.get(words[0], "leave it out"),
                position=position_of(wanted.node),
            )
    return ReferenceOptions(
        actions["DELETE"], actions["UPDATE"], "MATCH FULL" in given, _deferral(given, wanted)
    )


def _deferral(given: Sequence[str], wanted: WantedKey) -> Deferral:
    if "INITIALLY DEFERRED" in given:
        if "NOT DEFERRABLE" in given:
            raise PalimpsestError(
                Code.SYNTAX,
                "a foreign key that is INITIALLY DEFERRED must be DEFERRABLE",
                advice="leave out NOT DEFERRABLE, or INITIALLY DEFERRED",
                position=position_of(wanted.node),
            )
        return Deferral.INITIALLY
    return Deferral.ON_REQUEST if "DEFERRABLE" in given else Deferral.NEVER


def check_actions(table: Table, columns: Sequence[str], wanted: WantedKey) -> None:
    """Raise an error if an action would write to a column that is computed or generated."""
    options = read_options(wanted)
    given = {options.on_delete, options.on_update}
    for physical in columns:
        stored = table.by_physical(physical)
        if stored.identity is not None and ReferenceAction.SET_DEFAULT in given:
            raise PalimpsestError(
                Code.NOT_SUPPORTED,
                f'SET DEFAULT on "{stored.name}" of {table.name}, whose numbers are generated, is'
                " not supported",
                advice="use SET NULL or CASCADE, or give the column a DEFAULT",
                position=position_of(wanted.node),
            )
        made = stored.generated is not None
        if made and (options.on_update.acts or options.on_delete in _SETTING):
            raise PalimpsestError(
                Code.INVALID_DEFINITION,
                f'column "{stored.name}" of {table.name} is computed, so no foreign key can set it',
                advice="let it refer without ON UPDATE and SET, or use another column",
                position=position_of(wanted.node),
            )


_SETTING = frozenset({ReferenceAction.SET_NULL, ReferenceAction.SET_DEFAULT})


def _option_texts(wanted: WantedKey) -> list[str]:
    """The options in order, in capitals, wherever the parser has put them."""
    found = [" ".join(str(o).upper().split()) for o in wanted.reference.args.get("options") or []]
    for action in ("delete", "update"):
        if wanted.node.args.get(action):
            found.append(f"ON {action} {wanted.node.args[action]}".upper())
    return found + [str(o).upper() for o in wanted.node.args.get("options") or []]
