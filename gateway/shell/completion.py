"""Completion that looks at where the cursor stands: tables after FROM, columns after an alias.

Pure apart from the catalog it is handed; it guesses from words, since what is being typed does not
parse yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from gateway.session.typed_names import table_name
from gateway.shell.formats import FORMATS
from gateway.shell.options import Options
from gateway.shell.syntax import FORMS
from journal.model.lazy_dataclass import dataclass
from journal.model.schema import CatalogSnapshot, Relation, Table, View, fold
from rewriter.reading.system import system_names
from rewriter.statements.own_statement import OWN

STATEMENTS = (
    "SELECT INSERT UPDATE DELETE MERGE CREATE ALTER DROP TRUNCATE BEGIN COMMIT ROLLBACK SAVEPOINT "
    "RELEASE WITH SET RESET SHOW DESCRIBE CALL COPY RESTORE OPTIMIZE VACUUM FROM VALUES "
    "EXPLAIN GRANT REVOKE BLAME"
).split()
STATEMENTS += [words.split()[0] for words in OWN if words.split()[0] not in STATEMENTS]
KEYWORDS = sorted(
    set(STATEMENTS)
    | set(
        "ALL AND ANY AS ASC BETWEEN BY CASE CAST CHECK COLUMN CONFLICT CONSTRAINT CROSS DEFAULT "
        "DESC DISTINCT DO ELSE END EXCEPT EXCLUDED EXISTS FALSE FETCH FILTER FIRST FOLLOWING FOR "
        "FULL GENERATED GROUP HAVING IF ILIKE IN INNER INTERSECT INTERVAL INTO IS JOIN KEY LAST "
        "LATERAL LEFT LIKE LIMIT MATCHED NATURAL NOT NOTHING NULL NULLS OF OFFSET ON OR ORDER "
        "OUTER OVER OVERWRITE PARTITION PRECEDING PRIMARY QUALIFY READ RECURSIVE REFERENCES RENAME "
        "REPLACE RETURNING RIGHT ROW ROWS SCHEMA SOURCE SYSTEM_TIME SYSTEM_VERSION TABLE THEN "
        "TIMESTAMP TO TRUE UNBOUNDED UNION UNIQUE USING VERSION VIEW WHEN WHERE WINDOW".split()
    )
)
FUNCTIONS = (
    "abs avg ceil coalesce concat count current_date current_timestamp date_diff date_part "
    "date_trunc dense_rank extract first_value floor greatest lag last_value lead least length "
    "list_agg lower max median min mode now nullif quantile_cont rank regexp_matches replace round "
    "row_number split_part sqrt stddev string_agg strftime substring sum table_blame "
    "table_changes table_diff table_history trim upper"
).split()
_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "USING", "COPY", "BLAME"}
)
_SWITCHED = ("on", "off")
OPTIONS = {
    "pset": tuple(Options().print_options()),
    "set": ("AUTOCOMMIT", "CONFIRM", "ON_ERROR_STOP", "VI_KEYS"),
    "timing": _SWITCHED,
    "x": (*_SWITCHED, "auto"),
}
"""What may stand first behind a command."""
PRINT_VALUES = {
    "expanded": (*_SWITCHED, "auto"),
    "footer": _SWITCHED,
    "format": tuple(FORMATS),
    "pager": _SWITCHED,
}
r"""What options of ``\pset`` take."""
_OF_RELATIONS = frozenset({"d", "dt", "dv", "dm", "dp", "sv", "ev"})
"""Commands that take the name of a table or view."""
_FILE = re.compile(r"\b(?:from|join|to|\w+\s*\()\s*'(?P<path>[^'\n]*)$", re.IGNORECASE)
"""The name of a file that a statement reads or writes, as far as it is typed."""
_COMMAND = re.compile(r"\\[^\\\n]*$")
_AFTER_COPY = re.compile(r".*\s(?:from|to)\s+\S*", re.IGNORECASE | re.DOTALL)
_BEFORE_COLUMNS = frozenset(
    {"SELECT", "WHERE", "ON", "BY", "SET", "HAVING", "AND", "OR", "WHEN", "THEN", "ELSE", "NOT"}
    | {"CASE", "RETURNING", "QUALIFY", "DISTINCT", "BETWEEN", "COLUMN"}
)
_WORD = re.compile(r'[\w"]*$')
_TOKENS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|[A-Za-z_]\w*|\"[^\"]*\"|[^\s\w]")
_SOURCE = re.compile(
    r'\b(?:FROM|JOIN|UPDATE|INTO|USING|TABLE)\s+(?P<first>[\w".]+)(?:\s+(?:AS\s+)?(?P<alias>\w+))?'
    r'(?P<more>(?:\s*,\s*[\w".]+(?:\s+(?:AS\s+)?\w+)?)*)',
    re.IGNORECASE,
)
_MORE = re.compile(r'(?P<name>[\w".]+)(?:\s+(?:AS\s+)?(?P<alias>\w+))?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that could stand at the cursor, what it replaces, and what it is."""

    text: str
    replaces: int
    kind: str


class Completer:
    """Candidates for a statement under the catalog of the moment."""

    def __init__(self, catalog: Callable[[], CatalogSnapshot], schema: Callable[[], str]) -> None:
        self._catalog = catalog
        self._schema = schema

    def candidates(self, text: str, cursor: int, commands: Iterable[str]) -> Iterator[Candidate]:
        """The candidates for the word at ``cursor`` in ``text``, likeliest first."""
        before = text[:cursor]
        command = _COMMAND.search(before)
        if command is not None and not _is_inside_literal(before[: command.start()]):
            yield from self._backslash(command.group(), commands)
            return
        if _is_inside_literal(before):
            file = _FILE.search(before)
            yield from () if file is None else _paths(file["path"])
            return
        found = _WORD.search(before)
        word = found.group() if found is not None else ""
        ahead = before[: len(before) - len(word)]
        yield from self._matching(word, self._choices(text, ahead, bool(word)))

    def _choices(self, text: str, ahead: str, typed: bool) -> Iterator[tuple[str, str]]:
        if ahead.endswith("."):
            yield from self._columns_after_dot(text, _qualifier(ahead))
            return
        last = _last_word(ahead)
        if last in _BEFORE_TABLES:
            yield from self._relations()
        elif last in _BEFORE_COLUMNS or last in {",", "(", "=", "<", ">", "+", "-", "*", "/"}:
            if last == "," and _clause(ahead) in _BEFORE_TABLES:
                yield from self._relations()
            else:
                yield from self._columns(text)
                yield from ((f, "function") for f in FUNCTIONS)
                if typed:
                    yield from ((k, "keyword") for k in KEYWORDS)
        elif last in {"", ";"}:
            yield from ((k, "keyword") for k in STATEMENTS)
        elif typed:
            yield from ((k, "keyword") for k in KEYWORDS)
            yield from self._columns(text)
            yield from ((f, "function") for f in FUNCTIONS)

    def _columns_after_dot(self, text: str, qualifier: str) -> Iterator[tuple[str, str]]:
        catalog = self._catalog()
        relation = self._sources(text).get(fold(qualifier)) or self._find(qualifier)
        if relation is not None:
            yield from _columns_of(relation)
        if fold(qualifier) == "system":
            yield from ((name, "table") for name in system_names("system"))
        for known in catalog.relations.values():
            if fold(known.name.schema) == fold(qualifier):
                yield known.name.name, "table" if isinstance(known, Table) else "view"

    def _relations(self) -> Iterator[tuple[str, str]]:
        catalog = self._catalog()
        for known in catalog.relations.values():
            own = fold(known.name.schema) == fold(self._schema())
            kind = "table" if isinstance(known, Table) else "view"
            yield (known.name.name if own else str(known.name)), kind
        yield from ((schema, "schema") for schema in (*catalog.schemas.values(), "system"))

    def _columns(self, text: str) -> Iterator[tuple[str, str]]:
        sources = self._sources(text)
        seen: set[str] = set()
        for relation in sources.values():
            for name, kind in _columns_of(relation):
                if name not in seen:
                    seen.add(name)
                    yield name, kind
        yield from ((alias, "alias") for alias in sources)

    def _sources(self, text: str) -> dict[str, Relation]:
        """Tables that the statement names, by alias."""
        found: dict[str, Relation] = {}
        for match in _SOURCE.finditer(text):
            pairs = [(match["first"], match["alias"])]
            pairs += [(m["name"], m["alias"]) for m in _MORE.finditer(match["more"])]
            for name, alias in pairs:
                relation = self._find(name)
                if relation is None:
                    continue
                is_alias = alias and alias.upper() not in KEYWORDS
                found[fold(alias if is_alias else relation.name.name)] = relation
        return found

    def _find(self, name: str) -> Relation | None:
        catalog = self._catalog()
        return catalog.get(table_name(name, catalog, self._schema()))

    def _matching(self, word: str, choices: Iterable[tuple[str, str]]) -> Iterator[Candidate]:
        wanted = fold(word.strip('"'))
        seen: set[str] = set()
        for text, kind in choices:
            if not fold(text).startswith(wanted) or text in seen:
                continue
            seen.add(text)
            yield Candidate(_in_typed_case(text, kind, word), len(word), kind)

    def _backslash(self, line: str, commands: Iterable[str]) -> Iterator[Candidate]:
        name, space, rest = line[1:].partition(" ")
        if not space:
            for command in commands:
                if command.startswith(name):
                    yield Candidate("\\" + command, len(name) + 1, "command")
        elif name in {"c", "i", "o", "e", "w", "s", "g", "gx", "cd"}:
            yield from _paths(rest)
        elif name in OPTIONS and " " not in rest:
            yield from self._matching(rest, ((text, "option") for text in OPTIONS[name]))
        elif name == "pset":
            option, _, typed = rest.partition(" ")
            values = PRINT_VALUES.get(option, ())
            yield from self._matching(typed, ((text, "option") for text in values))
        elif name == "copy" and _AFTER_COPY.fullmatch(rest):
            yield from _paths(rest.rpartition(" ")[2].lstrip("'"))
        elif name == "h":
            yield from self._matching(rest, ((form.lower(), "statement") for form in FORMS))
        elif name in _OF_RELATIONS or (name == "copy" and " " not in rest):
            schema, dot, bare = rest.rpartition(".")
            choices = self._columns_after_dot("", schema) if dot else self._relations()
            yield from self._matching(bare, choices)
        elif name == "preview":
            yield from self.candidates(rest, len(rest), ())


def is_noisy(before: str) -> bool:
    """True where a list that opens by itself would be in the way: it is still there on Tab."""
    if not before.strip() or before[-1] not in " \n(,":
        return not before.strip()
    return _last_word(before) not in _BEFORE_TABLES


def _columns_of(relation: Relation) -> Iterator[tuple[str, str]]:
    if isinstance(relation, View):
        yield from ((name, "column") for name in relation.columns)
    else:
        yield from ((column.name, "column") for column in relation.columns)


def _in_typed_case(text: str, kind: str, word: str) -> str:
    """Keywords take the case of what was typed; names that need it are quoted."""
    if kind in {"keyword", "function"}:
        lower = word.islower() if word else kind == "function"
        upper = kind == "keyword" and not lower
        return text.upper() if upper else text.lower()
    if kind == "alias" or re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _qualifier(ahead: str) -> str:
    found = re.search(r'([\w"]+)\.$', ahead)
    return str(found[1]).replace('"', "") if found is not None else ""


def _last_word(text: str) -> str:
    tokens = [t for t in _TOKENS.findall(text) if not t.startswith("--")]
    return tokens[-1].upper() if tokens else ""


def _clause(text: str) -> str:
    """The keyword that began the list the cursor is in."""
    for token in reversed(_TOKENS.findall(text)):
        if token.upper() in _BEFORE_TABLES | _BEFORE_COLUMNS:
            return str(token).upper()
    return ""


def _is_inside_literal(text: str) -> bool:
    rest = re.sub(r"'(?:[^']|'')*'|--[^\n]*\n", "", text)
    return "'" in rest or "--" in rest


def _paths(typed: str) -> Iterator[Candidate]:
    folder, _, name = typed.rpartition("/")
    base = Path(folder or ("/" if typed.startswith("/") else ".")).expanduser()
    if not base.is_dir():
        return
    for path in sorted(base.iterdir()):
        if path.name.startswith(name) and (name.startswith(".") or not path.name.startswith(".")):
            yield Candidate(path.name + ("/" if path.is_dir() else ""), len(name), "file")
