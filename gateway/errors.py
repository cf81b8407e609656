"""The PEP 249 exceptions, and the one place where errors of the lower layers become them.

Exception
+-- Warning
+-- Error                  .code .sqlstate .position .advice
    +-- InterfaceError     wrong use of this interface
    +-- DatabaseError
        +-- DataError           values: conversion, range          (22)
        +-- OperationalError    the store, conflicts, limits       (08 25 28 40 53 54 55 57 58)
        +-- IntegrityError      keys and constraints               (23)
        +-- InternalError       a defect of the gateway            (XX)
        +-- ProgrammingError    the statement                      (21 34 3D 3F 42 44 ..)
        +-- NotSupportedError   what is not supported              (0A)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from journal.model.errors import Code, PalimpsestError, Position
from journal.model.failures import failures


class Warning(Exception):  # noqa: A001 - the name PEP 249 demands
    """Important warnings; never raised."""


class Error(Exception):
    """Base of all errors.

    ``code`` is the stable code (docs/errors.md), ``sqlstate`` five characters, ``message`` what
    happened, ``advice`` what to do, and ``position`` the place in the statement or None.

    >>> import gateway
    >>> try:
    ...     _ = gateway.connect("palimpsest://").execute("SELECT * FORM t")
    ... except gateway.Error as error:
    ...     print(error.code, error.sqlstate, error.position, error.advice)
    PAL-101 42601 line 1, column 10 did you mean FROM?
    """

    def __init__(self, error: PalimpsestError) -> None:
        super().__init__(str(error))
        self.code: str = error.code.value.code
        self.sqlstate: str = error.sqlstate
        self.message: str = error.message
        self.advice: str = error.advice
        self.position: Position | None = error.position


class InterfaceError(Error):
    """Wrong use of the interface rather than of the database."""


class DatabaseError(Error):
    """Errors of the database."""


class DataError(DatabaseError):
    """Values that cannot be processed."""


class OperationalError(DatabaseError):
    """Errors of operation, not necessarily under the programmer's control."""


class IntegrityError(DatabaseError):
    """A key or constraint would be violated."""


class InternalError(DatabaseError):
    """The gateway met a state that must not be."""


class ProgrammingError(DatabaseError):
    """The statement is wrong."""


class NotSupportedError(DatabaseError):
    """The statement or clause is not supported."""


_BY_STATE_CLASS: dict[str, type[DatabaseError]] = {
    "22": DataError,
    "23": IntegrityError,
    "0A": NotSupportedError,
    "XX": InternalError,
    "08": OperationalError,
    "25": OperationalError,
    "28": OperationalError,
    "40": OperationalError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
}
_INTERFACE = frozenset({Code.CLOSED, Code.NO_RESULT, Code.INTERFACE, Code.URL})


def mapped(error: PalimpsestError) -> Error:
    """The PEP 249 exception for an error of the lower layers."""
    if error.code in _INTERFACE:
        return InterfaceError(error)
    return _BY_STATE_CLASS.get(error.sqlstate[:2], ProgrammingError)(error)


TOO_DEEP = PalimpsestError(
    Code.NESTING_TOO_DEEP,
    "the statement is a chain of operators too long to parse",
    advice="split it with CTEs, or put a long list into IN (...) or a table",
)


class _Mapping:
    """See ``mapping``; as a generator, each call of a client would take longer."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        try:
            with failures():
                raise error
        except PalimpsestError as found:
            if isinstance(found.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from mapped(found)
            raise mapped(found) from found
        except RecursionError:
            raise mapped(TOO_DEEP) from None


_MAPPING = _Mapping()


def mapping() -> AbstractContextManager[None]:
    """Turn errors of the lower layers into PEP 249 exceptions, and Ctrl-C into Python's own."""
    return _MAPPING
