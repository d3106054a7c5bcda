"""Sources to batches of raw tables. Knows formats; knows no SQL and no view."""

# Forms of an Ascend profile.
FORMS = ("database", "text")
