"""The files of a comparison: a workbook and a page, which get their names when all of them are whole."""

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
    """What writes each file, by its ending, with all made ready that does not depend on rows.

    Imported where they are used: their libraries take a fifth of the start of every command and worker process.
    Raises UsageError for a kind of file that there is not.
    """
    if unknown := set(wanted) - set(FILES):
        raise UsageError(f"no file {', '.join(sorted(unknown))}; there are: {', '.join(FILES)}")
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
    """Write the files under temporary names first. Raises OutputError where they cannot be written."""
    stem = f"performance_comparison_result_{dt.datetime.now(dt.timezone.utc):%Y%m%d%H%M%S%f}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tracemill-", dir=folder) as unfinished:
            made = [
                path for ending, write in writers.items() for path in write(result, Path(unfinished, f"{stem}{ending}"))
            ]
            return [path.replace(folder / path.name) for path in made]
    except OSError as error:
        raise OutputError(write_failure(folder, error, "choose another with -o")) from error
