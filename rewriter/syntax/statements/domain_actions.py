"""What ALTER DOMAIN does to constraints and the default of a domain, read from its tokens.

ADD [CONSTRAINT name] CHECK (condition) [NOT VALID] | ADD [CONSTRAINT name] NOT NULL
DROP CONSTRAINT [IF EXISTS] name [CASCADE | RESTRICT] | VALIDATE CONSTRAINT name
RENAME CONSTRAINT name TO name | SET DEFAULT value | DROP DEFAULT | SET | DROP NOT NULL
"""

from __future__ import annotations

from sqlglot import exp

from journal.model.lazy_dataclass import dataclass
from rewriter.syntax.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class AddDomainCheck:
    """ADD [CONSTRAINT name] CHECK (condition) [NOT VALID]."""

    name: str | None
    condition: exp.Expr
    checks_rows: bool = True


@dataclass(frozen=True, slots=True)
class DropDomainCheck:
    """DROP CONSTRAINT [IF EXISTS] name."""

    name: str
    exists: bool = False


@dataclass(frozen=True, slots=True)
class ValidateDomainCheck:
    """VALIDATE CONSTRAINT name."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameDomainCheck:
    """RENAME CONSTRAINT old TO new."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class SetDomainNotNull:
    """SET NOT NULL, DROP NOT NULL."""

    required: bool


@dataclass(frozen=True, slots=True)
class SetDomainDefault:
    """SET DEFAULT value, DROP DEFAULT."""

    value: exp.Expr | None


DomainAction = (
    AddDomainCheck
    | DropDomainCheck
    | ValidateDomainCheck
    | RenameDomainCheck
    | SetDomainNotNull
    | SetDomainDefault
)


def read_domain_action(reader: TokenReader) -> DomainAction | None:
    """The action that stands here, or None for another, which leaves the reader where it is."""
    if reader.takes("ADD"):
        return _added(reader)
    if reader.takes("DROP", "CONSTRAINT"):
        exists = reader.takes("IF", "EXISTS")
        found = DropDomainCheck(reader.word(), exists)
        _ = reader.takes("CASCADE") or reader.takes("RESTRICT")
        return found
    if reader.takes("VALIDATE", "CONSTRAINT"):
        return ValidateDomainCheck(reader.word())
    if reader.takes("RENAME", "CONSTRAINT"):
        old = reader.word()
        if not reader.takes("TO"):
            raise reader.error("RENAME CONSTRAINT needs TO and the new name")
        return RenameDomainCheck(old, reader.word())
    if reader.takes("SET", "NOT", "NULL"):
        return SetDomainNotNull(True)
    if reader.takes("DROP", "NOT", "NULL"):
        return SetDomainNotNull(False)
    if reader.takes("SET", "DEFAULT"):
        return SetDomainDefault(reader.value())
    if reader.takes("DROP", "DEFAULT"):
        return SetDomainDefault(None)
    return None


def _added(reader: TokenReader) -> DomainAction:
    name = reader.word() if reader.takes("CONSTRAINT") else None
    if reader.takes("NOT", "NULL"):
        return SetDomainNotNull(True)
    if not reader.takes("CHECK"):
        raise reader.error("CHECK or NOT NULL was expected")
    condition = reader.value({"NOT"}).unnest()
    checks_rows = not reader.takes("NOT", "VALID")
    return AddDomainCheck(name, condition, checks_rows)
