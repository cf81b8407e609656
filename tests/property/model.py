"""A table with its whole past as plain Python values; knows nothing of SQL or of the product.

A state is a mapping of keys to values; the history is the list of states with their versions. All
that time travel may ask follows from that list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

State = dict[int, object]
Row = tuple[int, object]


@dataclass(slots=True)
class Model:
    """The states of a table, oldest first, each with the version from which on it held."""

    states: list[tuple[int, State]] = field(default_factory=list)

    @property
    def now(self) -> State:
        """The present state."""
        return self.states[-1][1] if self.states else {}

    def put(self, version: int, state: State, rewritten: frozenset[int]) -> None:
        """Take the state after a commit; `rewritten` are keys that were written over."""
        self.states.append((version, state))
        self._rewritten[version] = rewritten

    def at(self, version: int) -> list[Row]:
        """The rows at a version."""
        found: State = {}
        for since, state in self.states:
            if since <= version:
                found = state
        return sorted(found.items())

    def lives(self) -> list[tuple[int, object, int, int | None]]:
        """Every row version: key, value, the version it began at and the one it ended at."""
        found: list[tuple[int, object, int, int | None]] = []
        begun: dict[int, tuple[object, int]] = {}
        before: State = {}
        for version, state in self.states:
            for key in sorted(before.keys() | state.keys()):
                if not self._changed(version, key, before, state):
                    continue
                if key in before:
                    value, since = begun.pop(key)
                    found.append((key, value, since, version))
                if key in state:
                    begun[key] = (state[key], version)
            before = state
        found += [(key, value, since, None) for key, (value, since) in begun.items()]
        return sorted(found, key=repr)

    def changes(self, first: int, last: int) -> list[tuple[int, object, str, int]]:
        """What was written from one version to another, both included."""
        found: list[tuple[int, object, str, int]] = []
        before: State = {}
        for version, state in self.states:
            for key in sorted(before.keys() | state.keys()):
                if first <= version <= last and self._changed(version, key, before, state):
                    found += _changes(key, before, state, version)
            before = state
        return sorted(found, key=repr)

    def blame(self) -> list[tuple[int, object, int, int]]:
        """Each row with the version that wrote it, and the one that last changed its value."""
        found = []
        for key, value in self.now.items():
            written = set_at = 0
            gone: State = {}
            for version, state in reversed(self.states):
                before = next((s for v, s in reversed(self.states) if v < version), gone)
                if not written and self._changed(version, key, before, state):
                    written = version
                if key not in before or before[key] != value:
                    set_at = version
                    break
            found.append((key, value, written, set_at))
        return sorted(found)

    def difference(self, first: int, last: int) -> list[tuple[int, object, str]]:
        """What differs between the states at two versions."""
        old, new = dict(self.at(first)), dict(self.at(last))
        differ = [k for k in old.keys() | new.keys() if k not in old or k not in new]
        differ += [k for k in old.keys() & new.keys() if old[k] != new[k]]
        found = [change[:3] for key in differ for change in _changes(key, old, new, last)]
        return sorted(found, key=repr)

    def _changed(self, version: int, key: int, before: State, after: State) -> bool:
        if (key in before) != (key in after):
            return True
        return key in self._rewritten[version]

    _rewritten: dict[int, frozenset[int]] = field(default_factory=dict)


def _changes(
    key: int, before: State, after: State, version: int
) -> list[tuple[int, object, str, int]]:
    if key not in before:
        return [(key, after[key], "insert", version)]
    if key not in after:
        return [(key, before[key], "delete", version)]
    return [
        (key, before[key], "update_preimage", version),
        (key, after[key], "update_postimage", version),
    ]
