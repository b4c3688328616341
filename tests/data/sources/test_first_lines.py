"""What stands above a table, which delimiter separates it, and which line of the file a row is on."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import acvb_core
from acvb_core.core.errors import DataError
from acvb_core.data.corpora.readers import inspect_corpus, load_corpus
from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.report import DataChangedWarning
from acvb_core.data.table_build import inspect_table, load_table
from tests.loops import for_each

EVERY_WORD = Tokeniser(stop_words=(), numbers=True, min_documents=1, max_share=1.0)
TITLED = {
    "a title": ("My data\n", "name,height,weight\nRex,40.5,12.5\nTom,25,4.2\n", 1),
    "blank cells behind a title": (
        "Pets of 2020,,\n,,\n",
        "name,height,weight\nRex,40.5,12.5\nTom,25,4.2\n",
        2,
    ),
    "a comma in a title": ("Pets, and how\n\nthey grow\n", "a,b,c,d\n1,2,3,4\n2,4,6,7\n", 3),
    "Excel's sign": ("sep=;\n", "name;height\nRex;40,5\nTom;25,2\n", 1),
    "tabs": ("Export of May\n", "name\theight\nRex\t40.5\nTom\t25\n", 1),
    "a quoted title of two lines": ('"Pets\nof 2020"\n', "name;height\nRex;40\nTom;25\n", 2),
}


@for_each("case", list(TITLED))
def test_titles_above_a_table_are_passed_over(case: str, tmp_path: Path) -> None:
    title, rest, n_lines = TITLED[case]
    sources: list[Any] = [(title + rest).encode(), gzip.compress((title + rest).encode()), tmp_path / "x.csv"]
    sources[2].write_bytes(sources[0])
    plain = load_table(rest.encode())
    source = sources[len(case) % 3]
    found = load_table(source, name="the data")
    assert found.data.fingerprint == plain.data.fingerprint
    assert f"; line {n_lines + 1} holds names." in found.report.lines()[0]
    (fact,) = [fact for fact in found.report.facts if fact.name == "title_lines"]
    assert (fact.count, fact.sentence) == (
        n_lines,
        f"{n_lines} line{'' if n_lines == 1 else 's'} above the table: taken for titles, skipped.",
    )
    assert inspect_table(source).lines == tuple(n_lines + line for line in inspect_table(rest.encode()).lines)


def test_faults_of_the_first_record_below_titles_name_its_line() -> None:
    body = "".join(f"{one},{other}\n" for one in ("Ann", "Bob", "Cyd") for other in ("Hat", "Tie"))
    with pytest.raises(DataError, match="may hold the names") as caught:
        load_relation(f"Sales\n\nBuyer,Product\n{body}".encode())
    assert caught.value.line == 3
    with pytest.raises(DataError, match="no column of this name") as caught:
        load_relation(f"Sales\n\nperson,event\n{body}".encode(), source="Buyer")
    assert caught.value.line == 3


def test_titles_are_warned_of() -> None:
    with pytest.warns(DataChangedWarning, match="2 lines above the table"):
        acvb_core.load_relation(b"Who met whom\nin May\nperson,event\nAnn,Fair\nBob,Ball\n")


def test_titles_above_links_and_texts() -> None:
    links = load_relation(b"Who met whom\nperson,event\nAnn,Fair\nBob,Ball\n")
    assert links.data.row_labels.tolist() == ["Ann", "Bob"]
    texts = load_corpus(b"My diary\nid,text\n1,the old river\n2,a bank\n", tokeniser=EVERY_WORD)
    assert texts.data.documents.tolist() == ["1", "2"]
    counts = load_corpus(b"My words\ndoc,word,count\na,river,2\nb,bank,1\n")
    assert counts.data.documents.tolist() == ["a", "b"]
    for found in (links, texts, counts):
        assert found.report.count("title_lines") == 1
    with pytest.raises(DataError, match="4 fields where the first has 3") as caught:
        load_corpus(b"My words\ndoc,word,count\n" + b"a,river,2\n" * 20 + b"b,bank,1,1\n")
    assert caught.value.line == 23


@for_each(
    "content",
    [
        b"7\na,1\nb,2\n",  # a number may be the size of what follows
        b"a,b\nr1,1,2\nr2,3,4\n",  # names of columns, and none above the names of rows
        b"a\nb\nc\nd\ne\nf\ng\nh,1\ni,2\n",  # more lines than titles have
        b"a title\na,1\nb,2,3\nc,3\nd\n",  # what follows is no table
        b"city\nParis, France\nRome, Italy\nBerlin, Germany\n",  # a column of names with commas
    ],
)
def test_what_may_be_data_is_no_title(content: bytes) -> None:
    with pytest.raises(DataError):
        load_table(content)
    with pytest.raises(DataError):
        load_relation(content)


def test_a_first_row_with_one_known_cell_is_data() -> None:
    named = load_table(b"Ann,,\nBob,2,3\nCid,4,1\n")
    assert named.data.rows.tolist() == ["Ann", "Bob", "Cid"]
    assert (
        load_corpus(
            b"doc1,\ndoc2,the old river\n", format="table", header=False, text_column=1, tokeniser=EVERY_WORD
        ).data.n_documents
        == 2
    )
    table = load_table(b"1,,\n,2,3\n4,5,7\n2,2,2\n")
    assert table.data.n_rows == 4
    assert table.report.count("title_lines") == 0


def workbook(rows: list[list[Any]], *merged: str) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_titles_above_the_table_of_a_sheet() -> None:
    rows: list[list[Any]] = [["name", "height", "weight"], ["Rex", 40.5, 12.5], ["Tom", 25, 4.2]]
    plain = load_table(workbook(rows), name="x")
    content = workbook([["Pets of 2020"], [], *rows])
    found = load_table(content, name="x")
    assert found.data.fingerprint == plain.data.fingerprint
    assert "1 row above the table: taken for titles, skipped." in found.report.lines()
    assert inspect_table(content).lines == (4, 5)
    with pytest.raises(DataError) as caught:
        load_relation(workbook([["Who met whom"], ["person", "event"], ["Ann", "Fair"], ["Bob", None]]))
    assert (caught.value.line, caught.value.column) == (4, "event")


def test_merged_cells_are_filled() -> None:
    rows: list[list[Any]] = [["person", "event"], ["Ann", "Fair"], [None, "Ball"], ["Bob", "Ball"]]
    found = load_relation(workbook(rows, "A2:A3"))
    assert found.data.n_ones == 3
    assert found.data.row_labels.tolist() == ["Ann", "Bob"]
    told = "1 cell of merged cells in the sheet: filled with the value of the first one."
    assert told in found.report.lines()
    wide = load_table(workbook([["a", "b", "c"], [1, None, 3], [4, 5, 6]], "A2:B2"))
    assert wide.data.values.tolist() == [[1, 1, 3], [4, 5, 6]]
    title = load_table(workbook([["Pets of 2020"], ["a", "b", "c"], [1, 2, 3], [4, 5, 6]], "A1:C1"))
    assert title.data.values.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_lines_of_the_preview_are_those_of_the_file() -> None:
    links = b"# a note\n\nperson,event\nAnn,Fair\n\nBob,Ball\n"
    assert inspect_source(links).lines == (4, 6)
    assert "1 line that starts with # or % above the data: skipped." in load_relation(links).report.lines()
    texts = b'id,text\n1,"the old\nriver"\n2,a bank\n'
    assert inspect_corpus(texts).lines == (2, 4)
    assert inspect_corpus(b"a river bank\nthe old town\n", format="lines").lines == (1, 2)
    assert inspect_source(
        b'{"person": "Ann", "event": "Fair"}\n\n{"person": "Bob", "event": "x"}\n'
    ).lines == (1, 3)


def test_a_decimal_comma_is_not_taken_for_the_delimiter() -> None:
    lines = [f"p{i};{i},5" for i in range(1, 48)]
    assert inspect_table("\n".join(["name;a", *lines]).encode()).delimiter == ";"
    # More lines have one comma than have one semicolon.
    broken = ["name;a", *lines[:30], "p0 2,5", *lines[30:], "p00 1,5", "p000 1,5"]
    with pytest.raises(
        DataError, match=r"1 field where the first has 2, .*, separated by semicolons"
    ) as caught:
        load_table("\n".join(broken).encode())
    assert (caught.value.line, caught.value.value) == (32, "p0 2,5")


def test_uneven_lines_are_shown_with_the_delimiter() -> None:
    with pytest.raises(DataError) as caught:
        load_relation(b"a;b;c\nd;e\nf;g\n", delimiter=";")
    fault = caught.value
    assert fault.what == (
        "the first line has 3 fields, most lines have 2, separated by semicolons: line 2 is 'd;e'"
    )
    assert (fault.line, fault.value) == (1, "a;b;c")
    assert "title" not in fault.remedy
    with pytest.raises(DataError, match="where the first has 2, 'a,b', separated by commas") as caught:
        load_relation(b"a,b\nc,d\ne,f\ng\n")
    assert (caught.value.line, caught.value.value) == (4, "g")


def test_a_file_of_two_encodings_is_told() -> None:
    content = "name;n\nZoé;1\n".encode() + "Noël;2\n".encode("cp1252")
    for source in (content, gzip.compress(content), io.BytesIO(content)):
        with pytest.raises(DataError, match="the file mixes encodings") as caught:
            load_table(source)
        assert caught.value.line == 3
    with pytest.raises(DataError) as caught:
        load_table("name;n\nZoé;1\n".encode("cp1252"))
    assert "mixes" not in caught.value.what


@for_each("inspect", [inspect_corpus, inspect_source])
def test_fields_of_a_broken_line_are_not_taken_for_those_of_the_line_above(inspect: Any) -> None:
    schema = inspect(b'name\tcontent\nAnn\tsome text\n1\t"two"three\n', header=True)
    assert schema.rows == (("Ann", "some text"),)


def test_marked_lines_below_a_title_are_no_comments() -> None:
    """The look at the first lines took them for records, and the readers skipped them: a crash."""
    text = "Pets of 2020\n" + "".join(f"#{i};{i % 7};1\n" for i in range(40))
    for options in ({"format": "edges"}, {"format": "matrix"}):
        with pytest.raises(DataError, match="line 42, column 3: this line has 2 fields"):
            load_relation(f"{text}7;8\n".encode(), **options)
    assert load_relation(text.encode(), format="edges", value=2).data.n_ones == 40
