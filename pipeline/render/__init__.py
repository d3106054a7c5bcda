"""Shows comparisons and query results: on screen, as a workbook, as an HTML page, and in text formats."""
