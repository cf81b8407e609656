"""Which columns of a table identify a person: the descriptor that stands in its properties.

    'erasure' = 'email LOWER, contacts[].mail AS email LOWER FPP 0.0001, owner_id AS customer'

Each entry is a path (see ``paths``), the type of identifier it holds (the last name of the path, if
none is given), its normaliser if several spellings are one (LOWER, DIGITS, ALPHANUMERIC, PHONE and
a country, see ``normalisers``), and what size its filters have: FPP, the share of files searched in
vain, and NDV, the distinct values in a file.
A table with a descriptor is *onboarded*. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from journal.identity.normalisers import EXACT, Normaliser, read_normaliser
from journal.identity.paths import Path, leaf_type, parse_path
from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import ROW_ID, Column, Table, fold

FPP_DEFAULT = 0.001
PROPERTY = "erasure"
FILTERED = "filters"
"""A property naming further columns that get filters for point reads alone, in the same words."""
_INDEXED = "indexed"
"""The type of values that have filters since an index begins with them, and identify nobody."""
_OURS = frozenset({PROPERTY, FILTERED})
_WORD = re.compile(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)')
_COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')
_TEXT = (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR)
_WHOLE = (
    *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
    *(exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT, exp.DType.UBIGINT),
)
_ENTRIES_MAX = 64


@dataclass(frozen=True, slots=True)
class DescriptorEntry:
    """One entry of a descriptor."""

    path: Path
    type: str
    normaliser: Normaliser = EXACT
    fpp: float = FPP_DEFAULT
    distinct: int | None = None

    @property
    def id(self) -> str:
        """What filters of this entry are stored under: all that decides the hashed values."""
        return f"{self.path}{self.normaliser.suffix}"

    @property
    def is_of_index(self) -> bool:
        """True if its filters are there for an index, and nobody is identified by it."""
        return self.type == _INDEXED

    def __str__(self) -> str:
        words = [str(self.path), "AS", self.type]
        words += [str(self.normaliser)] if self.normaliser.word else []
        words += ["FPP", f"{self.fpp:g}"] if self.fpp != FPP_DEFAULT else []
        words += ["NDV", str(self.distinct)] if self.distinct is not None else []
        return " ".join(words)


EVERY_ROW = DescriptorEntry(parse_path(ROW_ID), "")
"""Stands for identities where all rows of a table go, as those of a materialised view do."""


def parse_descriptor(text: str) -> tuple[DescriptorEntry, ...]:
    """The entries of a descriptor, with logical column names; raises INVALID_DEFINITION."""
    parts = [p.strip() for p in _COMMA.split(text) if p.strip()]
    if not parts or len(parts) > _ENTRIES_MAX:
        raise _descriptor_error(
            f"it has {len(parts)} entries, and 1 to {_ENTRIES_MAX} are possible"
        )
    try:
        return tuple(_entry(part) for part in parts)
    except ValueError as error:
        raise _descriptor_error(str(error)) from error


def shown_descriptor(text: str, names: Mapping[str, str]) -> str:
    """A stored descriptor with the columns' present ``names``, by physical ones; without the rest.

    >>> shown_descriptor("email AS email LOWER, fax AS phone", {"email": "mail"})
    'mail AS email LOWER'
    """
    entries = [e for e in parse_descriptor(text) if e.path.root in names]
    shown = [replace(e, path=replace(e.path, root=names[e.path.root])) for e in entries]
    return ", ".join(str(e) for e in shown)


def _entry(text: str) -> DescriptorEntry:
    first, *words = _WORD.split(text)
    path = parse_path(first)
    named = [s[1:] for s in path.steps if s.startswith(".")]
    found = DescriptorEntry(path, fold(named[-1] if named else path.root))
    while words:
        if (given := read_normaliser(words)) is not None:
            normaliser, taken = given
            if found.normaliser not in {EXACT, normaliser}:
                raise ValueError(f"{found.normaliser} and {normaliser} are two normalisers")
            found = replace(found, normaliser=normaliser)
            words = words[taken:]
            continue
        match words[0].upper(), words[1:2]:
            case "AS", [name]:
                found = replace(found, type=fold(name.strip('"')))
            case "FPP", [share]:
                found = replace(found, fpp=_between(float(share), 1e-7, 0.5, "FPP"))
            case "NDV", [count]:
                found = replace(found, distinct=int(_between(int(count), 1, 1e10, "NDV")))
            case _:
                raise ValueError(f"{' '.join(words)!r} was not expected")
        words = words[2:]
    return found


def _between(value: float, low: float, high: float, name: str) -> float:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value:g}, and {low:g} to {high:g} are possible")
    return value


def check_descriptor(table: Table, text: str) -> str:
    """A descriptor for ``table`` in its stored form: physical columns, everything written out."""
    entries = []
    for entry in parse_descriptor(text):
        found = table.find(entry.path.root)
        if found is None:
            raise _descriptor_error(f"{table.name} has no column {entry.path.root}")
        entries.append(_entry_for_column(entry, found))
    return ", ".join(str(e) for e in entries)


def _entry_for_column(entry: DescriptorEntry, held: Column) -> DescriptorEntry:
    """An entry for a column; raises INVALID_DEFINITION where that holds no identifiers."""
    kind = leaf_type(exp.DataType.build(held.type, dialect="duckdb"), entry.path)
    if kind is None or not kind.is_type(*_TEXT, *_WHOLE):
        shown = "nothing" if kind is None else kind.sql(dialect="duckdb")
        raise _descriptor_error(
            f"{entry.path} leads to {shown} in a column of type {held.type};"
            " identifiers are text or whole numbers"
        )
    if entry.normaliser.word and not kind.is_type(*_TEXT):
        shown = kind.sql(dialect="duckdb")
        raise _descriptor_error(f"{entry.path} is {shown}, {entry.normaliser.word} is for text")
    return replace(entry, path=Path(held.physical, entry.path.steps))


def with_descriptors(table: Table, before: Table | None = None) -> Table:
    """A new definition with its descriptors checked and in stored form.

    Those that stand in the definition ``before`` are in that form already, and follow their columns
    when these get values of another type.
    """
    known = dict(before.properties) if before is not None else {}
    found = []
    for name, text in table.properties:
        if name not in _OURS:
            found.append((name, text))
        elif before is not None and known.get(name) == text:
            found.append((name, _followed(table, before, text)))
        else:
            found.append((name, check_descriptor(table, text)))
    return replace(table, properties=tuple(found))


def _followed(table: Table, before: Table, text: str) -> str:
    """A descriptor of the definition ``before`` for one that came of it.

    A column that got new values, or was dropped and is there again, is found by its name; one that
    is gone stays named, for its old rows.
    """
    old = {c.physical: c for c in before.columns}
    new = {c.physical: c for c in table.columns}
    entries = []
    for entry in parse_descriptor(text):
        root = entry.path.root
        held = new.get(root)
        if held is None:
            name = old[root].name if root in old else root
            held = next(
                (c for c in new.values() if c.physical not in old and _has_name(c, name)), None
            )
        elif held == old.get(root) or not is_in(entry, {root: held.type}):
            held = None
        entries.append(entry if held is None else _entry_for_column(entry, held))
    return ", ".join(str(e) for e in entries)


def _has_name(held: Column, name: str) -> bool:
    """True for a column of a name, or of one that was made physical by a number behind it."""
    stem, _, number = fold(name).rpartition("_")
    return fold(held.name) == fold(name) or (number.isdecimal() and fold(held.name) == stem)


def descriptor_of(table: Table) -> tuple[DescriptorEntry, ...]:
    """The identities of a table, with physical names; empty unless it is onboarded.

    Those whose column was dropped, or is of another type now, are left out: they identify people
    in older rows, see ``ever_described``.
    """
    return tuple(i for i in _property(table, PROPERTY) if is_in(i, _fields(table)))


def is_in(identity: DescriptorEntry, fields: Mapping[str, str]) -> bool:
    """True if rows with these columns (types by physical names) have a value at the path."""
    kind = fields.get(identity.path.root)
    if kind is None:
        return False
    return leaf_type(exp.DataType.build(kind, dialect="duckdb"), identity.path) is not None


def _fields(table: Table) -> dict[str, str]:
    return {c.physical: c.type for c in table.stored}


def filtered_of(table: Table) -> tuple[DescriptorEntry, ...]:
    """All columns of a table that get filters; those of its key come besides.

    They are those of its descriptor, those the property ``filters`` names, and the columns with
    which its indexes begin, as far as there is room for them.
    """
    stated = {e.id: e for e in (*_property(table, FILTERED), *descriptor_of(table))}
    fields = _fields(table)
    found = {i.id: i for i in stated.values() if is_in(i, fields)}
    for index in table.indexes:
        first = index.terms[0]
        if first.is_column and len(found) < _ENTRIES_MAX:
            kind = exp.DataType.build(fields[first.text], dialect="duckdb")
            if kind.is_type(*_TEXT, *_WHOLE):
                entry = DescriptorEntry(Path(first.text), _INDEXED)
                found.setdefault(entry.id, entry)
    return tuple(found.values())


def _property(table: Table, name: str) -> tuple[DescriptorEntry, ...]:
    text = dict(table.properties).get(name)
    return parse_descriptor(text) if text else ()


def ever_described(layouts: Iterable[Table]) -> tuple[DescriptorEntry, ...]:
    """What identifies a person in any definition that a table's layouts had, oldest first.

    A path is compared as its newest definition says: that may be another normaliser only where
    nothing was on record by the one before. Those that are plain are all kept.
    """
    found: dict[tuple[str, str], list[DescriptorEntry]] = {}
    for table in layouts:
        stated: dict[tuple[str, str], list[DescriptorEntry]] = {}
        for entry in _property(table, PROPERTY):
            stated.setdefault((str(entry.path), entry.type), []).append(entry)
        for name, entries in stated.items():
            known = [e for e in (*found.get(name, ()), *entries) if e.normaliser.is_plain]
            is_plain = len([e for e in entries if e.normaliser.is_plain]) == len(entries)
            found[name] = known if is_plain else entries
    return tuple(dict.fromkeys(e for entries in found.values() for e in entries))


def forms_by_type(entries: Iterable[DescriptorEntry]) -> dict[str, tuple[Normaliser, ...]]:
    """The normalisers that entries have, each once, by the type of identifier."""
    found: dict[str, dict[Normaliser, None]] = {}
    for entry in entries:
        found.setdefault(entry.type, {})[entry.normaliser] = None
    return {name: tuple(normalisers) for name, normalisers in found.items()}


def _descriptor_error(message: str) -> PalimpsestError:
    return PalimpsestError(
        Code.INVALID_DEFINITION,
        f"the erasure descriptor cannot be used: {message}",
        advice="write it as 'email LOWER, contacts[].mail AS email, owner_id AS customer'",
    )
