"""Writes a workbook of many rows: a comparison of kernels that all have different names, shapes and figures.

usage: workbook.py ROWS OUT.xlsx              write it as `tracemill compare` does
       workbook.py ROWS OUT.xlsx --by-cell    write each cell by xlsxwriter's write_string and write_number
       workbook.py ROWS OUT.xlsx --rows-only  only make the rows, to measure what they take by themselves
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import duckdb  # noqa: E402
import xlsxwriter  # noqa: E402

from pipeline.catalog.catalog import Catalog  # noqa: E402
from pipeline.catalog.header import Column  # noqa: E402
from pipeline.comparison.result import Comparison, ResultTable, Side  # noqa: E402
from pipeline.render.workbook.xlsx import write_xlsx  # noqa: E402

# A SQL expression for each column type, of row number i. One row in seven has no figures.
_VALUES = {
    "id": "'run'",
    "name": "format('void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<{}>>(int)', i)",
    "text": "format('[[16, 512, 768], [768, {}], []]', i % 97)",
    "category": "case i % 3 when 0 then 'Matmul' when 1 then 'Vector' else 'Communication' end",
    "duration_ns": "case when i % 7 <> 3 then (hash(i) % 100000000)::bigint end",
    "count": "case when i % 7 <> 3 then i % 50 end",
    "ratio": "case when i % 7 <> 3 then (hash(i) % 1000) / 337.0::double end",
}


def table(rows: int) -> ResultTable:
    """A comparison of `rows` kernels."""
    view = Catalog().mart("kernel_comparison")
    columns = ", ".join(f"{_VALUES[column.type]} as {column.name}" for column in view.columns)
    with duckdb.connect() as connection:
        return ResultTable(view, connection.sql(f"select {columns} from range({rows}) as t (i)").to_arrow_table())


def by_cell(found: ResultTable, path: Path) -> None:
    """Write the rows cell by cell with the least effort: no bands, no marks, no limit of rows."""
    with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as workbook:
        sheet, style = workbook.add_worksheet(), workbook.add_format({"num_format": "#,##0.000"})
        places = [(place, column, _is_text(column)) for place, column in enumerate(found.columns)]
        text, number = sheet.write_string, sheet.write_number
        row = 0
        for batch in found.rows.to_batches(max_chunksize=10_000):
            values = {column.name: batch[column.name].to_pylist() for column in found.columns}
            for in_batch in range(len(batch)):
                for place, column, is_text in places:
                    value = values[column.name][in_batch]
                    if value is not None:
                        text(row, place, value) if is_text else number(row, place, value, style)
                row += 1


def _is_text(column: Column) -> bool:
    return column.type in ("name", "text", "category")


def main() -> None:
    """Write one workbook."""
    rows, path, *lane = sys.argv[1:]
    found = table(int(rows))
    if lane == ["--by-cell"]:
        by_cell(found, Path(path))
    elif not lane:
        run = {"run_id": "run", "source_path": "trace.json", "status": "complete"}
        sides = Side(run, None), Side(run, None)
        list(write_xlsx(Comparison(*sides, {found.view.name: found}, "", ""), Path(path)))


if __name__ == "__main__":
    main()
