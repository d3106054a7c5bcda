"""The command line: parses arguments, calls the API, prints results, and turns errors into exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import pipeline
from pipeline.arguments import (
    AverageStepOption,
    Base,
    BaseStepOption,
    Compared,
    ComparisonStepOption,
    DebugOption,
    DetailsOption,
    FlowOption,
    Form,
    Format,
    InputShapeOption,
    LazyOption,
    MaxKernelOption,
    MemoryOption,
    ModulesOption,
    NameMapOption,
    OnlyOption,
    OutputOption,
    PageOption,
    PreferOption,
    SkipOption,
    StrictOption,
    TopOption,
    ViewsOption,
    WarehouseOption,
    WorkbookOption,
    WorkersOption,
)
from pipeline.comparison.dropin import translated
from pipeline.render.terminal import errors, printing, progress_bars, run_in_utf8
from pipeline.render.units import printable

# Each command imports what it needs: imported here, that would take four fifths of the time of `--help`.
app = typer.Typer(
    cls=TyperGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Profiler traces in, SQL answers out: why is this run slower or bigger than that one, and where?",
)


class _Compare(TyperCommand):
    """`compare`, which also takes the options of msprof-analyze."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after `translated` has put them into our spelling."""
        return super().parse_args(ctx, translated(args))


@app.command(cls=_Compare)
def compare(
    base: Base,
    comparison: Compared,
    output: OutputOption = Path(),
    warehouse: WarehouseOption = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    base_step: BaseStepOption = None,
    comparison_step: ComparisonStepOption = None,
    own_views: ViewsOption = None,
    average_step: AverageStepOption = False,
    top: TopOption = 10,
    xlsx: WorkbookOption = True,
    html: PageOption = True,
    details: DetailsOption = True,
    modules: ModulesOption = True,
    max_kernel_num: MaxKernelOption = None,
    use_input_shape: InputShapeOption = False,
    op_name_map: NameMapOption = None,
    strict: StrictOption = False,
    prefer: PreferOption = Form.database,
    gpu_flow_cat: FlowOption = None,
    memory: MemoryOption = None,
    workers: WorkersOption = 0,
    debug: DebugOption = False,
) -> None:
    """Compare two runs: print a summary, and write a workbook and an HTML page into the output folder."""
    from pipeline.comparison.matching import Matching, read_name_map  # noqa: PLC0415

    with errors(debug), progress_bars() as progress:
        result = pipeline.compare(
            base,
            comparison,
            output=output,
            warehouse=warehouse,
            choice=pipeline.Choice(
                only or (), skip or (), details, modules, base_step, comparison_step, average_step, own_views
            ),
            matching=Matching(use_input_shape, read_name_map(op_name_map or "{}"), max_kernel_num),
            options=pipeline.ReadOptions(strict, prefer.value, gpu_flow_cat, memory, workers, progress),
            files=[name for name, wanted in (("xlsx", xlsx), ("html", html)) if wanted],
        )
    from pipeline.render.console import print_comparison  # noqa: PLC0415

    with errors(debug), printing():
        print_comparison(result, sys.stdout, top)
        for path in result.files:
            typer.echo(f"wrote {path}")


@app.command()
def ingest(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Trace files, profile folders, or folders that contain them.")
    ],
    label: Annotated[
        str | None, typer.Option("--label", help="Name of the execution (default: the name of the file or folder).")
    ] = None,
    warehouse: WarehouseOption = None,
    strict: StrictOption = False,
    prefer: PreferOption = Form.database,
    gpu_flow_cat: FlowOption = None,
    lazy: LazyOption = False,
    memory: MemoryOption = None,
    workers: WorkersOption = 0,
    debug: DebugOption = False,
) -> None:
    """Read traces into the warehouse, each as one run."""
    with errors(debug), progress_bars() as progress:
        options = pipeline.ReadOptions(strict, prefer.value, gpu_flow_cat, memory, workers, progress, lazy)
        done = pipeline.ingest(runs, label=label, warehouse=warehouse, options=options)
    with errors(debug), printing():
        for run in done:
            typer.echo(f"{run.run_id}  {run.source}" + ("" if run.is_new else "  (already in the warehouse)"))
            if run.note:
                typer.echo(printable(run.note), err=True)
            for problem in run.problems:
                typer.echo(printable(f"warning: {run.run_id}: {problem}"), err=True)


@app.command()
def runs(warehouse: WarehouseOption = None, debug: DebugOption = False) -> None:
    """List the runs in the warehouse."""
    from pipeline.render.console import print_rows  # noqa: PLC0415

    with errors(debug):
        found = pipeline.table("run", warehouse=warehouse)
        with printing():
            print_rows(found, sys.stdout)


@app.command()
def steps(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Run id or label (default: all runs).")] = None,
    warehouse: WarehouseOption = None,
    debug: DebugOption = False,
) -> None:
    """List the steps of a run, or of all runs."""
    from pipeline.render.console import print_rows  # noqa: PLC0415

    with errors(debug):
        found = pipeline.table("step", run=run, warehouse=warehouse)
        with printing():
            print_rows(found, sys.stdout)


@app.command()
def views(warehouse: WarehouseOption = None, own_views: ViewsOption = None, debug: DebugOption = False) -> None:
    """List the views that can be queried."""
    with errors(debug):
        marts = pipeline.views(warehouse=warehouse, own_views=own_views).marts
        width = max(len(view.qualified) for view in marts)
        with printing():
            for view in marts:
                typer.echo(f"{view.qualified:<{width}}  {view.summary}")


@app.command()
def describe(
    view: Annotated[str, typer.Argument(metavar="VIEW")],
    show_sql: Annotated[bool, typer.Option("--sql", help="Show the view's SQL instead.")] = False,
    warehouse: WarehouseOption = None,
    own_views: ViewsOption = None,
    debug: DebugOption = False,
) -> None:
    """Describe a view: what it holds, its rules, grain and columns."""
    from pipeline.catalog.dictionary import describe_view  # noqa: PLC0415

    with errors(debug):
        found = pipeline.views(warehouse=warehouse, own_views=own_views).mart(view)
        text = found.body if show_sql else describe_view(found)
        with printing():
            typer.echo(text)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT over marts.* and the layers below it.")],
    warehouse: WarehouseOption = None,
    output_format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.table,
    own_views: ViewsOption = None,
    memory: MemoryOption = None,
    debug: DebugOption = False,
) -> None:
    """Query the warehouse, read-only."""
    from pipeline.render.tabular import WRITERS  # noqa: PLC0415

    with errors(debug):
        rows = pipeline.query(query, warehouse=warehouse, memory=memory, own_views=own_views)
        with printing():
            WRITERS[output_format.value](rows, sys.stdout)


def _version(wanted: bool) -> None:
    if wanted:
        from pipeline.catalog.catalog import CATALOG_VERSION, Catalog  # noqa: PLC0415

        catalog = Catalog()
        typer.echo(f"tracemill {pipeline.__version__}, catalog {CATALOG_VERSION} ({catalog.fingerprint})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Accept the options that come before a command."""


def main() -> None:
    """Run the command `tracemill`."""
    run_in_utf8(app)


if __name__ == "__main__":
    main()
