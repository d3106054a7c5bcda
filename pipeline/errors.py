"""Errors that users see: each message says what is wrong and what to do; the class decides the exit code."""

import errno
import os
import re

# DuckDB reports the reason of a failed system call as an `errno` after its message, or inside it.
_ERRNO = re.compile(r'"errno":"(\d+)"')
_REASON = re.compile(r'Could not write file "[^"]*": (.+)')
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class TracemillError(Exception):
    """Base of every error that this package raises on purpose. `exit_code` is that of the command line."""

    exit_code = 1


class UsageError(TracemillError):
    """The request names something that does not exist or is ambiguous, such as a run, a step or a view."""

    exit_code = 2


class InputError(TracemillError):
    """A source file cannot be read, or contains nothing that can be analysed."""

    exit_code = 3


class WarehouseError(TracemillError):
    """The warehouse folder is missing, cannot be read or written, or is of another version."""

    exit_code = 4


class OutputError(TracemillError):
    """A result cannot be written: the workbook, the page, or text on standard output."""

    exit_code = 5


class CatalogError(TracemillError):
    """A SQL file or a seed, built-in or a user's own, breaks the catalog's contract. The data is not at fault."""

    exit_code = 4


def write_failure(where: object, error: Exception, other: str = "") -> str:
    """A message: why something cannot be written, and what to do. `other` says how to choose another place."""
    number = getattr(error, "errno", None)
    if number is None and (told := _ERRNO.search(str(error))):
        number = int(told[1])
    said = _REASON.search(str(error))
    reason = os.strerror(number) if number else said[1] if said else str(error).partition("\n")[0]
    remedies = [*(["free space there"] if number in _FULL or not number else []), *([other] if other else [])]
    return f"{where}: cannot be written: {reason}" + (f"; {', or '.join(remedies)}" if remedies else "")


class LeftOutWarning(UserWarning):
    """Something was left out: a file or folder that looks like a profile, or a user's own view."""
