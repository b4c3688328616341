"""The command line on corpora: read, fitted, compared, printed and written; flags of another kind are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.cli.arguments import MODEL_FOR
from acvb_core.registry import MODELS, model_row
from acvb_core.samples.catalogue import SAMPLES
from tests.cli.support import WOMEN, Run
from tests.loops import for_each

BARS = "sample:bars"
FEW = ("--k", "3", "--max-sweeps", "6")
SEA, FARM = "ship sail harbour wave", "field corn harvest plough"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A table of texts about two things, ten of the sea and twenty of the farm."""
    path = tmp_path / "talks.csv"
    of_farms = [f"farm{i},1913,The {FARM} {FARM}\n" for i in range(20)]
    lines = [f"sea{i},1912,{SEA} {SEA}\n" for i in range(10)] + of_farms
    path.write_text("title,year,text\n" + "".join(lines))
    return path


@pytest.fixture
def counts(tmp_path: Path) -> tuple[Path, Path]:
    """The same as a UCI docword file and its vocabulary."""
    docword, vocabulary = tmp_path / "docword.talks.txt", tmp_path / "vocab.txt"
    lines = [f"{d + 1} {4 * (d % 2) + w + 1} 2\n" for d in range(30) for w in range(4)]
    docword.write_text("30\n8\n120\n" + "".join(lines))
    vocabulary.write_text("\n".join([*SEA.split(), *FARM.split()]) + "\n")
    return docword, vocabulary


def test_every_model_has_its_text_and_its_reader() -> None:
    for row in MODELS:
        text = row.part("text")
        assert all(map(callable, (text.facts, text.lines, text.held_out, text.write_further_files)))
        assert model_row(MODEL_FOR[row.kind]).kind == row.kind


def test_the_numbers_are_the_librarys(run: Run, texts: Path) -> None:
    told = run(
        "fit", texts, "--model", "lda", "--method", "cvb0", "--json", "--heldout", "0.1", "--heldout-seed", 4,
        "--seed", 5, "--k", 2, "--alpha", "0.3", "--beta", "0.02", "--hyper", "fixed", "--max-sweeps", 9,
        "--stop-words", "none", "--extra-stop-words", "sail,wave", "--numbers", "--no-lowercase", "--ngrams", 2,
        "--min-documents", 3, "--max-share", "0.6", "--max-words", 7, "--token-pattern", r"[A-Za-z]+",
        "--text-column", "text", "--name-column", 0, "--label-column", "year", "--name", "talks!",
    ).json  # fmt: skip
    tokeniser = acvb_core.Tokeniser(
        stop_words=(), extra_stop_words=("sail", "wave"), numbers=True, lowercase=False, ngrams=2, min_documents=3,
        max_share=0.6, max_words=7, token_pattern="[A-Za-z]+",
    )  # fmt: skip
    corpus = acvb_core.load_corpus(
        texts, tokeniser=tokeniser, text_column="text", name_column=0, label_column="year", name="talks!"
    ).data
    same = acvb_core.fit(
        corpus,
        "cvb0",
        heldout=0.1,
        heldout_seed=4,
        seed=5,
        k=2,
        alpha=0.3,
        beta=0.02,
        hyper="fixed",
        max_sweeps=9,
    )
    assert told["data"] == corpus.identity()
    assert told["heldout"] == same.snapshot.heldout._asdict()
    assert told["loo_perplexity"] == same.snapshot.extras["loo_perplexity"]
    assert told["settings"] == same.prepared.spec.to_dict()


def test_texts_end_to_end(run: Run, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(
        "fit",
        texts,
        "--model",
        "lda",
        "--k",
        2,
        "--alpha",
        "0.1",
        "--hyper",
        "fixed",
        "--heldout",
        "0.1",
        "--out",
        out,
    )
    assert done.code == 0
    assert done.err.rstrip().endswith("topics 2")
    for words in (
        "talks: 30 documents · 8 words", "ACVB0 · K 2 · seed 0", "converged after", "2 topics",
        "leave-one-out perplexity", "held-out words", "perplexity 4.", f"written to                {out}",
    ):  # fmt: skip
        assert words in done.out, words
    listed = [line.split("%  ") for line in done.out.splitlines() if "%  " in line]
    assert [float(head.split()[1]) for head, _ in listed] == pytest.approx([66.7, 33.3], abs=1.0)
    best = [set(line.split(", ")[:4]) for _, line in listed]
    assert best == [{*FARM.split()}, {*SEA.split()}], "the largest topic comes first"
    assert {path.name for path in out.iterdir()} == {
        "run.json", "history.csv", "topics.csv", "documents.csv", "posterior.npz", "model.npz",
    }  # fmt: skip
    topics, documents = (pd.read_csv(out / f"{name}.csv") for name in ("topics", "documents"))
    # One number for each topic: on the screen, in the tables and in the arrays.
    for number, words in enumerate(best, 1):
        assert set(topics[(topics["topic"] == number) & (topics["rank"] <= 4)]["word"]) == words
    sea = documents[documents["document"].str.startswith("sea")]
    assert (sea["topic_2"] > 0.9).all()
    with np.load(out / "posterior.npz", allow_pickle=False) as file:
        assert np.array_equal(file["theta"], documents.filter(like="topic_").to_numpy(file["theta"].dtype))


def test_counts_end_to_end(run: Run, counts: tuple[Path, Path], tmp_path: Path) -> None:
    docword, vocabulary = counts
    done = run(
        "fit", docword, "--model", "lda", "--vocab", vocabulary, "--format", "docword", "--json", "--method", "vb",
        "--k", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.code == 0
    assert done.json["data"]["words"] == 8
    same = run(
        "fit", docword, "--model", "lda", "--vocabulary", vocabulary, "--json", "--method", "vb", "--k", 2
    )
    assert same.json["data"] == done.json["data"]
    saved = json.loads((tmp_path / "out" / "run.json").read_text())
    assert saved == {name: done.json[name] for name in saved}
    topics = pd.read_csv(tmp_path / "out" / "topics.csv")
    assert set(topics["word"]) == {*SEA.split(), *FARM.split()}


def test_a_word_cannot_command_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    # Two that no reader of text files refuses: the eight-bit form of escape [, and a turn to the left.
    path.write_text("doc,word,count\na,\x9b2Jboo,2\nb,plain,1\nb,\u202eoob,1\n", encoding="utf-8")
    done = run("fit", path, "--model", "lda", "--k", 1, "--max-sweeps", 2)
    assert done.code == 0
    assert "2Jboo" in done.out
    assert not {"\x9b", "\u202e"} & {*done.out}


@for_each("arguments, words", [
        (["FILE", "--model", "lda", "--row-column", "0"], "--row-column is for a relation, but FILE is to be"),
        (["FILE", "--model", "lda", "--same-nodes"], "--same-nodes is for a relation"),
        (["FILE", "--model", "lda", "--format", "edges"], "--format edges is for a relation"),
        (["FILE", "--vocab", "words"], "but FILE is to be read as a relation. Leave it out, or give --model"),
        (["FILE", "--text-column", "0"], "give --model lda"),
        (["FILE", "--format", "docword"], "--format docword is for a corpus"),
        (["FILE", "--min-documents", "3"], "--min-documents is for a corpus"),
        (["FILE", "--no-lowercase"], "--lowercase is for a corpus"),
        (["FILE", "--model", "irm", "--stop-words", "none"], "--stop-words is for a corpus"),
        ([BARS, "--vocab", "words"], "A sample is read as it is; leave --vocabulary out"),
        ([BARS, "--ngrams", "2"], "leave --ngrams out"),
        ([BARS, "--name", "mine"], "leave --name out"),
        ([BARS, "--model", "irm"], "model 'irm' is for a relation; this is a corpus"),
        ([BARS, "--k-rows", "3"], "--k-rows is not a setting of model 'lda'; irm, network have it (--model)"),
        ([WOMEN, "--k", "3"], "--k is not a setting of model 'irm', which has --k-rows and --k-cols"),
        ([BARS, "--method", "magic"], "model 'lda' has no method 'magic'; it has acvb0"),
        ([BARS, "--method", "cvb0", "--burn-in", "3"], "--burn-in is not a setting of cvb0; acvb0, acvb"),
        ([BARS, "--k", "0"], "k is 0; it must be from 1 to"),
        ([BARS, "--k", "1.5"], "--k is '1.5'; it must be a whole number"),
        ([BARS, "--hyper", "tied"], "hyper is 'tied'; it must be one of minka, plain, fixed"),
        ([WOMEN, "--hyper", "minka"], "hyper is 'minka'; it must be one of tied"),
        ([BARS, "--heldout", "1"], "at least 0 and below 1"),
        (["nowhere.csv", "--model", "lda"], "nowhere.csv: the file cannot be opened"),
        (["FILE", "--model", "lda", "--max-share", "2"], "max_share is 2.0; it must be from 0.01 to 1"),
        (["FILE", "--model", "lda", "--ngrams", "x"], "--ngrams is 'x'; it must be a whole number"),
        (["FILE", "--model", "lda", "--stop-words", "klingon"], "no stop words for the language 'klingon'"),
        (["FILE", "--model", "lda", "--token-pattern", "("], "not a regular expression"),
        (["FILE", "--format", "word"], "invalid choice: 'word'"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    for command in ("fit", "compare"):
        if command == "compare" and "--method" in arguments:
            continue
        failed = run(command, *arguments)
        assert failed.code == 2
        assert failed.out == ""
        assert failed.err.startswith("acvb: ")
        assert failed.err.count("\n") == 1
        assert words in failed.err


def test_flags_that_the_format_has_no_use_for(run: Run, texts: Path, counts: tuple[Path, Path]) -> None:
    docword, vocabulary = counts
    for arguments, words in (
        ((docword, "--ngrams", 2), "A tokeniser is for texts; docword.talks.txt is read as docword"),
        ((texts, "--vocab", vocabulary), "A vocabulary is for word counts; talks.csv is read as table"),
        ((texts, "--word-column", 1), "word_column does not apply"),
        ((texts, "--text-column", "body"), "there is no column of this name"),
    ):
        failed = run("fit", *arguments, "--model", "lda")
        assert (failed.code, failed.out) == (2, "")
        assert words in failed.err


def test_samples_of_both_kinds_are_listed(run: Run) -> None:
    listed = run("samples", "--json").json["samples"]
    assert {row["kind"] for row in listed} == {"relation", "corpus", "table"}
    for row in listed:
        sample = SAMPLES[row["name"]]
        assert (row["model"], row["shape"]) == (sample.model, list(sample.shape))
        assert sample.size_text in run("samples").out


def test_help_tells_the_models_apart(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        acvb_core.cli.main(["fit", "--help"])  # type: ignore[attr-defined]
    shown = " ".join(capsys.readouterr().out.split())
    assert "--alpha X [irm; network] Larger values favour more clusters" in shown
    assert "[lda] The smaller, the fewer topics a document mixes" in shown
    assert "Number of topics. (default: 20) [lda]" in shown
    for flag in ("--vocab", "--text-column", "--stop-words", "--min-documents", "--ngrams"):
        assert flag in shown


def test_texts_that_are_not_cut_into_words_are_told_of(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "talks.txt"
    path.write_text(
        "机器学习是人工智能的一个分支\n今天天气很好\n机器学习是人工智能的一个分支\n", encoding="utf-8"
    )
    done = run("fit", path, "--model", "lda", "--format", "lines", *FEW, "--json")
    assert done.code == 0
    assert any("Chinese or Japanese text without blanks" in line for line in done.json["report"])
    path.write_text("机器学习是人工智能的一个分支\n今天天气很好\n", encoding="utf-8")
    done = run("fit", path, "--model", "lda", "--format", "lines", *FEW)
    assert done.code != 0
    assert "Put blanks between the words" in done.err
