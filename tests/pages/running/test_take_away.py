"""Files of a run: each that has the number of a cluster, topic or feature has its name too."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from acvb_core.cli import main
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from pages.ui.running import take_away
from pages.ui.shared.picking import FileOffer
from tests.loops import for_each
from tests.pages.session import Open, opened

#: Columns with the number of a part, and headings with one.
_NUMBER = re.compile(r"(?:^|_)(?:cluster|topic|feature)$|^most_linked_to$")
_HEADING = re.compile(r"^(?:cluster|topic|feature)[_ ](\d+)(?:: | · )?(.*)$")
_NAMES = re.compile("(cluster|topic|feature)_names$")
#: Without numbers of parts, or for programs alone: they go by position.
_NUMBERLESS = {
    "run.json",
    "history.csv",
    "race.csv",
    "agreement.csv",
    "model.npz",
    "result.acvb",
    "matrix.png",
}


def _table() -> Table:
    rng = np.random.default_rng(0)
    has = rng.random((60, 2)) < 0.5
    values = has @ np.array([[3.0, 3.0, 0.0, 0.0], [0.0, 0.0, 5.0, 5.0]]) + rng.normal(0.0, 0.2, (60, 4))
    values[rng.random((60, 4)) < 0.05] = np.nan
    return Table.build(values, columns=["height", "weight", "income", "rent"])


def _fit(kind: str) -> Result:
    if kind == "blocks of a relation":
        return fit(load_sample("southern_women").relation, "acvb0", k_rows=4, k_cols=4)
    if kind == "blocks of a network":
        return fit(load_sample("karate").relation, "acvb0", k_rows=4, heldout=0.1)
    if kind == "topics":
        return fit(load_sample("bars").corpus, "cvb0", k=4, max_sweeps=10)
    return fit(_table(), "fab", max_sweeps=20)


KINDS = ["blocks of a relation", "blocks of a network", "topics", "features"]
PAGES = {"topics": "topics", "features": "features"}


def check_table(table: pd.DataFrame, names: set[str], where: str) -> int:
    """Check the columns of a table, and return how many of them have numbers of parts."""
    found = 0
    for at, column in enumerate(map(str, table.columns)):
        heading = _HEADING.match(column)
        if heading is not None:
            found += 1
            assert heading[2].removeprefix("'") in names, f"{where}: {column}"
        elif _NUMBER.search(column):
            found += 1
            numbers = pd.to_numeric(table.iloc[:, at], errors="coerce")
            named = table.iloc[:, at + 1].astype(str).str.removeprefix("'")  # that guards a plus
            assert set(named[numbers > 0]) <= names, (
                f"{where}: {column} is followed by {table.columns[at + 1]}"
            )
    return found


def check_file(name: str, content: bytes, result: Result) -> int:
    """Check a file, and return how many columns, or other places, have numbers of parts with names."""
    names = {name for own in result.names.values() for name in own}
    if name.endswith(".csv"):
        return check_table(pd.read_csv(io.BytesIO(content), keep_default_na=False, dtype=str), names, name)
    if name.endswith(".xlsx"):
        book = openpyxl.load_workbook(io.BytesIO(content))
        pages = {page.title: [[cell.value for cell in row] for row in page.rows] for page in book}
        frames = {
            title: pd.DataFrame(rows[1:], columns=rows[0])
            for title, rows in pages.items()
            if title != "About"
        }
        return sum(
            check_table(frame.astype(object).fillna(""), names, f"{name}: {title}")
            for title, frame in frames.items()
        )
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sum(check_file(inner, archive.read(inner), result) for inner in archive.namelist())
    if name in _NUMBERLESS:
        return 0
    if name.endswith(".npz"):
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            kept = [json.loads(file[key].tobytes()) for key in file.files if _NAMES.search(key)]
        assert {name for own in kept for name in own} == names
        return len(kept)
    text = html.unescape(content.decode())
    if name == "pyldavis.json":
        assert json.loads(text)["topic.names"] == list(result.names["topics"])
        return 1
    # Figures are JSON, in which letters may be written as their codes.
    text = html.unescape(re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text))
    missing = {name for name in names if name not in text}
    assert not missing, f"{name} lacks {missing}"
    return 1


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files that a page offers, by their names, made while it is drawn."""
    made: dict[str, bytes] = {}

    def keep(result: Result, offer: FileOffer) -> None:
        # As the server does: in a thread without a session.
        with ThreadPoolExecutor(1) as thread:
            content = thread.submit(offer.make).result()
        made[offer.end] = content.encode() if isinstance(content, str) else content

    monkeypatch.setattr(take_away, "show_download", keep)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_page_has_names_next_to_numbers(
    kind: str, open_app: Open, contents: dict[str, bytes]
) -> None:
    result = _fit(kind)
    opened(open_app, PAGES.get(kind, "blocks"), result)
    found = {name: check_file(name, content, result) for name, content in contents.items()}
    assert {"report.html", "everything.xlsx", "data.csv"} <= set(found)
    assert found["everything.xlsx"] > 3
    assert found["data.csv"] > 0
    assert ("graph.gexf" in found) == ("graph.graphml" in found) == kind.startswith("blocks")
    assert ("filled.csv" in found) == ("filled-cells.csv" in found) == (kind == "features")


@for_each(
    "words",
    [
        ["sample:southern_women", "--k-rows", "4", "--k-cols", "4", "--links", "3"],
        ["sample:karate", "--k-rows", "4", "--links", "3"],
        ["sample:les_miserables", "--model", "poisson-network", "--k-rows", "4", "--links", "3"],
        ["sample:bars", "--k", "4", "--max-sweeps", "10"],
        ["sample:block_images", "--method", "fab", "--max-sweeps", "10"],
    ],
)
def test_every_file_of_a_folder_has_names_next_to_numbers(words: list[str], tmp_path: Path) -> None:
    from acvb_core import load_result

    folder = tmp_path / words[0].partition(":")[2]
    assert main(["fit", *words, "--quiet", "--out", str(folder)]) == 0
    result = load_result(folder / "result.acvb")
    found = {path.name: check_file(path.name, path.read_bytes(), result) for path in folder.iterdir()}
    assert sum(number > 0 for number in found.values()) >= 3
