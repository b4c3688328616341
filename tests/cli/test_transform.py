"""`acvb transform`: documents that were not fitted get the topics that the library gives them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.engine.result import Result
from tests.cli.support import WOMEN, Run
from tests.loops import for_each

SEA, FARM = "ship sail harbour wave", "field corn harvest plough"
LINES = [f"{SEA} Ship", f"the {FARM} {FARM}", f"{SEA} corn ship ship"] * 6
NEW = ["A ship on the wave, the unheard sail", "corn 1912", "nobody"]
FIT = ("--model", "lda", "--method", "cvb0", "--k", "2", "--alpha", "0.1", "--hyper", "fixed", "--seed", "2")


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def table_of(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype={"document": str})


def assert_same_table(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert list(one["document"]) == list(other["document"])
    pd.testing.assert_frame_equal(
        one.drop(columns="document"), other.drop(columns="document"), check_exact=True
    )


def fitted(run: Run, file: Path, out: Path, *more: object) -> Path:
    assert run("fit", file, *FIT, *more, "--out", out).code == 0
    return out


def library(corpus: acvb_core.Corpus) -> Result:
    return acvb_core.fit(corpus, "cvb0", k=2, alpha=0.1, hyper="fixed", seed=2)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return lines(tmp_path / "talks.txt", LINES)


@pytest.fixture
def folder(run: Run, texts: Path, tmp_path: Path) -> Path:
    return fitted(run, texts, tmp_path / "run", "--format", "lines")


@for_each("ngrams", [1, 2])
def test_the_file_that_was_fitted_gives_what_the_library_gives(
    run: Run, texts: Path, tmp_path: Path, ngrams: int
) -> None:
    cutting = ("--ngrams", ngrams, "--min-documents", 1, "--max-share", 1)
    folder = fitted(run, texts, tmp_path / "run", "--format", "lines", *cutting)
    done = run("transform", folder, texts, "--format", "lines")
    assert done.code == 0
    tokeniser = acvb_core.Tokeniser(ngrams=ngrams, min_documents=1, max_share=1)
    corpus = acvb_core.load_corpus(texts, format="lines", tokeniser=tokeniser).data
    result = library(corpus)
    table = table_of(done.out)
    assert list(table) == ["document", "tokens", "unknown", "topic_1", "topic_2"]
    assert_same_table(table, result.transform(corpus))
    assert (table["unknown"] == 0).all()
    assert (table["tokens"] == corpus.lengths).all()


def test_new_texts_are_cut_as_the_fitted_ones(run: Run, texts: Path, tmp_path: Path) -> None:
    cutting = ("--extra-stop-words", "harbour", "--numbers", "--max-words", 6, "--no-lowercase")
    folder = fitted(run, texts, tmp_path / "run", "--format", "lines", *cutting)
    done = run("transform", folder, lines(tmp_path / "new.txt", NEW), "--format", "lines")
    assert done.code == 0
    table = table_of(done.out)
    # The six most frequent words are ship, corn, field, harvest, plough and sail: wave is not among them. Of the new
    # texts' own words none is too rare; 1912 is a word here, nobody a stop word.
    assert table["tokens"].tolist() == [2, 1, 0]
    assert table["unknown"].tolist() == [2, 1, 0]
    tokeniser = acvb_core.Tokeniser(extra_stop_words=("harbour",), numbers=True, max_words=6, lowercase=False)
    corpus = acvb_core.load_corpus(texts, format="lines", tokeniser=tokeniser).data
    result = library(corpus)
    expected = result.transform(NEW)
    np.testing.assert_array_equal(table["topic_1"], expected["topic_1"])
    assert table["topic_1"][0] != pytest.approx(0.5, abs=0.2)
    assert "Dropped" in done.err


def test_where_the_table_is_printed_nothing_else_is(run: Run, folder: Path, tmp_path: Path) -> None:
    new = lines(tmp_path / "new.txt", NEW)
    done = run("transform", folder, new, "--format", "lines")
    assert done.out.count("\n") == 4
    assert "words  4 that the topics know, 1 that they do not" in done.err
    assert "topics of talks" in done.err
    written = run("transform", folder, new, "--format", "lines", "--out", tmp_path / "new.csv")
    assert written.err == ""
    assert "written to  " in written.out
    assert (tmp_path / "new.csv").read_text() == done.out


def test_one_object_of_json(run: Run, folder: Path, texts: Path, tmp_path: Path) -> None:
    table = table_of(run("transform", folder, texts, "--format", "lines").out)
    done = run("transform", folder, texts, "--format", "lines", "--json")
    told = done.json
    assert done.err == ""
    assert (told["topics"], told["data"]["documents"]) == ("talks", len(LINES))
    assert (told["tokens"], told["unknown"]) == (table["tokens"].sum(), 0)
    assert told["completion"] is None
    assert told["out"] is None
    assert_same_table(pd.DataFrame(told["table"]), table)
    out = tmp_path / "new.csv"
    told = run("transform", folder, texts, "--format", "lines", "--json", "--out", out).json
    assert told["table"] is None
    assert told["out"] == str(out)
    assert_same_table(table_of(out.read_text()), table)


def test_completion_is_the_librarys(run: Run, folder: Path, texts: Path) -> None:
    told = run("transform", folder, texts, "--format", "lines", "--json", "--completion").json
    corpus = acvb_core.load_corpus(texts, format="lines").data
    expected = library(corpus).completion(corpus)
    assert told["completion"] == expected._asdict()
    shown = run("transform", folder, texts, "--format", "lines", "--completion").err
    assert f"{expected.log_likelihood:.4f} nats a word, perplexity {expected.perplexity:.1f}" in shown


def test_what_was_read_as_counts_cannot_say_how_to_cut(run: Run, texts: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("doc,word,count\na,ship,2\na,sail,1\nb,corn,3\nb,field,1\n")
    folder = fitted(run, counts, tmp_path / "run")
    assert json.loads((folder / "run.json").read_text())["data"]["tokeniser"] is None
    done = run("transform", folder, counts)
    corpus = acvb_core.load_corpus(counts).data
    assert_same_table(table_of(done.out), library(corpus).transform(corpus))
    for file in (texts, "sample:bible"):
        failed = run("transform", folder, file, *(() if file == "sample:bible" else ("--format", "lines")))
        assert (failed.code, failed.out) == (2, "")
        assert "counts was read as counts, so it is not known how to cut texts" in failed.err


@for_each("arguments, words", [
        (["FOLDER", WOMEN], "sample:southern_women is a relation; topics are of documents"),
        (["FOLDER", "sample:bars"], "bars: no word of these documents is one of the topics' words"),
        (["FOLDER", "nowhere.csv"], "nowhere.csv: the file cannot be opened"),
        (["nowhere", "FILE"], "nowhere is not a folder. Give a folder that `acvb fit --model lda … --out` wrote"),
        (["FOLDER", "FILE", "--format", "edges"], "invalid choice: 'edges'"),
        (["FOLDER", "FILE", "--min-documents", "1"], "unrecognized arguments: --min-documents 1"),
        (["FOLDER", "FILE", "--same-nodes"], "unrecognized arguments: --same-nodes"),
        (["FOLDER", "sample:bars", "--vocab", "x"], "leave --vocabulary out"),
        (["FOLDER", "FILE", "--format", "lines", "--out", "no/where.csv"], "no/where.csv: No such file"),
        (["FOLDER"], "required: FILE"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(
    run: Run, folder: Path, texts: Path, arguments: list[str], words: str
) -> None:
    given = {"FOLDER": folder, "FILE": texts}
    failed = run("transform", *(given.get(argument, argument) for argument in arguments))
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert words in failed.err
