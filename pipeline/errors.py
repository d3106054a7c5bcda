"""Typed errors: each message says what is wrong and what to do; the class decides the exit code."""

import errno
import os
import re

# How DuckDB tells that the system has refused: by number behind its own words, or in them.
_ERRNO = re.compile(r'"errno":"(\d+)"')
_REASON = re.compile(r'Could not write file "[^"]*": (.+)')
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class TracemillError(Exception):
    """Base of everything this package raises on purpose. `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(TracemillError):
    """The request names something that does not exist or is ambiguous: a run, a step, a view."""

    exit_code = 2


class InputError(TracemillError):
    """A source file cannot be read, or holds nothing that can be analysed."""

    exit_code = 3


class WarehouseError(TracemillError):
    """The warehouse folder is missing, unreadable, or of another version."""

    exit_code = 4


class OutputError(TracemillError):
    """A result cannot be written: the workbook, the page, or what goes to the standard output."""

    exit_code = 5


class CatalogError(TracemillError):
    """A SQL file breaks the contract of the catalog: a fault of the package or of an extension, not of the data."""

    exit_code = 4


def write_failure(where: object, error: Exception, other: str = "") -> str:
    """Why something cannot be written, and what to do; `other` says how another place is chosen."""
    number = getattr(error, "errno", None)
    if number is None and (told := _ERRNO.search(str(error))):
        number = int(told[1])
    said = _REASON.search(str(error))
    reason = os.strerror(number) if number else said[1] if said else str(error).partition("\n")[0]
    remedies = [*(["free space there"] if number in _FULL or not number else []), *([other] if other else [])]
    return f"{where}: cannot be written: {reason}" + (f"; {', or '.join(remedies)}" if remedies else "")


class LeftOutWarning(UserWarning):
    """Something in a folder looks like a profile and is not read."""
