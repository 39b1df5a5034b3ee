"""A class's results: for a terminal, a spreadsheet, a student, and other programs."""
