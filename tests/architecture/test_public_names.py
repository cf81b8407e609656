"""What `import gateway` offers is what PEP 249 asks for, the log, and nothing by accident."""

from __future__ import annotations

import gateway

PEP_249 = {
    "BINARY", "Binary", "DATETIME", "DataError", "DatabaseError", "Date", "DateFromTicks", "Error",
    "IntegrityError", "InterfaceError", "InternalError", "NUMBER", "NotSupportedError",
    "OperationalError", "ProgrammingError", "ROWID", "STRING", "Time", "TimeFromTicks",
    "Timestamp", "TimestampFromTicks", "Warning", "apilevel", "connect", "paramstyle",
    "threadsafety",
}  # fmt: skip


def test_the_public_names_are_listed() -> None:
    assert set(gateway.__all__) == PEP_249 | {"__version__", "configure_logging"}
    assert all(getattr(gateway, name) is not None for name in gateway.__all__)


def test_module_globals_of_pep_249() -> None:
    assert gateway.apilevel == "2.0"
    assert gateway.threadsafety in {1, 2, 3}
    assert gateway.paramstyle == "qmark"


def test_the_exception_tree_of_pep_249() -> None:
    below_database = (
        gateway.DataError, gateway.OperationalError, gateway.IntegrityError,
        gateway.InternalError, gateway.ProgrammingError, gateway.NotSupportedError,
    )  # fmt: skip
    assert all(issubclass(error, gateway.DatabaseError) for error in below_database)
    assert issubclass(gateway.DatabaseError, gateway.Error)
    assert issubclass(gateway.InterfaceError, gateway.Error)
    assert issubclass(gateway.Error, Exception)
