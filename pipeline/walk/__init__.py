"""Walks over sorted rows with a stack: in one pass what SQL would need sweeps and recursion for.

A view whose header names a walk (`@walk calls`) is the result of its body's rows going through it, in order.
"""

# The walks that there are. They are in `walks`, apart, since they need Arrow, whose import every command would feel.
NAMES = ("calls", "operators")
