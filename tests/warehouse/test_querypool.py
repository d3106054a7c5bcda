"""Queries beside one another: each on a connection of its own, and none outlives the block."""

from __future__ import annotations

import duckdb
import pytest

from pipeline.warehouse.querypool import query_pool

# Would take days.
ENDLESS = "select count(*) from range(1_000_000_000_000) where random() > 2"


def test_jobs_see_one_database_and_each_its_own_settings():
    with duckdb.connect() as connection:
        connection.execute("create table t as select 7 as x; set variable own = 1")
        with query_pool(connection, 2) as submit:
            question = "select x, getvariable('own') from t"
            answers = [submit(lambda cursor: cursor.execute(question).fetchall()) for _ in range(3)]
            assert [answer.result() for answer in answers] == [[(7, None)]] * 3


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_ends_what_runs_and_what_waits(failure):
    with duckdb.connect() as connection, pytest.raises(failure), query_pool(connection, 1) as submit:
        running, waiting = (submit(lambda cursor: cursor.execute(ENDLESS).fetchall()) for _ in range(2))
        while not running.running():
            pass
        raise failure
    assert isinstance(running.exception(), duckdb.InterruptException)
    assert waiting.cancelled()


def test_jobs_look_names_up_where_the_connection_does():
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as other; create table other.t as select 7 as x; use other")
        with query_pool(connection, 1) as submit:
            assert submit(lambda cursor: cursor.execute("select x from t").fetchall()).result() == [(7,)]


def test_the_connection_of_a_job_is_closed_when_it_has_ended():
    with duckdb.connect() as connection, query_pool(connection, 1) as submit:
        ended = submit(lambda cursor: cursor).result()
        with pytest.raises(duckdb.ConnectionException):
            ended.execute("select 1")
        assert submit(lambda cursor: cursor.execute("select 2").fetchall()).result() == [(2,)]
