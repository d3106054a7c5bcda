"""Allocations, who made them and how long they live: stg_memory_event, int_allocation, memory, memory_peak."""

from __future__ import annotations

from tests.support.events import memory, op, step
from tests.support.views import views

ALLOCATIONS = "select event_index, operator_name, held_ns from intermediate.int_allocation"
FLAGS = "select event_index, is_allocated_twice, is_unmatched_free from intermediate.int_allocation"


# -- whose allocation -----------------------------------------------------------------------------------------


def test_an_allocation_belongs_to_the_innermost_operator_open_on_its_thread():
    # thread 1   aten::linear ├──────────────────────┤
    #            aten::mm          ├───────┤
    # allocations            │0     │1           │2     │3
    # thread 2                      │4
    house = views(
        memory(64, at=5, address=1),
        memory(64, at=25, address=2),
        memory(64, at=45, address=3),
        memory(64, at=70, address=4),
        memory(64, at=25, address=5, tid=2),
        op("aten::linear", 10, 50),
        op("aten::mm", 20, 20),
    )
    assert house.pairs("select event_index, operator_name from intermediate.int_allocation") == {
        0: "(no operator)",
        1: "aten::mm",
        2: "aten::linear",
        3: "(no operator)",
        4: "(no operator)",
    }


def test_an_allocation_at_the_start_of_an_operator_is_its_own_and_at_the_end_is_not():
    house = views(op("aten::mm", 10, 10), memory(64, at=10, address=1), memory(64, at=20, address=2))
    assert house.pairs("select event_index, operator_name from intermediate.int_allocation") == {
        1: "aten::mm",
        2: "(no operator)",
    }


def test_events_of_the_host_and_incomplete_ones_are_left_out():
    house = views(
        memory(64, at=1, device_type=0, device=-1),
        memory(64, at=2, device_type=0),
        memory(64, at=3, device=-1),
        memory(None, at=4),
        memory(64, at=None),
        memory(64, at=5, phase="X", duration_ns=5),
        memory(64, at=6, name="[something]"),
        memory(64, at=7, device_type=None),
        memory(64, at=8, device_type=20, phase="I"),
    )
    assert house.rows("select event_index, device, bytes from staging.stg_memory_event order by 1") == [
        (7, 0, 64),
        (8, 0, 64),
    ]


# -- pairs of allocation and free --------------------------------------------------------------------------------


def test_an_allocation_is_held_until_the_free_of_its_address():
    # address 1  ├──────────── 30 ──────────┤   ├── 5 ──┤
    # address 2        ├─── 10 ───┤
    # address 3             ├──────────────────────────────…   not released in the recording
    house = views(
        memory(64, at=10, address=1),
        memory(32, at=20, address=2),
        memory(16, at=25, address=3),
        memory(-32, at=30, address=2),
        memory(-64, at=40, address=1),
        memory(64, at=50, address=1),
        memory(-64, at=55, address=1),
    )
    held = house.pairs("select event_index, held_ns from intermediate.int_allocation where bytes > 0")
    assert held == {0: 30, 1: 10, 2: None, 5: 5}
    assert house.rows(FLAGS + " where is_allocated_twice or is_unmatched_free") == []


def test_addresses_from_2_to_the_63_are_the_negative_numbers_of_their_bits_and_pair_as_any():
    house = views(
        memory(64, at=10, address=-1),
        memory(32, at=15, address=-(2**63)),
        memory(-64, at=20, address=-1),
        memory(-32, at=35, address=-(2**63)),
    )
    assert house.rows("select bytes, held_ns from intermediate.int_allocation where bytes > 0 order by time_ns") == [
        (64, 10),
        (32, 20),
    ]
    assert house.rows(f"{FLAGS} where is_unmatched_free") == []


def test_events_pair_up_in_time_wherever_they_stand_in_the_file():
    house = views(memory(-64, at=40), memory(64, at=10))
    assert house.pairs(FLAGS) == {0: (False, False), 1: (False, False)}
    assert house.one("select held_ns from intermediate.int_allocation where bytes > 0") == (30,)


def test_an_address_allocated_twice_is_counted_and_the_last_allocation_is_released():
    # address 1  ├──────?─────├──── 10 ────┤
    house = views(memory(64, at=10), memory(32, at=20), memory(-32, at=30))
    assert house.pairs(FLAGS) == {0: (True, False), 1: (False, False), 2: (False, False)}
    assert house.pairs("select event_index, held_ns from intermediate.int_allocation") == {0: None, 1: 10, 2: None}


def test_a_free_that_follows_no_allocation_is_counted_and_never_negative():
    house = views(memory(-64, at=10), memory(64, at=20), memory(-64, at=30), memory(-64, at=40))
    assert house.pairs(FLAGS) == {
        0: (False, True),
        1: (False, False),
        2: (False, False),
        3: (False, True),
    }
    assert house.rows("select operator_name, allocated_bytes, held_duration_ns from marts.memory") == [
        ("(no operator)", 64, 10)
    ]


def test_devices_processes_and_runs_have_addresses_of_their_own():
    house = views(
        v1=[memory(64, at=10, device=0), memory(-64, at=20, device=1), memory(-64, at=30, pid=99)],
        v2=[memory(-64, at=40)],
    )
    assert house.rows("select is_unmatched_free from intermediate.int_allocation order by time_ns") == [
        (False,),
        (True,),
        (True,),
        (True,),
    ]


def test_of_events_without_an_address_release_and_match_are_not_known():
    # device 0 has no addresses, device 1 one of two; device 2 has allocations alone
    house = views(
        op("aten::mm", 0, 100),
        memory(64, at=10, address=None),
        memory(-64, at=30, address=None),
        memory(64, at=10, address=None, device=1),
        memory(32, at=20, address=5, device=1),
        memory(-32, at=25, address=5, device=1),
        memory(-32, at=26, address=6, device=1),
        memory(64, at=40, address=None, device=2),
    )
    assert house.rows(f"{FLAGS} order by 1") == [
        (1, None, False),
        (2, False, None),
        (3, None, False),
        (4, False, False),
        (5, False, False),
        (6, False, True),
        (7, None, False),
    ]
    memory_columns = "device, allocation_count, released_count, held_duration_ns"
    assert house.rows(f"select {memory_columns} from marts.memory where operator_name = 'aten::mm' order by 1") == [
        (0, 1, None, None),
        (1, 2, 1, 5),
        (2, 1, None, None),
    ]
    peak_columns = "device, free_count, unmatched_free_count, allocated_twice_count"
    assert house.rows(f"select {peak_columns} from marts.memory_peak order by 1") == [
        (0, 1, None, None),
        (1, 2, 1, 0),
        (2, 0, 0, None),
    ]
    assert house.one("select allocations from intermediate.int_operator_memory") == (
        "aten::mm, 64 bytes, release unknown\n"
        "aten::mm, 64 bytes, release unknown\n"
        "aten::mm, 32 bytes, 5 ns\n"
        "aten::mm, 64 bytes, release unknown",
    )


def test_a_free_and_an_allocation_of_one_address_at_one_time_follow_the_file():
    # Freed and taken again within a nanosecond: the order of the file is the order of the events.
    house = views(memory(64, at=10), memory(-64, at=20), memory(32, at=20), memory(-32, at=35))
    assert house.pairs("select event_index, held_ns from intermediate.int_allocation where bytes > 0") == {0: 10, 2: 15}
    assert house.rows(f"{FLAGS} where is_allocated_twice or is_unmatched_free") == []
    # The other way round in the file, it was allocated while taken, and what is freed then is the second.
    house = views(memory(64, at=10), memory(32, at=20), memory(-64, at=20), memory(-32, at=35))
    assert house.pairs("select event_index, held_ns from intermediate.int_allocation where bytes > 0") == {
        0: None,
        1: 0,
    }
    assert house.rows(f"{FLAGS} where is_allocated_twice or is_unmatched_free") == [(0, True, False), (3, False, True)]


def test_an_allocation_after_the_end_of_a_step_is_of_none():
    # steps   ├── 1 ──┤   ├── 2 ──┤
    #         0      100 150      250
    house = views(
        step(1, 0, 100),
        step(2, 150, 100),
        [memory(8, at=at, address=at) for at in (0, 99, 100, 149, 150, 249, 250)],
    )
    assert house.pairs("select time_ns, step from intermediate.int_allocation") == {
        0: 1,
        99: 1,
        100: None,
        149: None,
        150: 2,
        249: 2,
        250: None,
    }
    assert house.pairs("select step, allocation_count from marts.memory") == {None: 7, 1: 2, 2: 2}


def test_zero_is_no_address():
    house = views(memory(64, at=10, address=0), memory(32, at=20, address=0), memory(-64, at=30, address=0))
    assert house.pairs(FLAGS) == {0: (None, False), 1: (None, False), 2: (False, None)}
    assert house.rows("select released_count, held_duration_ns from marts.memory") == [(None, None)]


def test_events_without_an_address_pair_with_none():
    house = views(memory(64, at=10, address=None), memory(32, at=20, address=None), memory(-64, at=30, address=None))
    assert house.rows(f"{FLAGS} where is_allocated_twice") == []
    assert house.rows("select held_ns from intermediate.int_allocation where held_ns is not null") == []


# -- the marts -----------------------------------------------------------------------------------------------------


def test_memory_is_summed_by_operator_and_device_for_the_run_and_for_each_step():
    # steps   ├──── 1 ────┤├──── 2 ────┤
    #         0           100          200
    house = views(
        step(1, 0, 100),
        step(2, 100, 100),
        op("aten::mm", 10, 20),
        memory(64, at=12, address=1),
        memory(100, at=14, address=2),
        memory(7, at=16, address=3, device=1),
        memory(-64, at=50, address=1),
        memory(-100, at=150, address=2),
        memory(5, at=160, address=4),
        memory(9, at=200, address=5),
    )
    assert house.rows(
        "select step, device, operator_name, allocation_count, allocated_bytes, max_allocation_bytes, released_count,"
        " held_duration_ns from marts.memory order by all"
    ) == [
        (1, 0, "aten::mm", 2, 164, 100, 2, 38 + 136),
        (1, 1, "aten::mm", 1, 7, 7, 0, None),
        (2, 0, "(no operator)", 1, 5, 5, 0, None),
        (None, 0, "(no operator)", 2, 14, 9, 0, None),
        (None, 0, "aten::mm", 2, 164, 100, 2, 38 + 136),
        (None, 1, "aten::mm", 1, 7, 7, 0, None),
    ]


def test_peaks_are_the_largest_totals_after_any_event_of_the_scope():
    # allocated  64    ▔164▔   100     …            30 (device 1)
    # reserved   512    512   1024
    house = views(
        step(1, 0, 100),
        memory(64, at=10, address=1, allocated=64, reserved=512),
        memory(100, at=20, address=2, allocated=164, reserved=512),
        memory(-64, at=120, address=1, allocated=100, reserved=1024),
        memory(-64, at=130, address=1, allocated=36),
        memory(30, at=140, address=9, allocated=130, reserved=600),
        memory(30, at=150, address=9, allocated=160, reserved=600),
        memory(30, at=50, address=1, device=3, allocated=30, reserved=40),
    )
    assert house.rows("select * exclude (run_id) from marts.memory_peak order by all") == [
        # step, device, ordinal, allocated, reserved, allocations, frees, unmatched, twice
        (1, 0, 0, 164, 512, 2, 0, 0, 0),
        (1, 3, 1, 30, 40, 1, 0, 0, 0),
        (None, 0, 0, 164, 1024, 4, 2, 1, 1),
        (None, 3, 1, 30, 40, 1, 0, 0, 0),
    ]


def test_the_devices_of_each_run_are_counted_from_0_and_what_moves_no_byte_is_neither_allocation_nor_free():
    house = views(
        v1=[memory(64, at=10, device=2), memory(0, at=15, address=9, device=2), memory(-64, at=20, device=2)],
        v2=[memory(8, at=10, device=1), memory(8, at=10, device=5)],
    )
    columns = "run_id, device, device_ordinal, allocation_count, free_count"
    assert house.rows(f"select {columns} from marts.memory_peak order by all") == [
        ("v1", 2, 0, 1, 1),
        ("v2", 1, 0, 1, 0),
        ("v2", 5, 1, 1, 0),
    ]


def test_totals_that_the_trace_does_not_tell_are_unknown_not_zero():
    house = views(memory(64, at=10))
    assert house.one("select peak_allocated_bytes, peak_reserved_bytes from marts.memory_peak") == (None, None)


def test_a_run_without_memory_events_has_no_rows():
    house = views(op("aten::mm", 0, 10))
    assert house.rows("select * from marts.memory") == []
    assert house.rows("select * from marts.memory_peak") == []
