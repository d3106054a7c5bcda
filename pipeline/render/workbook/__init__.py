"""The workbook: one sheet per table, with rows streamed into the file format."""
