"""Turns sources into batches of raw tables. Knows formats, but neither SQL nor views."""

# Forms of an Ascend profile, the preferred one first.
FORMS = ("database", "text")
