"""What names tell: ranks, stages of serving, and the labels of runs that are ingested together."""

from __future__ import annotations

from pathlib import Path

import pytest

import pipeline
from pipeline.extract.filename import labels_of, rank_of, stage_of
from tests.support.asking import pairs
from tests.support.events import kernel
from tests.support.traces import write


def ranks(folder: Path, *names: str) -> list[int | None]:
    """Ranks of files that lie beside one another."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return [rank_of(folder / name) for name in names]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.json", 3),
        ("trace_rank_12.pt.trace.json.gz", 12),
        ("dp1_pp0_tp1_dcp0_ep1_rank5.1764.pt.trace.json.gz", 5),
        ("1735-TP-3.trace.json.gz", 3),
        ("1735-TP-1-EXTEND.trace.json.gz", 1),
        ("run-tp_rank_2.json", 2),
        ("tp0.json", 0),
        ("rank_3/trace.json", 3),
        ("TP-2/trace.json", 2),
        ("rank_3/TP-0.json", 0),
        ("rank_3/deeper/trace.json", None),
        ("llama-tp8.json", None),
        ("llama_tp8_pp2.json", None),
        ("llama-tp8-rank2.json", 2),
        ("llama-tp8-dp0.json", 0),
        ("rank0-and-rank1.json", None),
        ("step3.json", None),
        ("http2.json", None),
        ("frank5.json", None),
    ],
)
def test_a_name_tells_the_rank(tmp_path, name, rank):
    assert ranks(tmp_path / "job", name) == [rank]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["TP-0-DP-0", "TP-1-DP-0", "TP-0-DP-1", "TP-1-DP-1"], [0, 1, 2, 3]),
        (["TP-0-DP-0", "TP-1-DP-0", "TP-2-DP-1", "TP-3-DP-1"], [0, 1, 2, 3]),  # the first kind tells all apart
        (["pp1_dp0_tp0", "pp0_dp1_tp1", "pp0_dp0_tp0", "pp0_dp1_tp0"], [4, 3, 0, 2]),
        (["TP-0-EXTEND", "TP-1-EXTEND", "TP-0-DECODE", "TP-1-DECODE"], [0, 1, 0, 1]),
        (["old-TP-0", "old-TP-1", "new-TP-0", "new-TP-1"], [0, 1, 0, 1]),
        (["tp1", "tp0"], [1, 0]),
        (["llama-tp8", "llama-tp4"], [None, None]),
        (["llama-tp8-dp1", "llama-tp8-dp0"], [1, 0]),
        (["TP-1/t", "TP-0/t", "TP-2/t"], [1, 0, 2]),
        (["tp8/a", "tp8/b", "tp4/a"], [None, None, None]),
    ],
)
def test_coordinates_of_files_beside_one_another_tell_their_ranks(tmp_path, names, expected):
    assert ranks(tmp_path / "job", *(f"{name}.trace.json.gz" for name in names)) == expected


def test_a_relative_path_has_the_folder_that_it_stands_in(tmp_path, monkeypatch):
    ranks(tmp_path, "rank7/decode/a.json", "rank7/b.json")
    monkeypatch.chdir(tmp_path / "rank7")
    assert rank_of(Path("b.json")) == 7
    monkeypatch.chdir(tmp_path / "rank7" / "decode")
    assert stage_of(Path("a.json")) == "decode"


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("1753-TP-0-EXTEND.trace.json.gz", "EXTEND"),
        ("decode-bs32-TP-0-PREFILL.trace.json.gz", "PREFILL"),
        ("TP-0-DRAFT_EXTEND.json", "DRAFT_EXTEND"),
        ("TP-0-TARGET_VERIFY.json", "TARGET_VERIFY"),
        ("prefill/rank0.json", "prefill"),
        ("prefill/rank0-decode.json", "decode"),
        ("decoder.json", None),
        ("extended-rank0.json", None),
    ],
)
def test_a_name_tells_the_stage_of_serving(tmp_path, name, stage):
    assert stage_of(tmp_path / "job" / name) == stage


def test_a_label_for_all_has_the_stage_behind_it_where_there_are_several():
    stages = [Path("TP-0-EXTEND.json"), Path("TP-0-DECODE.json")]
    assert labels_of(stages, ["a", "b"], "v1") == ["v1-EXTEND", "v1-DECODE"]
    assert labels_of(stages, ["a", "b"], None) == ["a", "b"]
    assert labels_of(stages[:1], ["a"], "v1") == ["v1"]
    assert labels_of([*stages, Path("warmup.json")], ["a", "b", "c"], "v1") == ["v1-EXTEND", "v1-DECODE", "v1"]
    assert labels_of([Path("decode/r0.json"), Path("Decode/r1.json")], ["a", "b"], "v1") == ["v1", "v1"]


def test_ranks_of_folders_and_stages_are_runs_of_their_own_executions(tmp_path):
    house = tmp_path / "house"
    for rank in range(2):
        write(tmp_path / "job" / f"rank_{rank}" / "trace.json", [kernel("gemm", 10_000, 20_000 + 1_000 * rank)])
        for stage in ("EXTEND", "DECODE"):
            write(
                tmp_path / "serving" / f"17-TP-{rank}-{stage}.trace.json",
                [kernel(stage, 10_000, 30_000 + 1_000 * rank)],
            )
    for folder in ("job", "serving"):
        pipeline.ingest(tmp_path / folder, label=folder, warehouse=house)
    assert pairs(house, "select label, list(rank order by rank) from marts.run group by label") == {
        "job": [0, 1],
        "serving-EXTEND": [0, 1],
        "serving-DECODE": [0, 1],
    }
    assert set(pairs(house, "select run_id, rank from marts.run where label = 'job'")) == {"job.r0", "job.r1"}
