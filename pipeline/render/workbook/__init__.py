"""The workbook: one sheet a table, rows streamed into the file format."""
