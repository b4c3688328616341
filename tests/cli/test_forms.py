"""FILE of every form: which part is read, what is asked about in flags, streams, and what is refused."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from acvb_core.cli.arguments import name_flags
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.engine import machine as free_memory
from tests.cli.support import SMALL, WOMEN, Run
from tests.loops import for_each

LINKS = pd.DataFrame({"person": ["Ann", "Bob", "Bob", "Cyd"], "event": ["Fair", "Fair", "Ball", "Ball"]})
OTHER = pd.DataFrame({"user": ["Dan", "Eve"], "item": ["Hike", "Swim"]})
LONG = "The quick brown fox number {} jumps over a lazy dog by the river bank"
NOTES = pd.DataFrame({"who": [f"p{n}" for n in range(12)], "text": [LONG.format(n) for n in range(12)]})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with each kind of file."""
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        for name, frame in {"links": LINKS, "2024": OTHER, "more": OTHER[:1]}.items():
            frame.to_excel(book, sheet_name=name, index=False)
    base = sqlite3.connect(tmp_path / "made.db")
    LINKS.to_sql("links", base, index=False)
    OTHER.to_sql("other things", base, index=False)
    base.close()
    NOTES.to_parquet(tmp_path / "notes.parquet")
    NOTES.to_excel(tmp_path / "notes.xlsx", index=False)
    NOTES.to_json(tmp_path / "notes.jsonl", orient="records", lines=True)
    NOTES[["text"]].to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    return tmp_path


@for_each(
    "data, typed, wanted",
    [
        (WOMEN, ("--k", 4, "--k-cols", 3), {"k_rows": 4, "k_cols": 3}),
        ("sample:karate", ("--k", 4), {"k_rows": 4}),
        ("sample:block_images", ("--k", 4), {"k_max": 4}),
    ],
)
def test_one_flag_sets_all_numbers_of_clusters_that_are_not_set_by_name(
    run: Run, tmp_path: Path, data: str, typed: tuple[str, ...], wanted: dict[str, int]
) -> None:
    assert run("fit", data, *typed, "--max-sweeps", 2, "--quiet", "--out", tmp_path).code == 0
    found = json.loads((tmp_path / "run.json").read_text())["settings"]["values"]
    assert {name: found[name] for name in found if name.startswith("k_")} == wanted


@for_each(
    "file, flags, size",
    [
        ("book.xlsx", (), "3 x 2"),
        ("book.xlsx", ("--sheet", "2024"), "2 x 2"),  # a name, though it is made of digits
        ("book.xlsx", ("--sheet", "2", "--header"), "1 x 1"),
        ("made.db", ("--table", "other things"), "2 x 2"),
        ("made.db", ("--query", "SELECT * FROM links WHERE event = 'Fair'"), "2 x 1"),
    ],
)
@for_each("command", ["fit", "compare"])
def test_a_part_of_a_file_is_read(
    run: Run, files: Path, command: str, file: str, flags: tuple[str, ...], size: str
) -> None:
    more = ("--method", "cvb0") if command == "fit" else ("--methods", "cvb0")
    found = run(command, files / file, *flags, *more, *SMALL, "--domains", "two", "--quiet", "--json")
    assert found.code == 0, found.err
    shape = found.json["data"]["shape"] if "data" in found.json else found.json["runs"][0]["data"]["shape"]
    assert " x ".join(map(str, shape)) == size


@for_each(
    "file, flags, said",
    [
        ("made.db", (), "(--table ...) among 'links', 'other things', or give a query (--query 'SELECT ...')"),
        ("made.db", ("--table", "x"), "the database has no table of this name"),
        ("made.db", ("--sheet", "x"), "made.db has no sheets: leave out --sheet x."),
        ("notes.parquet", ("--table", "x y"), "notes.parquet has no tables: leave out --table 'x y'."),
        ("book.xlsx", ("--sheet", "x"), "there is no sheet of this name (found 'x'). Choose among 'links', '2024'"),
        ("book.xlsx", ("--sheet", "9"), "there is no sheet at this position (found '9')"),
        ("book.xlsx", ("--model", "lda", "--sheet", "x"), "there is no sheet of this name (found 'x')"),
        ("sample:southern_women", ("--sheet", "x"), "A sample is read as it is; leave --sheet out"),
    ],
)  # fmt: skip
def test_an_error_about_a_missing_part_names_the_flags(
    run: Run, files: Path, file: str, flags: tuple[str, ...], said: str
) -> None:
    found = run("fit", file if ":" in file else files / file, *flags)
    assert (found.code, found.out) == (2, "")
    assert said in found.err


LDA = ("--model", "lda", "--max-sweeps", "2", "--max-share", "1")


@for_each(
    "file, flags",
    [
        ("texts.jsonl", ("--field", "text")),
        ("notes.parquet", ("--text-column", "text")),
        ("both.xlsx", ("--sheet", "notes", "--text", "text")),
    ],
)
def test_texts_are_read(run: Run, files: Path, tmp_path: Path, file: str, flags: tuple[str, ...]) -> None:
    with pd.ExcelWriter(files / "both.xlsx") as book:
        LINKS.to_excel(book, sheet_name="links", index=False)
        NOTES.to_excel(book, sheet_name="notes", index=False)
    found = run("fit", files / file, *flags, *LDA, "--json", "--quiet")
    assert found.code == 0, found.err
    assert found.json["data"]["documents"] == len(NOTES)
    folder = tmp_path / "disk"
    assert run("read", files / file, folder, *flags, "--max-share", "1", "--quiet").code == 0
    assert run("fit", folder, "--epochs", "1", "--method", "sdm", "--k", "2", "--quiet").code == 0


def test_a_folder_of_texts_is_read(run: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts" / "inner"
    texts.mkdir(parents=True)
    for n in range(12):
        (texts / f"{n}.txt").write_text(LONG.format(n))
    found = run("fit", texts.parent, *LDA[2:], "--json", "--quiet")
    assert found.code == 0, found.err
    assert found.json["data"]["documents"] == 12
    disk = ("--on-disk", tmp_path / "disk", "--max-share", "1", "--quiet")
    stream = ("--method", "sdm", "--k", "2", "--epochs", "1")
    assert run("fit", texts.parent, *disk, *stream).code == 0
    assert run("fit", texts.parent, *disk, *stream).code == 0
    (texts / "0.txt").write_text("another text")
    changed = run("fit", texts.parent, *disk, *stream)
    assert "its size and the time of its last change were other than now" in changed.err


def test_arguments_in_errors_become_flags() -> None:
    said = name_flags(
        ParameterError("It does not fit (check_memory=False), or domains='two'; sheet='a b'; k='x'.")
    )
    assert said == "It does not fit (--no-check-memory), or --domains two; --sheet 'a b'; k='x'."
    error = DataError(
        "sheet='a' is here", remedy='Choose (sheet=...) or (leave_out) or (text_column="it\'s").'
    )
    assert name_flags(error) == (
        "sheet='a' is here. Choose (--sheet ...) or (--leave-out) or (--text-column 'it'\"'\"'s')."
    )


PAIRS = "from,to\n" + "".join(f"{a},{b}\n" for a in range(1, 7) for b in range(a + 1, 7) if a * b % 3)


@for_each(
    "content, flags, asked",
    [
        (PAIRS, (), "--directed) or that they have none (--undirected)"),
        ("Buyer,Ware\nAnn,x\nBob,x\nAnn,y\nBob,y\n", (), "(--header) or data (--no-header)"),
        ("a,b,n\nr,x,'1,234'\ns,y,'5,678'\n".replace("'", '"'), (), "--decimal"),
        ("doc,river,lake\nd1,1,x\n", ("--model", "lda", "--format", "matrix"), "line 2, column 3"),
        ("a;b;1,5\na;c;2,5\nb;c\n", (), "semicolon"),
    ],
)
def test_a_question_about_a_file_names_the_flags(
    run: Run, tmp_path: Path, content: str, flags: tuple[str, ...], asked: str
) -> None:
    (tmp_path / "data.csv").write_text(content)
    found = run("fit", tmp_path / "data.csv", *flags, "--quiet")
    assert (found.code, found.out) == (2, "")
    assert asked in found.err


EDGES = b"person,event\nAnn,Fair\nBob,Fair\nBob,Ball\nCid,Ball\nAnn,Hunt\n"
TEXTS = b"bird cat dog\ncat dog fox\nfox gnu hen\nhen bird gnu\n" * 4
TABLE = b"a,b\n1,2\n2,1\n3,5\n4,4\n"

KINDS = {
    "relation": (EDGES, SMALL),
    "corpus": (TEXTS, ("--model", "lda", "--k", "2", "--max-sweeps", "3")),
    "corpus on disk": (TEXTS, ("--model", "lda", "--method", "svb", "--k", "2", "--epochs", "1")),
    "table": (TABLE, ("--model", "lfm", "--max-sweeps", "3")),
}


@for_each("kind", list(KINDS))
def test_standard_input_is_read(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content, flags = KINDS[kind]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = run("fit", "-", "--json", "--quiet", *flags)
    assert found.code == 0, found.err
    assert found.json["data"]["name"] == "stdin"


def test_a_pipe_is_read_once_and_looked_at_twice(run: Run, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXTS,))
    writer.start()
    found = run("fit", pipe, "--json", "--quiet", *KINDS["corpus"][1])
    writer.join()
    assert found.code == 0, found.err
    assert found.json["data"]["name"] == "pipe"


def test_a_tilde_and_an_address(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "edges.csv").write_bytes(EDGES)
    assert run("fit", "~/edges.csv", "--quiet", *SMALL).code == 0
    for command in (["fit"], ["compare"], ["read"], ["fit", "--model", "lda"], ["fit", "--model", "lfm"]):
        more = ["out"] if command == ["read"] else []
        found = run(*command, "https://example.org/a.csv", *more)
        assert found.code == 2
        told = "nothing is fetched from an address. Download the file and give its path."
        assert found.err == f"acvb: https://example.org/a.csv: {told}\n"


@for_each("command", ["fit", "compare"])
def test_a_run_that_does_not_fit_is_refused_unless_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(free_memory, "available_memory", lambda: 100)
    found = run(command, WOMEN, *SMALL, "--quiet")
    assert (found.code, found.out) == (2, "")
    assert "GB of memory" in found.err
    assert "--no-check-memory" in found.err
    assert run(command, WOMEN, *SMALL, "--quiet", "--no-check-memory").code == 0
