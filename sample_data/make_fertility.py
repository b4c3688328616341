"""Make fertility.csv: births per woman by country and year, from the World Bank's World Development Indicators.

pip download --no-deps statsmodels; unzip the wheel; then
python sample_data/make_fertility.py statsmodels/datasets/fertility/fertility.csv

The indicator is SP.DYN.TFRT.IN, "Fertility rate, total (births per woman)", as statsmodels distributes it. Years and
countries without any value are left out (2012 and 2013; nine countries and regions), values are rounded to 3 decimals.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def fertility(lines: Iterable[str]) -> list[list[str]]:
    """Return the table's lines, names of columns first, from those of the indicator's file."""
    header, *records = csv.reader(lines)
    values = [record[4:] for record in records]
    years = [i for i in range(len(header) - 4) if any(row[i] for row in values)]
    table = [["country", *(header[4 + i] for i in years)]]
    for record, row in zip(records, values, strict=True):
        if any(row):
            table.append([record[0], *(_rounded(row[i]) for i in years)])
    return table


def _rounded(text: str) -> str:
    return f"{float(text):.3f}".rstrip("0").rstrip(".") if text else ""


def write(table: Sequence[Sequence[str]], file: Path) -> None:
    """Write the table with LF line ends."""
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(newline="", encoding="utf-8") as source:
        write(fertility(source), FOLDER / "fertility.csv")
