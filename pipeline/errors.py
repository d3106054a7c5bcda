"""Typed errors: each message says what is wrong and what to do; the class decides the exit code."""


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


class CatalogError(TracemillError):
    """A SQL file breaks the contract of the catalog: a fault of the package or of an extension, not of the data."""

    exit_code = 4


class LeftOutWarning(UserWarning):
    """Something in a folder looks like a profile and is not read."""
