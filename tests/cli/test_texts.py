"""The command line on texts: read, fitted, kept on disk, tuned, transformed; what is for other data is refused."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.cli import source as documents
from acvb_core.cli.source import ORIGIN
from acvb_core.engine.result import Result
from acvb_core.engine.tuning import tune
from acvb_core.store.export import csv_text, round_digits
from acvb_core.store.topics import load_model
from tests.cli.support import WOMEN, Run, press_ctrl_c_at
from tests.loops import for_each

BARS = "sample:bars"
SEA, FARM = "ship sail harbour wave", "field corn harvest plough"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A table of texts about two things, ten of the sea and twenty of the farm."""
    path = tmp_path / "talks.csv"
    of_farms = [f"farm{i},1913,The {FARM} {FARM}\n" for i in range(20)]
    lines = [f"sea{i},1912,{SEA} {SEA}\n" for i in range(10)] + of_farms
    path.write_text("title,year,text\n" + "".join(lines))
    return path


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
    done = run("fit", texts, "--model lda --k 2 --alpha 0.1 --hyper fixed --heldout 0.1 --out", out)
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
        "run.json", "history.csv", "topics.csv", "documents.csv", "posterior.npz", "model.npz", "result.acvb",
    }  # fmt: skip
    topics, documents = (pd.read_csv(out / f"{name}.csv") for name in ("topics", "documents"))
    # One number for each topic: on the screen, in the tables and in the arrays.
    for number, words in enumerate(best, 1):
        assert set(topics[(topics["topic"] == number) & (topics["rank"] <= 4)]["word"]) == words
    sea = documents[documents["document"].str.startswith("sea")]
    headings = [f"topic_{k}: {topics['name'][topics['topic'] == k].iloc[0]}" for k in (1, 2)]
    assert (sea[headings[1]] > 0.9).all()
    with np.load(out / "posterior.npz", allow_pickle=False) as file:
        shares = documents[headings].to_numpy()
        np.testing.assert_array_equal(round_digits(file["theta"].astype(float)), shares)


def test_a_word_cannot_command_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    # Two that no reader of text files refuses: the eight-bit form of escape [, and a turn to the left.
    path.write_text("doc,word,count\na,\x9b2Jboo,2\nb,plain,1\nb,\u202eoob,1\n", encoding="utf-8")
    done = run("fit", path, "--model", "lda", "--k", 1, "--max-sweeps", 2)
    assert done.code == 0
    assert "2Jboo" in done.out
    assert not {"\x9b", "\u202e"} & {*done.out}


LINES = [f"{SEA} Ship", f"the {FARM} {FARM}", f"{SEA} corn ship ship"] * 6
FIT = ("--model", "lda", "--method", "cvb0", "--k", "2", "--alpha", "0.1", "--hyper", "fixed", "--seed", "2")


def lines(path: Path, talks: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in talks))
    return path


def table_of(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), dtype={"document": str})


def assert_same_table(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert csv_text(one) == csv_text(other), "equal in all digits that are written"


def fitted(run: Run, file: Path, out: Path, *more: object) -> Path:
    assert run("fit", file, *FIT, *more, "--out", out).code == 0
    return out


def library(corpus: acvb_core.Corpus) -> Result:
    return acvb_core.fit(corpus, "cvb0", k=2, alpha=0.1, hyper="fixed", seed=2)


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    return lines(tmp_path / "talks.txt", LINES)


@pytest.fixture
def folder(run: Run, talks: Path, tmp_path: Path) -> Path:
    return fitted(run, talks, tmp_path / "run", "--format", "lines")


@for_each("ngrams", [1, 2])
def test_the_file_that_was_fitted_gives_what_the_library_gives(
    run: Run, talks: Path, tmp_path: Path, ngrams: int
) -> None:
    cutting = ("--ngrams", ngrams, "--min-documents", 1, "--max-share", 1)
    folder = fitted(run, talks, tmp_path / "run", "--format", "lines", *cutting)
    done = run("transform", folder, talks, "--format", "lines")
    assert done.code == 0
    tokeniser = acvb_core.Tokeniser(ngrams=ngrams, min_documents=1, max_share=1)
    corpus = acvb_core.load_corpus(talks, format="lines", tokeniser=tokeniser).data
    result = library(corpus)
    table = table_of(done.out)
    assert list(table) == ["document", "tokens", "unknown", "topic_1", "topic_2"]
    assert_same_table(table, result.transform(corpus))
    assert (table["unknown"] == 0).all()
    assert (table["tokens"] == corpus.lengths).all()
    told = run("transform", folder, talks, "--format", "lines", "--json", "--completion").json
    assert told["completion"] == result.completion(corpus)._asdict()


def test_a_run_on_counts_cannot_cut_texts(run: Run, talks: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("doc,word,count\na,ship,2\na,sail,1\nb,corn,3\nb,field,1\n")
    folder = fitted(run, counts, tmp_path / "run")
    assert json.loads((folder / "run.json").read_text())["data"]["tokeniser"] is None
    done = run("transform", folder, counts)
    corpus = acvb_core.load_corpus(counts).data
    assert_same_table(table_of(done.out), library(corpus).transform(corpus))
    for file in (talks, "sample:bible"):
        failed = run("transform", folder, file, *(() if file == "sample:bible" else ("--format", "lines")))
        assert (failed.code, failed.out) == (2, "")
        assert "counts was read as counts, so it is not known how to cut texts" in failed.err


@for_each("arguments, words", [
        (["FOLDER", WOMEN], "sample:southern_women is a relation; topics are of documents"),
        (["FOLDER", "sample:bars"], "bars: no word of these documents is one of the topics' words"),
        (["nowhere", "FILE"], "nowhere is not a folder. Give a folder that `acvb fit --model lda … --out` wrote"),
        (["FOLDER", "FILE", "--format", "edges"], "invalid choice: 'edges'"),
        (["FOLDER", "sample:bars", "--vocab", "x"], "leave --vocabulary out"),
        (["FOLDER", "FILE", "--format", "lines", "--out", "no/where.csv"], "no/where.csv: No such file"),
    ])  # fmt: skip
def test_every_mistake_of_transform_is_one_line(
    run: Run, folder: Path, talks: Path, arguments: list[str], words: str
) -> None:
    given = {"FOLDER": folder, "FILE": talks}
    failed = run("transform", *(given.get(argument, argument) for argument in arguments))
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert words in failed.err


SHORT = ("--k", "4", "--epochs", "1", "--window", "20")
SAME = ("loo_perplexity", "sweeps", "passes", "heldout", "hyper", "documents_seen")


@pytest.fixture
def long_talks(tmp_path: Path) -> Path:
    return write_texts(tmp_path)


def write_texts(folder: Path) -> Path:
    path = folder / "talks.csv"
    lines = [
        f"{kind}{i},{words} {words} w{i % 7}\n"
        for i in range(60)
        for kind, words in (("s", SEA), ("f", FARM))
    ]
    path.write_text("title,text\n" + "".join(lines))
    return path


def fit(run: Run, file: object, *more: object) -> Any:
    done = run("fit", file, "--method", "sdm", *SHORT, "--json", *more)
    assert done.code == 0, done.err
    return done.json


def test_a_file_that_was_read_gives_what_the_file_gives(run: Run, long_talks: Path, tmp_path: Path) -> None:
    read = run("read", long_talks, tmp_path / "kept", "--quiet")
    assert (read.code, read.err) == (0, "")
    assert read.out.startswith("talks: 120 documents · 15 words · 1,080 tokens · on disk\n")
    assert f" MB in {tmp_path / 'kept'}\n" in read.out
    split = ("--heldout-documents", "0.1", "--heldout-seed", 3)
    one, other = fit(run, long_talks, *split), fit(run, tmp_path / "kept", *split)
    assert one["model"] == "lda", "no other model has the method"
    for name in SAME:
        assert one[name] == other[name], name
    assert one["data"]["fingerprint"] == other["data"]["fingerprint"]
    assert one["heldout"]["completion_perplexity"] == one["heldout"]["perplexity"] > 1
    assert one["documents_per_second"] > 0
    assert one["documents_seen"] == 108
    assert one["settings"]["heldout_documents"] == 0.1
    again = run("read", long_talks, tmp_path / "kept", "--json").json
    assert again["data"] == other["data"]
    assert again["report"][0] == f"Read before, and kept in {tmp_path / 'kept'}."
    assert again["bytes"] > 0


def edit_later(file: Path) -> None:
    stat = file.stat()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


@for_each(
    "change, more, words",
    [
        (
            lambda file, kept: file.write_text(file.read_text() + "a,b\n"),
            (),
            "its size and the time of its last",
        ),
        (
            lambda file, kept: edit_later(file),
            (),
            "the time of its last change was other than now. Give another",
        ),
        (lambda file, kept: None, ("--stop-words", "none"), "the way it was read was other than now"),
        (lambda file, kept: None, ("--broken", "skip"), "the way it was read was other than now"),
        (
            lambda file, kept: (kept / ORIGIN).unlink(),
            (),
            "holds a corpus, but does not name the file it was",
        ),
        (lambda file, kept: (kept / ORIGIN).write_text("[]"), (), "does not name the file"),
        (lambda file, kept: (kept / "meta.json").unlink(), (), "There is something at"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(
    run: Run, tmp_path: Path, change: Callable[[Path, Path], Any], more: tuple[str, ...], words: str
) -> None:
    file, kept = write_texts(tmp_path), tmp_path / "kept"
    fit(run, file, "--on-disk", kept)
    change(file, kept)
    before = sorted((path.name, path.stat().st_size) for path in kept.iterdir())
    refused = run("fit", file, "--method", "sdm", *SHORT, "--on-disk", kept, *more)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err
    assert sorted((path.name, path.stat().st_size) for path in kept.iterdir()) == before


@for_each("out", [True, False])
def test_a_large_file_stays_on_disk_for_the_time_being(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: bool
) -> None:
    long_talks, temporary, home = write_texts(tmp_path), tmp_path / "tmp", tmp_path / "results"
    for name in ("SMALL", "LARGE"):
        monkeypatch.setattr(documents, name, 0)
    for folder in (temporary, home):
        folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    command = ("fit", long_talks, "--method", "sdm", *SHORT, "--json", "--heldout-documents", "0.1")
    done = run(*command, *(("--out", home / "run") if out else ()))
    assert done.code == 0
    assert f"talks.csv is large: its documents stay on disk, in {home if out else temporary}" in done.err
    assert [path.name for path in home.iterdir()] == (["run"] if out else [])
    assert list(temporary.iterdir()) == []
    if out:
        written = pd.read_csv(home / "run" / "documents.csv")
        everything = list(acvb_core.load_corpus(long_talks).data.documents)
        assert list(written["document"]) == everything, "those held out as well"
        assert json.loads((home / "run" / "run.json").read_text())["documents_are_a_sample"] is False
    monkeypatch.undo()
    assert run(*command).json["loo_perplexity"] == done.json["loo_perplexity"]


@for_each("method", ["sdm", "cvb0"])
@for_each("large", [True, False])
def test_broken_lines_are_refused_or_left_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, large: bool
) -> None:
    long_talks = write_texts(tmp_path)
    if large:
        monkeypatch.setattr(documents, "SMALL", 0)
        monkeypatch.setattr(documents, "LARGE", 0)
    whole = long_talks.read_text().splitlines(keepends=True)
    long_talks.write_text("".join([*whole[:50], "one,two,three,four\n", *whole[50:]]))
    short = SHORT if method == "sdm" else ("--k", 4, "--max-sweeps", 3)
    command = ("fit", long_talks, "--model", "lda", "--method", method, *short, "--json", "--quiet")
    refused = run(*command)
    assert refused.code == 2
    assert refused.err.startswith("acvb: talks.csv, line 51")
    done = run(*command, "--broken", "skip")
    assert done.code == 0
    assert any("1 broken line left out (line 51)" in line for line in done.json["report"])
    assert done.json["data"]["documents"] == 120


def test_training_continues_from_a_model(run: Run, long_talks: Path, tmp_path: Path) -> None:
    fit(run, long_talks, "--out", tmp_path / "run", "--extra-stop-words", "w1,w2")
    new = tmp_path / "new.csv"
    new.write_text(
        "title,text\n"
        + "".join(f"n{i},{SEA if i % 3 else FARM} lighthouse{i % 2} w{1 + i % 3}\n" for i in range(9))
    )
    trained = load_model(tmp_path / "run")
    corpus = acvb_core.load_corpus(new, tokeniser=trained.tokeniser).data
    assert "w1" not in corpus.vocabulary, "texts are cut as those before"
    same = acvb_core.fit(corpus, "sdm", k=4, epochs=1.0, window=20, start=trained)
    for model in (tmp_path / "run", tmp_path / "run" / "model.npz"):
        done = run("fit", new, "--method sdm --epochs 1 --window 20 --start", model, "--out", tmp_path / "on")
        assert done.code == 0
        assert "continued from" in done.out
        assert "4 topics of talks by sdm" in done.out
        assert "words of the topics that these documents do not have: kept with theirs." in done.out
        topics = pd.read_csv(tmp_path / "on" / "topics.csv")
        assert list(topics["word"]) == list(same.topics["word"])
        probability = round_digits(same.topics["probability"].to_numpy(dtype=float))
        np.testing.assert_array_equal(topics["probability"], probability)
    batch = run(
        "fit", new, "--model lda --method cvb0 --start", tmp_path / "run", "--max-sweeps 2 --json"
    ).json
    assert batch["settings"]["start"] == "4 topics of talks by sdm"
    assert batch["settings"]["values"]["k"] == 4
    assert (
        run("transform", tmp_path / "run" / "model.npz", new).out
        == run("transform", tmp_path / "run", new).out
    )


def test_tuning_finds_what_the_library_finds(run: Run, tmp_path: Path) -> None:
    given = ("--k", 4, "--epochs", "0.5", "--heldout-documents", "0.1", "--seed", 2, "--batch", 20)
    command = ("tune", BARS, "--method", "scvb0", "--trials", 3, *given, "--step-scale", "2.5")
    told = run(*command, "--json", "--out", tmp_path / "out").json
    same = tune(
        acvb_core.load_sample("bars").corpus, "scvb0", 3, k=4, epochs=0.5, heldout_documents=0.1, seed=2, batch=20,
        step_scale=2.5,
    )  # fmt: skip
    table = same.table().drop(columns="cpu_seconds")
    assert "step_scale" not in table, "what is typed is held"
    pd.testing.assert_frame_equal(pd.DataFrame(told["trials"]).drop(columns="cpu_seconds"), table)
    assert told["best"] == same.best
    assert same.best_trial is not None
    assert told["best_perplexity"] == same.best_trial.perplexity
    assert told["default_perplexity"] == same.trials[0].perplexity
    assert told["settings"]["step_scale"] == 2.5
    trials = pd.read_csv(tmp_path / "out" / "trials.csv").drop(columns="cpu_seconds")
    pd.testing.assert_frame_equal(trials, table)
    best = json.loads((tmp_path / "out" / "run.json").read_text())
    assert best["heldout"]["perplexity"] == told["best_perplexity"]
    text = run(*command)
    assert text.code == 0
    assert "Steps of SCVB0, by the perplexity of what is held out" in text.out
    assert f"--step-power {same.best['step_power']!r}" in text.out
    assert text.err.count("3/3  SCVB0 · K 4 · seed 2  epoch 0.53/0.5") == 1


def test_ctrl_c_keeps_the_trials_so_far(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    press_ctrl_c_at(2, monkeypatch, run=3)
    command = ("tune", BARS, "--method", "sdm", "--trials", 5, *SHORT, "--json", "--out", tmp_path / "out")
    stopped = run(*command)
    assert stopped.code == 130
    assert len(stopped.json["trials"]) == 2
    assert len(pd.read_csv(tmp_path / "out" / "trials.csv")) == 2
    monkeypatch.undo()
    press_ctrl_c_at(1, monkeypatch)
    again = run(*command)
    assert (again.code, len(again.json["trials"])) == (130, 2)
    assert "2 of 5 trials were made before." in again.json["report"]
    monkeypatch.undo()
    press_ctrl_c_at(1, monkeypatch)
    nothing = run(*command[:-1], tmp_path / "another")
    assert (nothing.code, nothing.out) == (130, "")
    assert nothing.err.endswith("interrupted before the first trial was done; there is nothing to report\n")
