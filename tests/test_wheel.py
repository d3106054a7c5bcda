"""The wheel carries the SQL files and templates: built, installed elsewhere, run."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from tests.support import traces
from tests.support.paths import ROOT


def test_the_wheel_is_whole_and_runs_elsewhere(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert sum(name.startswith("pipeline/sql/marts/") for name in names) == len(
        list((ROOT / "sql" / "marts").glob("*.sql"))
    )
    assert any(name.startswith("pipeline/render/page/templates/") for name in names)
    assert not any(name.startswith(("tests/", "fixtures/")) for name in names)
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)  # what an installer does with a pure wheel
    source = traces.write(tmp_path / "t.json")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import pipeline;"
        "assert pipeline.__file__.startswith(sys.argv[1]);"
        "r = pipeline.compare(sys.argv[2], sys.argv[2], warehouse=sys.argv[3], output=sys.argv[3]);"
        "print(*(p.suffix for p in r.files))"
    )
    command = [sys.executable, "-I", "-c", script, str(site), str(source), str(tmp_path / "house")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [".xlsx", ".html"]
