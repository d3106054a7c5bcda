"""Arguments and options of the commands, declared for typer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats of `sql`."""

    table = "table"
    csv = "csv"
    json = "json"
    markdown = "markdown"


class Form(StrEnum):
    """Which form of an Ascend profile to read: its database or its text export."""

    database = "database"
    text = "text"


WarehouseOption = Annotated[
    Path | None,
    typer.Option(
        "--warehouse",
        "-w",
        metavar="DIR",
        help="Warehouse folder (default: $TRACEMILL_WAREHOUSE, else ./tracemill-warehouse).",
    ),
]
ViewsOption = Annotated[
    Path | None,
    typer.Option("--views", metavar="DIR", help="Folder of your own views (in addition to views/ in the warehouse)."),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Fail if a trace had to be mended, or if one in a folder was left out.")
]
LazyOption = Annotated[
    bool,
    typer.Option("--lazy", help="Only read the traces; results are computed when a comparison or query needs them."),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory for DuckDB, such as 2GB (default: half of the machine)."),
]
WorkersOption = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=0, help="Files read at once (0: as many as cores and memory allow)."),
]
PreferOption = Annotated[
    Form, typer.Option("--prefer", help="What to read if an Ascend profile has both a database and text files.")
]
FlowOption = Annotated[
    str | None,
    typer.Option(
        "--gpu-flow-cat",
        metavar="NAME",
        help="Category of the flows that identify launches where correlation ids do not (default: any).",
    ),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show a traceback on errors.")]
# For `compare` only.
Base = Annotated[str, typer.Argument(metavar="BASE", help="Trace, profile folder, run id or label to compare with.")]
Compared = Annotated[
    str, typer.Argument(metavar="COMPARISON", help="Trace, profile folder, run id or label to compare.")
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the workbook and the HTML page.")
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="VIEW", help="Show only this comparison (repeatable).")
]
SkipOption = Annotated[
    list[str] | None, typer.Option("--skip", metavar="VIEW", help="Leave out this comparison (repeatable).")
]
BaseStepOption = Annotated[int | None, typer.Option("--base-step", metavar="N", help="Compare this step of the base.")]
ComparisonStepOption = Annotated[
    int | None, typer.Option("--comparison-step", metavar="N", help="Compare this step of the comparison.")
]
AverageStepOption = Annotated[
    bool, typer.Option("--average-step", help="Compare the average complete step of each run, not whole runs.")
]
TopOption = Annotated[int, typer.Option("--top", metavar="N", min=0, help="Rows of each table on screen.")]
WorkbookOption = Annotated[bool, typer.Option("--xlsx/--no-xlsx", help="Write the workbook.")]
PageOption = Annotated[bool, typer.Option("--html/--no-html", help="Write the HTML page.")]
DetailsOption = Annotated[bool, typer.Option("--details/--no-details", help="Include tables with one row per call.")]
ModulesOption = Annotated[
    bool, typer.Option("--modules/--disable-module", help="Show modules instead of operators if both runs have them.")
]
MaxKernelOption = Annotated[
    int | None,
    typer.Option("--max-kernel-num", metavar="N", help="Open operators with more kernels into those inside (N > 3)."),
]
InputShapeOption = Annotated[bool, typer.Option("--use-input-shape", help="Pair operators by name and input shapes.")]
NameMapOption = Annotated[
    str | None,
    typer.Option("--op-name-map", metavar="FILE|JSON", help="Map of names to use instead when pairing (JSON)."),
]
