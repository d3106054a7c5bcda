"""The files of a comparison: a workbook and a page, which get their final names once all of them are complete."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.comparison.result import Comparison
from pipeline.errors import OutputError, UsageError, write_failure

FILES = ("xlsx", "html")
Writer = Callable[[Comparison, Path], Iterator[Path]]


def writers(wanted: Iterable[str]) -> dict[str, Writer]:
    """The functions that write each kind of file, by its ending; everything that does not depend on rows is prepared.

    They are imported on use: their libraries would take a fifth of the start-up time of every command and worker.
    Raises UsageError for an unknown kind of file.
    """
    if unknown := set(wanted) - set(FILES):
        raise UsageError(f"unknown kind of file: {', '.join(sorted(unknown))}; use {' or '.join(FILES)}")
    found: dict[str, Writer] = {}
    if "xlsx" in wanted:
        from pipeline.render.workbook.xlsx import write_xlsx  # noqa: PLC0415

        found[".xlsx"] = write_xlsx
    if "html" in wanted:
        from pipeline.render.page.html import prepare, write_html  # noqa: PLC0415

        prepare()
        found[".html"] = write_html
    return found


def write_files(result: Comparison, folder: Path, writers: Mapping[str, Writer]) -> list[Path]:
    """Write the files, first into a temporary folder. Raises OutputError if they cannot be written."""
    stem = f"performance_comparison_result_{dt.datetime.now(dt.UTC):%Y%m%d%H%M%S%f}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tracemill-", dir=folder) as unfinished:
            made = [
                path for ending, write in writers.items() for path in write(result, Path(unfinished, f"{stem}{ending}"))
            ]
            return [path.replace(folder / path.name) for path in made]
    except OSError as error:
        raise OutputError(write_failure(folder, error, "choose another with -o")) from error
