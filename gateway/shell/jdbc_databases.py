"""Databases that are reached by JDBC: their drivers, their dialects, and logins by reference.

A password is read from the environment or from a file when it is used, and stands in no URL, no
option, no record and no log. Reading and writing have logins of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from journal.model.errors import Code, PalimpsestError
from journal.model.lazy_dataclass import dataclass

JDBC = "jdbc:"
_DRIVERS = {
    "postgresql": ("org.postgresql.Driver", "postgres"),
    "mysql": ("com.mysql.cj.jdbc.Driver", "mysql"),
    "mariadb": ("org.mariadb.jdbc.Driver", "mysql"),
    "sqlserver": ("com.microsoft.sqlserver.jdbc.SQLServerDriver", "tsql"),
    "oracle": ("oracle.jdbc.OracleDriver", "oracle"),
    "h2": ("org.h2.Driver", "postgres"),
    "sqlite": ("org.sqlite.JDBC", "sqlite"),
}
_SECRET = re.compile(r"(?i)([?&;](password|pwd)=)|(//[^/@]*:[^/@]*@)|(/[^/@]*/[^/@]*@)")


@dataclass(frozen=True, slots=True)
class JdbcLogin:
    """Who logs in: a name, and where the password is; without them the environment says.

    ``use`` is READ or WRITE: PALIMPSEST_JDBC_READ_USER, .._READ_PASSWORD and their likes.
    """

    use: str
    user: str | None = None
    password_env: str | None = None
    password_file: str | None = None

    def credentials(self, environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
        """Name and password; raises SETTING_VALUE where what is named is not there."""
        prefix = f"PALIMPSEST_JDBC_{self.use}_"
        user = self.user or environment.get(f"{prefix}USER")
        if self.password_file is not None:
            try:
                password: str | None = Path(self.password_file).read_text().strip()
            except OSError as error:
                raise _setting_error(
                    f"the file with the password cannot be read: {error.strerror}",
                    "name a file that only you can read",
                ) from error
        elif self.password_env is not None:
            password = environment.get(self.password_env)
            if password is None:
                raise _setting_error(
                    f"the environment has no {self.password_env}", "set it, or name another"
                )
        else:
            password = environment.get(f"{prefix}PASSWORD")
        return {"user": user, "password": password}


def is_jdbc(place: str) -> bool:
    """True for the URL of a database."""
    return place.lower().startswith(JDBC)


def check_jdbc_url(url: str) -> str:
    """The URL; raises SETTING_VALUE for one with a password, and for one of no database."""
    if not re.match(r"jdbc:[a-z0-9]+:", url.lower()):
        raise _setting_error("this is no JDBC URL", "write jdbc:postgresql://host/database")
    if _SECRET.search(url):
        raise _setting_error(
            "the URL has a password in it, which logs and histories would keep",
            "give --login and --password-env or --password-file",
        )
    return url


def driver_of(url: str) -> str | None:
    """The class of the driver of a URL; None where the driver registers itself."""
    return _DRIVERS.get(_kind(url), (None, ""))[0]


def dialect_of(url: str) -> str:
    """The dialect that a database takes; that of PostgreSQL for one that is not known."""
    return _DRIVERS.get(_kind(url), ("", "postgres"))[1]


def _kind(url: str) -> str:
    return url.split(":", 2)[1].lower()


def _setting_error(message: str, advice: str) -> PalimpsestError:
    return PalimpsestError(Code.SETTING_VALUE, message, advice=advice)
