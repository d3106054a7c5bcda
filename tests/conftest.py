"""Settings of hypothesis, and a cache of views that only tests use."""

import os

import pytest
from hypothesis import settings

# The same examples at each run of the checks, new ones at each run of a developer.
settings.register_profile("checks", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("checks")


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory):
    """One user cache for the processes of all tests, so that they make the views of the catalog once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp().parent / "cache"))
        yield
