"""Tables of observations, one column of which says which task each belongs to."""

from bmaml.tables.columns import CategoryColumn, ClassTarget, DateColumn, NumberColumn, NumberTarget
from bmaml.tables.encoding import Encoding
from bmaml.tables.prepare import Prepared, TaskRows, group_rows, prepare
from bmaml.tables.read import read_table
from bmaml.tables.split import Part, split_tasks

__all__ = [
    "CategoryColumn",
    "ClassTarget",
    "DateColumn",
    "Encoding",
    "NumberColumn",
    "NumberTarget",
    "Part",
    "Prepared",
    "TaskRows",
    "group_rows",
    "prepare",
    "read_table",
    "split_tasks",
]
