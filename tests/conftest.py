"""Settings of hypothesis, and the views of a new warehouse, made once for all tests."""

import os

import pytest
from hypothesis import settings

from pipeline.warehouse.warehouse import Warehouse

# The same examples at each run of the checks, new ones at each run of a developer.
settings.register_profile("checks", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("checks")


@pytest.fixture(scope="session", autouse=True)
def views_of_a_new_warehouse(tmp_path_factory):
    """Every warehouse that a test begins takes the views over from one without runs: making them takes a second."""
    empty = Warehouse(tmp_path_factory.mktemp("empty"))
    begun = []

    def previous(self):
        if self.database.exists():
            return self.database
        if not begun:  # by the first test that needs it; most need none
            begun.append(empty)
            empty.refresh()
        return empty.database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Warehouse, "_previous", previous)
        yield
