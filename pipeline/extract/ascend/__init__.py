"""Folders, tables, analyses and databases of Ascend profilers and of msprof."""
