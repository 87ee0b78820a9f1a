"""Users' tables in text files: one reader for molecules, audits, recordings and corpora.

`read_table` gives the cells of a file, `read_pieces` the same for long ones, `read_range` those of a range of rows,
`open_table` its rows one after the other, `read_columns` its columns of numbers, `store_table` puts columns on the
disk. What they share is here once: encodings, separators, quotes, lines of names, decimal commas, blanks, numbers of
rows.
"""

from pellucid.tables.cells import BLANKS, DATES, LARGEST, is_date, is_number, number_of, value_of
from pellucid.tables.names import ID_NAMES, SMILES_NAMES, normalized, require_column, smiles_index
from pellucid.tables.numeric import Columns, read_columns
from pellucid.tables.ranges import TableRanges, read_range, table_ranges
from pellucid.tables.reading import Cells, RowStream, Table, open_table, read_pieces, read_table, row_names, smi_line
from pellucid.tables.stored import StoredTable, is_long, store_table

__all__ = [
    "BLANKS",
    "DATES",
    "ID_NAMES",
    "LARGEST",
    "SMILES_NAMES",
    "Cells",
    "Columns",
    "RowStream",
    "StoredTable",
    "Table",
    "TableRanges",
    "is_date",
    "is_long",
    "is_number",
    "normalized",
    "number_of",
    "open_table",
    "read_columns",
    "read_pieces",
    "read_range",
    "read_table",
    "require_column",
    "row_names",
    "smi_line",
    "smiles_index",
    "store_table",
    "table_ranges",
    "value_of",
]
