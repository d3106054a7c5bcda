"""Walks over sorted rows with a stack: they compute in one pass what would take SQL sweeps and recursion.

If a view's header names a walk (`@walk calls`), the walk turns the rows of the view's body, in order, into the view's.
"""

# Names of all walks. The walks themselves are in `walks`, since they need Arrow: importing it would slow every command.
NAMES = ("calls", "operators")
