from pathlib import Path

from pipeline.result import Comparison


def write_html(result: Comparison, path: Path) -> Path:
    path.write_text("")
    return path
