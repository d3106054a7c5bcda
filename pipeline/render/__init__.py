"""Comparisons and query results for people: screen, workbook, page, text formats."""
