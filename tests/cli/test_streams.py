"""Streams on the command line: files larger than memory, folders that are kept, models that continue, steps tuned."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import acvb_core
from acvb_core.cli import source as documents
from acvb_core.cli.progress import ProgressLine, ReadingProgress
from acvb_core.cli.source import ORIGIN
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.history import SweepRecord
from acvb_core.engine.prepared import PreparedRun
from acvb_core.engine.tuning import tune
from acvb_core.store.topics import load_model, load_topics
from tests.cli.support import WOMEN, Run
from tests.loops import for_each

BARS = "sample:bars"
SEA, FARM = "ship sail harbour wave", "field corn harvest plough"
SHORT = ("--k", "4", "--epochs", "1", "--window", "20")
SAME = ("loo_perplexity", "sweeps", "passes", "heldout", "hyper", "documents_seen")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
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


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SMALL", 0)
    monkeypatch.setattr(documents, "LARGE", 0)


def fit(run: Run, file: object, *more: object) -> Any:
    done = run("fit", file, "--method", "sdm", *SHORT, "--json", *more)
    assert done.code == 0, done.err
    return done.json


def test_a_file_that_was_read_gives_what_the_file_gives(run: Run, texts: Path, tmp_path: Path) -> None:
    read = run("read", texts, tmp_path / "kept", "--quiet")
    assert (read.code, read.err) == (0, "")
    assert read.out.startswith("talks: 120 documents · 15 words · 1,080 tokens · on disk\n")
    assert f" MB in {tmp_path / 'kept'}\n" in read.out
    split = ("--heldout-documents", "0.1", "--heldout-seed", 3)
    one, other = fit(run, texts, *split), fit(run, tmp_path / "kept", *split)
    assert one["model"] == "lda", "no other model has the method"
    for name in SAME:
        assert one[name] == other[name], name
    assert one["data"]["fingerprint"] == other["data"]["fingerprint"]
    assert one["heldout"]["completion_perplexity"] == one["heldout"]["perplexity"] > 1
    assert one["documents_per_second"] > 0
    assert one["documents_seen"] == 108
    assert one["settings"]["heldout_documents"] == 0.1
    again = run("read", texts, tmp_path / "kept", "--json").json
    assert again["data"] == other["data"]
    assert again["report"][0] == f"Read before, and kept in {tmp_path / 'kept'}."
    assert again["bytes"] > 0


def test_the_numbers_are_the_librarys(run: Run) -> None:
    told = fit(
        run, BARS, "--heldout-documents", "0.1", "--seed", 5, "--step-power", "0.9", "--prior", "symmetric"
    )
    same = acvb_core.fit(
        acvb_core.load_sample("bars").corpus, "sdm", k=4, epochs=1.0, window=20, heldout_documents=0.1, seed=5,
        step_power=0.9, prior="symmetric",
    )  # fmt: skip
    assert told["settings"] == same.prepared.spec.to_dict()
    assert told["loo_perplexity"] == same.snapshot.extras["loo_perplexity"]
    assert told["heldout"]["completion_perplexity"] == same.snapshot.heldout.perplexity


def test_a_folder_is_used_again(
    run: Run, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--on-disk", tmp_path / "kept")
    first = fit(run, texts, *kept, "--numbers")
    monkeypatch.setattr(documents, "read_file", None)
    second = fit(run, texts, *kept, "--numbers")
    for name in (*SAME, "data"):
        assert first[name] == second[name], name
    assert second["report"] == [f"Read before, and kept in {tmp_path / 'kept'}.", *first["report"]]
    assert fit(run, tmp_path / "kept")["data"] == first["data"]


def changed(texts: Path, how: str, kept: Path) -> tuple[Path, list[str]]:
    """Change the file or the way it is read; return the file, and further flags."""
    if how == "longer":
        texts.write_text(texts.read_text() + "new,a line\n")
    elif how == "edited":
        stat = texts.stat()
        import os

        os.utime(texts, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    elif how == "renamed":
        texts = texts.rename(texts.with_name("other.csv"))
    elif how == "otherwise":
        return texts, ["--stop-words", "none"]
    elif how == "skip":
        return texts, ["--broken", "skip"]
    elif how == "unknown":
        (kept / ORIGIN).unlink()
    elif how == "garbled":
        (kept / ORIGIN).write_text("[]")
    elif how == "foreign":
        (kept / "meta.json").unlink()
    return texts, []


@for_each(
    "how, words",
    [
        (
            "longer",
            "holds the corpus of 'talks.csv', and its size and the time of its last change were other",
        ),
        ("edited", "the time of its last change was other than now. Give another folder, remove this one"),
        ("renamed", "the file was other than now"),
        ("otherwise", "the way it was read was other than now"),
        ("skip", "the way it was read was other than now"),
        ("unknown", "holds a corpus, but does not say of which file. Give"),
        ("garbled", "does not say of which file"),
        ("foreign", "There is something at"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(run: Run, tmp_path: Path, how: str, words: str) -> None:
    texts = write_texts(tmp_path)
    kept = tmp_path / "kept"
    fit(run, texts, "--on-disk", kept)
    file, more = changed(texts, how, kept)
    before = sorted((path.name, path.stat().st_size) for path in kept.iterdir())
    refused = run("fit", file, "--method", "sdm", *SHORT, "--on-disk", kept, *more)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err
    assert sorted((path.name, path.stat().st_size) for path in kept.iterdir()) == before


@for_each("out", [True, False])
def test_a_large_file_stays_on_disk_for_the_time_being(
    run: Run,
    texts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    everything_is_large: None,
    out: bool,
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    seen: list[Path] = []
    opened = DiskCorpus.open

    def watched(folder: str | Path, **more: Any) -> DiskCorpus:
        seen.append(Path(folder))
        return opened(folder, **more)

    monkeypatch.setattr(DiskCorpus, "open", watched)
    home = tmp_path / "results"
    home.mkdir()
    split = ("--heldout-documents", "0.1")
    written_to = ("--out", home / "run") if out else ()
    done = run("fit", texts, "--method", "sdm", *SHORT, "--json", *split, *written_to)
    assert done.code == 0
    assert seen[-1].is_relative_to(home if out else tmp_path / "tmp")
    assert done.err.startswith(
        f"talks.csv is large: its documents stay on disk, in {seen[-1]} until the end; "
    )
    assert [path.name for path in home.iterdir()] == (["run"] if out else [])
    assert list((tmp_path / "tmp").iterdir()) == []
    if out:
        written = pd.read_csv(home / "run" / "documents.csv")
        everything = list(acvb_core.load_corpus(texts).data.documents)
        assert list(written["document"]) == everything, "those held out as well"
        assert json.loads((home / "run" / "run.json").read_text())["documents_are_a_sample"] is False
    monkeypatch.undo()
    assert fit(run, texts, *split)["loo_perplexity"] == done.json["loo_perplexity"]


def test_a_file_is_large_by_what_it_would_take(
    run: Run, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "SMALL", 0)
    for free, large in ((10**12, False), (10**5, True), (None, False)):
        monkeypatch.setattr("acvb_core.engine.machine.available_memory", lambda free=free: free)
        done = run("fit", texts, "--method", "sdm", *SHORT)
        assert ("is large" in done.err) == large
        assert ("on disk" in done.out) == large
    batch = run("fit", texts, "--method", "cvb0", "--model", "lda", "--k", 2, "--max-sweeps", 2)
    assert "is large" not in batch.err, "such methods take it into memory"


@for_each("method", ["sdm", "cvb0"])
@for_each("large", [True, False])
def test_broken_lines_are_refused_or_left_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, large: bool
) -> None:
    texts = write_texts(tmp_path)
    if large:
        monkeypatch.setattr(documents, "SMALL", 0)
        monkeypatch.setattr(documents, "LARGE", 0)
    whole = texts.read_text().splitlines(keepends=True)
    texts.write_text("".join([*whole[:50], "one,two,three,four\n", *whole[50:]]))
    short = SHORT if method == "sdm" else ("--k", 4, "--max-sweeps", 3)
    command = ("fit", texts, "--model", "lda", "--method", method, *short, "--json", "--quiet")
    refused = run(*command)
    assert refused.code == 2
    assert refused.err.startswith("acvb: talks.csv, line 51")
    done = run(*command, "--broken", "skip")
    assert done.code == 0
    assert any("1 broken line left out (line 51)" in line for line in done.json["report"])
    assert done.json["data"]["documents"] == 120


def test_training_goes_on_from_a_model(run: Run, texts: Path, tmp_path: Path) -> None:
    fit(run, texts, "--out", tmp_path / "run", "--extra-stop-words", "w1,w2")
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
        done = run(
            "fit",
            new,
            "--method",
            "sdm",
            "--epochs",
            1,
            "--window",
            20,
            "--start",
            model,
            "--out",
            tmp_path / "on",
        )
        assert done.code == 0
        assert "continued from" in done.out
        assert "4 topics of talks by sdm" in done.out
        assert "words of the topics that these documents do not have: kept beside theirs." in done.out
        topics = pd.read_csv(tmp_path / "on" / "topics.csv")
        assert list(topics["word"]) == list(same.topics["word"])
        np.testing.assert_array_equal(topics["probability"].astype(np.float32), same.topics["probability"])
    batch = run(
        "fit",
        new,
        "--model",
        "lda",
        "--method",
        "cvb0",
        "--start",
        tmp_path / "run",
        "--max-sweeps",
        2,
        "--json",
    ).json
    assert batch["settings"]["start"] == "4 topics of talks by sdm"
    assert batch["settings"]["values"]["k"] == 4
    assert (
        run("transform", tmp_path / "run" / "model.npz", new).out
        == run("transform", tmp_path / "run", new).out
    )


@for_each("arguments, words", [
        (["fit", BARS, "--heldout", ".1", "--heldout-documents", ".1"], "whole documents; give one of the two"),
        (["compare", BARS, "--heldout", ".1", "--heldout-documents", ".1"], "whole documents; give one of the two"),
        (["tune", BARS, "--heldout", ".1", "--heldout-documents", ".1"], "whole documents; give one of the two"),
        (["fit", BARS, "--method", "sdm", "--heldout-documents", "1"], "at least 0 and below 1"),
        (["fit", WOMEN, "--heldout-documents", ".1"], "--heldout-documents is for a corpus; sample:southern_women is"),
        (["fit", WOMEN, "--on-disk", "x"], "--on-disk is for a corpus; sample:southern_women is a relation"),
        (["fit", "FILE", "--start", "nowhere.npz"], "nowhere.npz is not there"),
        (["fit", BARS, "--broken", "skip"], "A sample is read as it is; leave --broken out"),
        (["fit", BARS, "--on-disk", "x", "--method", "cvb"], "only methods that stream or have --shards can take"),
        (["fit", "FILE", "--model", "irm", "--on-disk", "x"], "--on-disk is for a corpus, but FILE is to be read as"),
        (["fit", BARS, "--method", "sdm", "--max-sweeps", "3"], "--max-sweeps is not a setting of sdm"),
        (["fit", BARS, "--method", "cvb0", "--epochs", "3"], "--epochs is not a setting of cvb0"),
        (["compare", BARS, "--methods", "sdm,gibbs", "--on-disk", "x"], "only methods that stream or have --shards"),
        (["tune", BARS, "--method", "cvb0"], "method 'cvb0' has nothing to tune"),
        (["tune", BARS, "--trials", "0"], "is not a whole number of at least 1"),
        (["read", "nowhere.csv", "x"], "nowhere.csv: the file cannot be opened"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("doc,text\na,b c\n")
    failed = run(*arguments)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.count("\n") == 1
    assert words in failed.err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]


def test_what_cannot_be_done_with_a_folder(run: Run, texts: Path, tmp_path: Path) -> None:
    run("read", texts, tmp_path / "kept", "--quiet")
    for more, words in (
        (["--method", "cvb"], "talks is kept on disk: choose acvb0, cvb0, vb, sdm, scvb0, svb"),
        (
            ["--method", "sdm", "--stop-words", "none"],
            "A corpus on disk is read as it is; leave --stop-words out",
        ),
        (["--method", "sdm", "--on-disk", "x"], "is a folder, which is on disk already; leave --on-disk out"),
        (["--method", "sdm", "--heldout", "0.1"], "hold out whole documents"),
    ):
        refused = run("fit", tmp_path / "kept", *more)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert words in refused.err
    assert "is a corpus on disk already" in run("read", tmp_path / "kept", tmp_path / "again").err
    assert run("fit", tmp_path, "--method", "sdm").code == 2


def test_documents_on_disk_are_transformed(run: Run, texts: Path, tmp_path: Path) -> None:
    fit(run, texts, "--on-disk", tmp_path / "kept", "--out", tmp_path / "run")
    done = run("transform", tmp_path / "run", tmp_path / "kept")
    assert done.code == 0
    table = pd.read_csv(io.StringIO(done.out))
    same = load_topics(tmp_path / "run").transform(DiskCorpus.open(tmp_path / "kept").in_memory())
    assert list(table["document"]) == list(same["document"])
    assert (table["unknown"] == 0).all()
    np.testing.assert_array_equal(table.filter(like="topic_"), same.filter(like="topic_"))


def test_streams_and_batch_methods_are_compared_on_one_split(run: Run, tmp_path: Path) -> None:
    done = run(
        "compare", BARS, "--methods", "sdm,cvb0", "--k", 4, "--epochs", 1, "--max-sweeps", 6, "--heldout-documents",
        "0.1", "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.code == 0
    assert "held-out documents: 100, " in done.out
    table = pd.read_csv(tmp_path / "out" / "comparison.csv")
    assert list(table["passes"].round(6)) == [1.0, 6.0]
    assert (table["heldout_perplexity"] > 1).all()
    told = [
        json.loads((tmp_path / "out" / f"{name}-seed0" / "run.json").read_text()) for name in ("sdm", "cvb0")
    ]
    assert all(run["heldout"]["completion_perplexity"] > 1 for run in told)


def press_ctrl_c_at(sweep: int, monkeypatch: pytest.MonkeyPatch, run: int = 1) -> None:
    """At a sweep of the so-manieth run."""
    watch, begun = ProgressLine.__call__, []

    def watched(self: ProgressLine, prepared: PreparedRun, snapshot: SweepRecord) -> None:
        watch(self, prepared, snapshot)
        if prepared not in begun:
            begun.append(prepared)
        if snapshot.sweep == sweep and snapshot.verdict is None and len(begun) == run:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "__call__", watched)


def test_ctrl_c_keeps_the_model_so_far(
    run: Run, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everything_is_large: None
) -> None:
    press_ctrl_c_at(2, monkeypatch)
    stopped = run("fit", texts, "--method", "sdm", *SHORT, "--json", "--out", tmp_path / "run")
    assert stopped.code == 130
    assert (stopped.json["verdict"], stopped.json["sweeps"]) == ("STOPPED", 2)
    assert stopped.json["passes"] == pytest.approx(1 / 3)
    monkeypatch.undo()
    assert len(pd.read_csv(tmp_path / "run" / "documents.csv")) == 120
    assert fit(run, texts, "--start", tmp_path / "run")["settings"]["start"]


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


def test_the_same_search_goes_on_where_it_was_cut(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("--k", 4, "--epochs", "0.5", "--heldout-documents", "0.1", "--seed", 2, "--batch", 20, "--json")
    command = ("tune", BARS, "--method", "scvb0", *given, "--out", out)
    whole = run(*command, "--trials", 5).json
    best = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix == ".csv"}
    lines = (out / "trials.jsonl").read_text().splitlines(keepends=True)
    (out / "trials.jsonl").write_text("".join(lines[:2]) + lines[2][:40])  # a write that was cut off
    again = run(*command, "--trials", 5).json
    assert "2 of 5 trials were made before." in again["report"]
    assert untimed(again["trials"]) == untimed(whole["trials"])
    assert again["trials"][:2] == whole["trials"][:2]
    # All trials are there: they are reported with the files of the best run, and none is made again.
    (out / "model.npz").unlink()
    told = run(*command, "--trials", 5)
    assert (told.code, told.json["trials"]) == (0, again["trials"])
    assert told.err == ""
    assert (out / "model.npz").exists()
    assert best.keys() == {path.name for path in out.iterdir() if path.suffix == ".csv"}
    assert (out / "topics.csv").read_bytes() == best["topics.csv"]
    more = run(*command, "--trials", 6).json
    assert more["trials"][:5] == again["trials"]
    assert len(more["trials"]) == 6
    refused = run(*command, "--trials", 6, "--seed", 5)
    assert refused.code == 2
    assert "holds another search: with other data, methods, settings, ranges, seeds" in refused.err


def untimed(trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in trial.items() if name != "cpu_seconds"} for trial in trials]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_reading_tells_how_far_it_is() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        progress = ReadingProgress(stream, "talks.csv")
        progress(0.25)
        progress(1.0)
    assert terminal.getvalue() == "\rreading talks.csv  100%\x1b[K\n"
    assert pipe.getvalue() == "", "it did not take long"
    silent = Terminal()
    ReadingProgress(silent, "talks.csv", quiet=True)(1.0)
    assert silent.getvalue() == ""
