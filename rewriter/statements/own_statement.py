"""Statements of our own that stand in a module each, and the list of these modules.

    tokens --read--> OwnStatement --check--> allowed --rewrite--> StatementPlan

Parser, checks and rewriter know them as ``OwnStatement`` alone; a module is imported when one of
its statements is first read. Decides nothing about any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from sqlglot.tokenizer_core import Token

from journal.model.lazy_dataclass import dataclass
from journal.model.plan import StatementPlan


class OwnStatement(ABC):
    """A statement of a module in ``rewriter/own``: a frozen value that knows its way.

    ``Any`` stands for types of layers above this one, which the modules name.
    """

    __slots__ = ()
    makes_ids: ClassVar[bool] = False
    """Whether its plan may take a new id, of a table, a layout or a counter."""

    @classmethod
    @abstractmethod
    def read(cls, tokens: list[Token], parse: Any) -> OwnStatement | None:
        """The statement of these tokens, the first of which is its first word; None: another's.

        ``parse`` is a ``Parse`` of ``rewriter.syntax.token_reader``. Raises SYNTAX.
        """

    @abstractmethod
    def check(self, access: Any) -> None:
        """Raise what ``StatementAccess`` raises where the client may not run it."""

    @abstractmethod
    def rewrite(self, context: Any) -> StatementPlan:
        """The plan of the statement in a ``RewriteContext``."""


@dataclass(frozen=True, slots=True)
class OwnEntry:
    r"""Where a statement stands: its module's constant ``STATEMENT``, and its form for ``\h``."""

    module: str
    form: str


OWN: dict[str, OwnEntry] = {
    "UNDROP": OwnEntry(
        "rewriter.own.undrop", "UNDROP TABLE t    (rows and history come back with it)"
    ),
    "CREATE TYPE": OwnEntry(
        "rewriter.own.create_type",
        """CREATE TYPE e AS ENUM ('a', 'b') | CREATE TYPE s AS STRUCT(a INTEGER, ..)
CREATE DOMAIN d AS type [DEFAULT ..] [NOT NULL] [CHECK (VALUE ..)]""",
    ),
    "ALTER DOMAIN": OwnEntry(
        "rewriter.own.alter_domain",
        """ALTER DOMAIN d ADD CONSTRAINT c CHECK (VALUE ..) [NOT VALID] | VALIDATE CONSTRAINT c
  | RENAME CONSTRAINT c TO e | DROP CONSTRAINT c | SET DEFAULT .. | DROP DEFAULT
  | SET NOT NULL | DROP NOT NULL | RENAME TO f | SET SCHEMA x""",
    ),
    "ALTER TYPE": OwnEntry(
        "rewriter.own.alter_type",
        """ALTER TYPE e ADD VALUE 'c' [BEFORE | AFTER 'b'] | RENAME VALUE 'a' TO 'x' | RENAME TO f
  | SET SCHEMA x | ADD ATTRIBUTE a type | DROP ATTRIBUTE [IF EXISTS] a
  | ALTER ATTRIBUTE a TYPE type | RENAME ATTRIBUTE a TO b, ..""",
    ),
    "DROP TYPE": OwnEntry(
        "rewriter.own.drop_type", "DROP TYPE | DOMAIN [IF EXISTS] t, .. [CASCADE | RESTRICT]"
    ),
    "CREATE SCHEMA": OwnEntry(
        "rewriter.own.create_schema", "CREATE SCHEMA [IF NOT EXISTS] s [AUTHORIZATION role]"
    ),
    "CREATE SEQUENCE": OwnEntry(
        "rewriter.own.create_sequence",
        """CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] s [START n] [INCREMENT n]
  [MINVALUE n] [MAXVALUE n] [CYCLE] [OWNED BY t.c]     SELECT nextval('s')""",
    ),
    "ALTER SEQUENCE": OwnEntry(
        "rewriter.own.alter_sequence",
        "ALTER SEQUENCE [IF EXISTS] s RESTART [WITH n] | options | RENAME TO r | SET SCHEMA x",
    ),
    "DROP SEQUENCE": OwnEntry(
        "rewriter.own.drop_sequence", "DROP SEQUENCE [IF EXISTS] s, .. [CASCADE | RESTRICT]"
    ),
    "CREATE MACRO": OwnEntry(
        "rewriter.own.create_macro",
        """CREATE [OR REPLACE] [TEMP] MACRO m(a, b := 1) AS expression | TABLE query
  [, (a) AS another form]""",
    ),
    "CREATE FUNCTION": OwnEntry(
        "rewriter.own.create_function",
        """CREATE [OR REPLACE] FUNCTION f(a INTEGER, b TEXT DEFAULT 'x') RETURNS type | SETOF type
  | TABLE (c type, ..) LANGUAGE sql [IMMUTABLE | STRICT | ..] AS $$ query $$ | RETURN value""",
    ),
    "CREATE FUNCTION PLPGSQL": OwnEntry(
        "rewriter.own.create_routine",
        """CREATE [OR REPLACE] FUNCTION f() RETURNS trigger LANGUAGE PLPGSQL AS $$
BEGIN NEW.c := value; RETURN NEW; END $$""",
    ),
    "CREATE TRIGGER": OwnEntry(
        "rewriter.own.create_trigger",
        """CREATE [OR REPLACE] TRIGGER x BEFORE INSERT | UPDATE [OF a, ..] [OR ..] ON t FOR EACH ROW
  [WHEN (condition)] EXECUTE FUNCTION f(['argument', ..])""",
    ),
    "ALTER TRIGGER": OwnEntry("rewriter.own.alter_trigger", "ALTER TRIGGER x ON t RENAME TO y"),
    "ALTER TABLE TRIGGER": OwnEntry(
        "rewriter.own.enable_trigger",
        "ALTER TABLE [IF EXISTS] t ENABLE | DISABLE TRIGGER x | ALL | USER",
    ),
    "DROP TRIGGER": OwnEntry(
        "rewriter.own.drop_trigger", "DROP TRIGGER [IF EXISTS] x ON t [CASCADE | RESTRICT]"
    ),
    "CREATE POLICY": OwnEntry(
        "rewriter.own.create_policy",
        """CREATE POLICY p ON t [AS PERMISSIVE | RESTRICTIVE]
  [FOR ALL | SELECT | INSERT | UPDATE | DELETE] [TO role, ..] [USING (..)] [WITH CHECK (..)]""",
    ),
    "ALTER POLICY": OwnEntry(
        "rewriter.own.alter_policy",
        "ALTER POLICY p ON t [TO role, ..] [USING (..)] [WITH CHECK (..)] | RENAME TO q",
    ),
    "DROP POLICY": OwnEntry("rewriter.own.drop_policy", "DROP POLICY [IF EXISTS] p ON t"),
    "ALTER TABLE ROW LEVEL SECURITY": OwnEntry(
        "rewriter.own.row_level_security",
        "ALTER TABLE [ONLY] t ENABLE | DISABLE | FORCE | NO FORCE ROW LEVEL SECURITY",
    ),
    "DROP MACRO": OwnEntry("rewriter.own.drop_macro", "DROP MACRO [TABLE] [IF EXISTS] m"),
}
"""By the words with which a statement begins, the first of which decides who reads it."""


def read_own(tokens: list[Token], parse: Any) -> OwnStatement | None:
    """The statement of our own that these tokens are, if they are one."""
    for kind in _kinds_of(tokens[0].text.upper()):
        found = kind.read(tokens, parse)
        if found is not None:
            return found
    return None


@cache
def _kinds_of(word: str) -> tuple[type[OwnStatement], ...]:
    modules = [entry.module for words, entry in OWN.items() if words.split()[0] == word]
    return tuple(import_module(module).STATEMENT for module in modules)
