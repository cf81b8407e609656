"""What a path of SQL/JSON consists of, as values. Pure.

An expression gives a sequence of items; a predicate is true, false or unknown.
"""

from __future__ import annotations

from journal.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Root:
    """``$``"""


@dataclass(frozen=True, slots=True)
class Current:
    """``@``"""


@dataclass(frozen=True, slots=True)
class Last:
    """``last``"""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, a truth or null, as a text of JSON."""

    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name``"""

    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``+ x`` or ``- x``"""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """``x + y``, ``-``, ``*``, ``/`` and ``%``"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """``.key``"""

    key: str


@dataclass(frozen=True, slots=True)
class Members:
    """``.*``"""


@dataclass(frozen=True, slots=True)
class Elements:
    """``[*]``"""


@dataclass(frozen=True, slots=True)
class Subscripts:
    """``[1, 3 to last]``: pairs of a first and a last place, of which the last may be missing."""

    ranges: tuple[tuple[Expression, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Levels:
    """``.**{1 to 3}``; None stands for ``last``."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """``? (predicate)``"""

    condition: Predicate


@dataclass(frozen=True, slots=True)
class Method:
    """``.size()``"""

    name: str


@dataclass(frozen=True, slots=True)
class Accessed:
    """Accessed from the items of an expression, or from the truth of a predicate."""

    head: Node
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """``x < y``"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Junction:
    """``p && q`` and ``p || q``"""

    operator: str
    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Not:
    """``! (p)``"""

    operand: Predicate


@dataclass(frozen=True, slots=True)
class IsUnknown:
    """``(p) is unknown``"""

    operand: Predicate


@dataclass(frozen=True, slots=True)
class Exists:
    """``exists (x)``"""

    operand: Expression


@dataclass(frozen=True, slots=True)
class StartsWith:
    """``x starts with "a"``"""

    operand: Expression
    initial: Constant | Variable


@dataclass(frozen=True, slots=True)
class LikeRegex:
    """``x like_regex "a.*" flag "i"``"""

    operand: Expression
    pattern: str
    flags: str


Step = Member | Members | Elements | Subscripts | Levels | Filter | Method
Expression = Root | Current | Last | Constant | Variable | Unary | Binary | Accessed
Predicate = Compared | Junction | Not | IsUnknown | Exists | StartsWith | LikeRegex
PREDICATES = (Compared, Junction, Not, IsUnknown, Exists, StartsWith, LikeRegex)
Node = Expression | Predicate


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A whole path."""

    is_lax: bool
    body: Node
