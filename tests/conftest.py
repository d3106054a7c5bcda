"""Settings of hypothesis: the same examples at each run of the checks, new ones at each run of a developer."""

import os

from hypothesis import settings

settings.register_profile("checks", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("checks")
