"""The source tree keeps its own rules: sizes, docstrings, words, and nothing left lying about."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.architecture.sources import PACKAGES, Source, sources

OURS = (*PACKAGES, "tests", "bench")

LINES_MAX = 450
TEST_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
MODULES_MAX = 66

BANNED = {
    r"\bTODO\b": "finish it, or open an issue",
    r"\bFIXME\b": "fix it",
    r"\bXXX\b": "say what is wrong in a sentence",
    r"\bNotImplementedError\b": "a refusal has a code and advice; a seam is a Protocol",
}
ENTRY_POINTS = frozenset({"gateway", "gateway.cli"})
NOISE_FREE = "tests/architecture/test_tidy.py"


def code_sources() -> tuple[Source, ...]:
    """The four packages."""
    return sources(*PACKAGES)


def test_files_fit_their_subject() -> None:
    too_long = []
    for source in sources(*OURS):
        limit = TEST_LINES_MAX if source.name.startswith("tests/") else LINES_MAX
        lines = source.text.count("\n")
        if lines > limit:
            too_long.append(f"{source.name}: {lines} lines, at most {limit}")
    assert not too_long, "split by noun or verb: " + "; ".join(too_long)


def test_folders_have_room() -> None:
    modules = Counter(str(Path(source.name).parent) for source in code_sources())
    full = [
        f"{f}: {n} modules, at most {MODULES_MAX}" for f, n in modules.items() if n > MODULES_MAX
    ]
    assert not full, "make folders by subject: " + "; ".join(full)


def test_functions_fit_a_screen() -> None:
    too_long = []
    for source in sources(*OURS):
        for function in source.functions:
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                too_long.append(f"{source.name}:{function.lineno} {function.name}: {lines} lines")
    assert not too_long, "\n".join(too_long)


def test_every_module_says_what_it_is() -> None:
    silent = [s.name for s in sources(*OURS) if s.text.strip() and not ast.get_docstring(s.tree)]
    assert not silent


def test_every_public_class_and_function_says_what_it_is() -> None:
    silent = []
    for source in code_sources():
        for node in source.tree.body:
            kinds = (ast.FunctionDef, ast.ClassDef)
            public = isinstance(node, kinds) and not node.name.startswith("_")
            if isinstance(node, kinds) and public and not ast.get_docstring(node):
                silent.append(f"{source.name}:{node.lineno} {node.name}")
    assert not silent, "\n".join(silent)


def test_banned_words() -> None:
    found = []
    for source in sources(*OURS):
        if source.name == NOISE_FREE:
            continue
        for pattern, instead in BANNED.items():
            for match in re.finditer(pattern, source.text):
                line = source.text.count("\n", 0, match.start()) + 1
                found.append(f"{source.name}:{line} {match.group()}: {instead}")
    assert not found, "\n".join(found)


def test_every_duckdb_says_where_it_puts_rows_that_no_memory_holds() -> None:
    opens = {s.name for s in code_sources() if "duckdb.connect(" in s.text}
    assert opens == {"journal/local_engine/in_memory.py", "journal/local_engine/database_file.py"}


def test_temporary_files_lie_where_those_of_killed_processes_are_removed() -> None:
    names = r"\btempfile\.(mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile)\b"
    allowed = {
        "journal/local_engine/scratch.py",
        "gateway/demo/serving.py",  # a socket, whose path may not be long
    }
    found = {s.name for s in code_sources() if re.search(names, s.text)}
    assert found <= allowed, "use journal.local_engine.scratch: rows of people may lie there"


def test_files_are_named_after_what_they_hold() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "managers", "misc", "common"}
    assert not [source.name for source in sources(*OURS) if source.path.stem in vague]


def test_no_module_is_dead() -> None:
    imported: set[str] = set(ENTRY_POINTS)
    for source in sources(*PACKAGES, "tests", "bench"):
        own = source.module
        for node in ast.walk(source.tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = re.fullmatch(r"([a-z_]+(?:\.[a-z_]+)+)(:[a-z_]+)?", node.value)
                names = [named[1]] if named else []
            imported.update(name for name in names if name != own)
    dead = [
        source.name
        for source in code_sources()
        if source.module not in imported
        and source.path.name != "__init__.py"
        and source.path.name != "__main__.py"
        and source.module != "gateway.sqlalchemy_dialect"
    ]
    assert not dead, f"nothing imports {dead}"


def test_a_name_of_a_class_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for source in code_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(f"{source.name}:{node.lineno}")
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice


def test_nothing_subclasses_sqlglot() -> None:
    """The compiled sqlglot refuses instances of interpreted subclasses of its own classes."""
    found = []
    for source in code_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base) for base in node.bases}
                if any(
                    re.match(r"(sqlglot|exp)\.|(Dialect|Parser|Generator|Tokenizer)$", base)
                    for base in bases
                ):
                    found.append(f"{source.name}:{node.lineno} {node.name}")
    assert not found


def test_each_driver_has_one_home() -> None:
    homes = {
        "duckdb": r"journal/(local_engine|stores/embedded|files)/\w+\.py",
        "psycopg": r"journal/stores/postgres/(dialect/)?\w+\.py|gateway/network/link\.py",
        "pyhive": r"journal/stores/hive/client/\w+\.py",
        "pyspark": r"spark_compaction/engines/(session|daemon)\.py",
        "fsspec": r"journal/files/object_storage\.py",
        "sqlalchemy": (
            r"gateway/sqlalchemy_dialect\w*(\.py|/.*)|journal/stores/hive/catalog_db/\w+\.py"
        ),
        "pandas": r"gateway/dbapi/\w+\.py",
    }
    strays = []
    for source in code_sources():
        for node in ast.walk(source.tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module.partition(".")[0]]
            strays += [
                f"{source.name} imports {name}"
                for name in names
                if name in homes and not re.fullmatch(homes[name], source.name)
            ]
    assert not strays, "\n".join(strays)


def test_classes_with_slots_start_fast() -> None:
    """``dataclasses.dataclass`` is for classes that the project's own decorator does not take."""
    for source in sources(*PACKAGES):
        if source.path.name == "lazy_dataclass.py" or not _imports_the_standard_one(source.tree):
            continue
        options = {
            keyword.arg
            for node in ast.walk(source.tree)
            if isinstance(node, ast.ClassDef)
            for decorator in node.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
        }
        assert options - {"frozen", "slots", "eq"}, (
            f"{source.path}: import dataclass from journal.model.lazy_dataclass"
        )


def _imports_the_standard_one(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and any(alias.name == "dataclass" for alias in node.names)
        for node in tree.body
    )
