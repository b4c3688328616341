"""The flags that say how FILE is read as a table of numbers."""

from __future__ import annotations

import argparse
from typing import get_args

from acvb_core.cli.settings import Add
from acvb_core.cli.typed import column, columns, words
from acvb_core.data.tables.layout import CategoryPolicy, ConstantPolicy


def add_table(add: Add) -> None:
    """Add the flags that only tables have; those they share with other files are added there."""
    add(
        "--row-labels",
        "column of the rows' names, by name or by position from 0; `none` numbers them (default: the first column, if "
        "it holds different texts)",
        type=column,
        metavar="COLUMN",
    )
    text = "further signs of a missing cell, such as -999; give it as --missing=-999 (blank, NA, NaN, ? … are known)"
    add("--missing", text, type=words, metavar="A,B,…")
    text = "what becomes of columns of text: refused, each category a column of 0 and 1, or left out (default: refuse)"
    add("--categories", text, choices=get_args(CategoryPolicy))
    text = "columns whose numbers are categories too"
    add("--category-columns", text, type=columns, metavar="A,B,…")
    add("--leave-out", "columns not to read", type=columns, metavar="A,B,…")
    text = "what becomes of columns without two different values (default: refuse)"
    add("--constants", text, choices=get_args(ConstantPolicy))
    text = "whether methods work on columns of mean 0 and standard deviation 1 (default: they do)"
    add("--standardise", text, action=argparse.BooleanOptionalAction)
    text = "the columns are the pixels of pictures of this height and width, row by row, as 8x8"
    add("--image", text, metavar="HxW")
    add("--decimal", "decimal sign, a point or a comma", choices=(".", ","), metavar="SIGN")
