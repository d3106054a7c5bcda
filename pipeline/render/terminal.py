"""Output of the command line: UTF-8 in any locale, one line and an exit code for an error, progress bars."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from pipeline.errors import LeftOutWarning, OutputError, TracemillError, write_failure
from pipeline.render.units import printable


def _speak_utf8() -> None:
    """Restart the process in UTF-8 mode if the locale has another encoding, and let any text be printed.

    DuckDB and Arrow take paths and names in UTF-8 only, and output files are UTF-8 on every machine.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_utf8 = stream.encoding.lower() in ("utf-8", "utf8")
            # Paths may have bytes that are not UTF-8: they are printed as they are.
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")


@contextmanager
def errors(debug: bool) -> Iterator[None]:
    """Turn an error into one line and an exit code, a warning into one line; `--debug` shows the traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", LeftOutWarning)
            warnings.showwarning = lambda message, *_: typer.echo(printable(f"warning: {message}"), err=True)
            yield
    except BrokenPipeError:
        raise typer.Exit(1) from None
    except (TracemillError, OSError, MemoryError) as error:
        if debug:
            raise
        raise typer.Exit(_told(error)) from error


@contextmanager
def printing() -> Iterator[None]:
    """Print, and flush at the end. Raises OutputError if standard output cannot be written."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        raise OutputError(write_failure("standard output", error)) from error


def run_in_utf8(app: Callable[[], None]) -> None:
    """Run the command line in UTF-8, and report what fails outside its commands."""
    _speak_utf8()
    try:
        app()
    except OSError as error:  # from printing outside the commands, such as help
        if "--debug" in sys.argv:
            raise
        sys.exit(_told(error))
    finally:
        _drop_unwritten()


def _told(error: BaseException) -> int:
    """Print an error as one line and return its exit code."""
    message = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{os.fsdecode(error.filename)}: {error.strerror}"
    typer.echo(f"error: {printable(message or type(error).__name__)}", err=True)
    return error.exit_code if isinstance(error, TracemillError) else 1


def _drop_unwritten() -> None:
    """Discard what could not be printed: Python would try again at exit, and change the exit code."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


@contextmanager
def progress_bars() -> Iterator[Callable[[Path, int], None] | None]:
    """One progress bar per file on a terminal, nothing in a pipe."""
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich import progress as rich_progress  # noqa: PLC0415

    bar: tuple[Any, ...] = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.DownloadColumn(),
        rich_progress.TransferSpeedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*bar, console=console, transient=True) as progress:
        tasks: dict[Path, Any] = {}

        def advance(path: Path, size: int) -> None:
            if path not in tasks:
                tasks[path] = progress.add_task(printable(path.name), total=path.stat().st_size)
            progress.advance(tasks[path], size)

        yield advance
