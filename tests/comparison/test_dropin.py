"""The options of the field's tool: what they become, and that the table for people names each."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fixtures.ascend import Execution, write_text
from pipeline import cli
from pipeline.comparison import dropin
from pipeline.comparison.dropin import translated
from pipeline.comparison.matching import Matching, read_name_map
from pipeline.errors import UsageError
from tests.support import traces
from tests.support.paths import ROOT

TABLE = ROOT / "docs" / "drop-in.md"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "b", "-o", "out"], ["a", "b", "-o", "out"]),
        (["-d", "new", "-bp", "old", "--output_path", "out"], ["old", "new", "--output", "out"]),
        (["--enable_kernel_compare", "--disable_details", "--force"], ["--only", "kernel", "--no-details"]),
        (["--max_kernel_num=5", "--use_input_shape"], ["--max-kernel-num", "5", "--use-input-shape"]),
        (["--op_name_map={'a': 'b'}"], ["--op-name-map", '{"a": "b"}']),
        (["--op_name_map", "__import__('os')"], ["--op-name-map", "__import__('os')"]),
        (["--use_kernel_type"], ["--skip", "kernel"]),
        (["--enable_kernel_compare", "--use_kernel_type"], ["--only", "kernel_type", "--skip", "kernel"]),
        (["--use_kernel_type", "--enable_kernel_compare"], ["--skip", "kernel", "--only", "kernel_type"]),
        (["--gpu_flow_cat", "async", "--base_step", "3"], ["--gpu-flow-cat", "async", "--base-step", "3"]),
        (["-d"], ["-d"]),
    ],
)
def test_options_become_ours(given, expected):
    assert translated(given) == expected


def test_every_option_is_in_the_table_for_people():
    table = TABLE.read_text(encoding="utf-8")
    for name in (*dropin.FLAGS, *dropin.VALUES, "--gpu-flow-cat", *dropin.TARGET, *dropin.BASE):
        assert f"`{name if name.count('-') < 3 else '--' + name[2:].replace('-', '_')}`" in table or (
            "--" + name[2:].replace("-", "_") in table
        ), name
    for flag, ours in (*dropin.FLAGS.items(), *dropin.BY_TYPE.items()):
        if ours:
            assert " ".join(ours) in table, flag


def test_a_script_changes_one_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, new = traces.write(tmp_path / "base.json"), traces.write(tmp_path / "new.json")
    arguments = ["-d", str(new), "-bp", str(base), "--output_path", "out", "--enable_kernel_compare", "--force"]
    done = CliRunner().invoke(cli.app, ["compare", *arguments, "--enable_operator_compare", "--disable_module"])
    assert done.exit_code == 0, done.output
    assert "base       base" in done.stdout
    assert "Kernels" in done.stdout
    assert "Operators" in done.stdout
    assert "Headline" not in done.stdout


def test_kernels_are_compared_by_type_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = write_text(Execution(), tmp_path / "base")
    new = write_text(Execution(slower=7), tmp_path / "new")
    arguments = ["-d", str(new), "-bp", str(base), "--enable_kernel_compare"]
    plain = CliRunner().invoke(cli.app, ["compare", *arguments, "--no-html"])
    by_type = CliRunner().invoke(cli.app, ["compare", *arguments, "--no-html", "--use_kernel_type"])
    assert (plain.exit_code, by_type.exit_code) == (0, 0), plain.output + by_type.output
    assert ("Kernel types" in plain.stdout, "Kernel types" in by_type.stdout) == (False, True)
    assert ("32,64;64,64" in plain.stdout, "32,64;64,64" in by_type.stdout) == (True, False)
    assert "MatMulV2" in by_type.stdout


@pytest.mark.parametrize("given", ["{", '{"a": 1}', "[1]", "no/such/file.json"])
def test_a_map_that_is_none_is_said(given):
    with pytest.raises(UsageError, match="--op-name-map"):
        read_name_map(given)


def test_a_map_may_be_in_a_file_and_few_kernels_are_refused(tmp_path):
    (tmp_path / "map.json").write_text('{"a": "b"}')
    assert read_name_map(str(tmp_path / "map.json")) == {"a": "b"}
    with pytest.raises(UsageError, match="greater than 3"):
        Matching(max_kernel_num=3)
