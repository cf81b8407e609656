"""Maps DuckDB's exceptions to SQLSTATE, so that oracle and gateway errors compare; never raises.

A pattern is tried in order; the first that matches the exception's text decides.
"""

import re

import duckdb

_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"Failed to create foreign key", "42830"),
    (r"Data contains duplicates on indexed column", "23505"),
    (r"Index with name \S+ already exists", "42P07"),
    (r"(an index|a UNIQUE constraint that) depends on it", "2BP01"),
    (r"can only create an index on a base table", "42809"),
    (r"(duplicate key|PRIMARY KEY or UNIQUE constraint)", "23505"),
    (r"NOT NULL constraint failed", "23502"),
    (r"CHECK constraint failed", "23514"),
    (r"contains null values", "23502"),
    (r"Violates foreign key constraint", "23503"),
    (r"can(not)? affect the same target row more than once", "21000"),
    (r"More than one row returned by a subquery", "21000"),
    (r"ON CONFLICT DO UPDATE can not update the same row twice", "21000"),
    (r"(Table|View) with name \S+ does not exist", "42P01"),
    (r"Referenced table \"\S+\" not found", "42P01"),
    (r"Table with name \S+ already exists", "42P07"),
    (r"View with name \S+ already exists", "42P07"),
    (r"Schema with name \S+ already exists", "42P06"),
    (r"Schema with name \S+ does not exist", "3F000"),
    (r"Sequence with name \S+ already exists", "42P07"),
    (r"Sequence with name \S+ does not exist", "42P01"),
    (r"nextval: reached (maximum|minimum) value", "2200H"),
    (r"currval: sequence is not yet defined", "55000"),
    (r"Prepared statement .* does not exist", "26000"),
    (r"Parameter argument/count mismatch", "07001"),
    (r"Values were not provided for the following parameters", "07001"),
    (r"(Type|Macro Function) with name \S+ already exists", "42710"),
    (r"Function with name \S+ does not exist", "42883"),
    (r"No function matches", "42883"),
    (r"Column with name \S+ already exists", "42701"),
    (r"(Referenced (update )?column|does not have a column)", "42703"),
    (r"(column|Column).*not found", "42703"),
    (r"does not have a column named", "42703"),
    (r"duplicate alias", "42712"),
    (r"Ambiguous reference", "42702"),
    (r"Division by zero", "22012"),
    (r"must appear in the GROUP BY", "42803"),
    (r"LIMIT/OFFSET cannot be negative", "2201W"),
)

_COMPILED = tuple((re.compile(text, re.IGNORECASE), state) for text, state in _PATTERNS)

_CLASSES: tuple[tuple[type[duckdb.Error], str], ...] = (
    (duckdb.ConversionException, "22P02"),
    (duckdb.OutOfRangeException, "22003"),
    (duckdb.TypeMismatchException, "22000"),
    (duckdb.InvalidTypeException, "42804"),
    (duckdb.ConstraintException, "23000"),
    (duckdb.ParserException, "42601"),
    (duckdb.SyntaxException, "42601"),
    (duckdb.CatalogException, "42704"),
    (duckdb.DependencyException, "2BP01"),
    (duckdb.BinderException, "42000"),
    (duckdb.TransactionException, "25000"),
    (duckdb.NotImplementedException, "0A000"),
    (duckdb.InvalidInputException, "22023"),
)


def sqlstate_of(error: duckdb.Error) -> str:
    """Return the SQLSTATE an ordinary database would give for this DuckDB exception."""
    first_line = str(error).split("\n", 1)[0]
    for pattern, state in _COMPILED:
        if pattern.search(first_line):
            return state
    for kind, state in _CLASSES:
        if isinstance(error, kind):
            return state
    return "XX000"
