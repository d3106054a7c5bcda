"""Files that MindSpore before 2.3 wrote for MindInsight: recognised, so that they are refused as what they are.

Their timeline is an array of events without names of processes and without categories; beside it are tables of sums.
"""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?:ascend|gpu|cpu)_timeline_(?:display|summary)_|(?:aicore|pynative_op|aicpu|gpu_op|cpu_op)_intermediate_"
    r"|(?:framework|step_trace|hccl|parallel_strategy)_raw_|output_timeline_data_|op_intermediate_",
    re.IGNORECASE,
)
_NEVER = (b'"cat"', b'"process_name"', b'"thread_name"')
_TOLD = (b'"Ascend Op"', b'"fullname"')
REASON = (
    "MindInsight's timeline and tables (MindSpore before 2.3) are not read; export with MindSpore 2.5 or later, or give"
    " the PROF_* folder"
)


def is_one(name: str, head: bytes) -> bool:
    """Is it such a file, by its name or, where it has another, by the beginning of its text?"""
    text = head.lstrip()
    return bool(_NAME.match(name)) or (
        text[:1] == b"["
        and b'"ph"' in text
        and any(mark in text for mark in _TOLD)
        and not any(mark in text for mark in _NEVER)
    )
