"""What goes wrong with streams at the command line: said in plain words, before anything is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Run


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "talks.txt"
    path.write_text("ship sail harbour\nfield corn plough\n" * 20)
    return path


def test_two_differences_of_a_folder_are_one_sentence(tmp_path: Path, lines: Path, run: Run) -> None:
    folder = tmp_path / "kept"
    assert run("read", lines, folder, "--quiet").code == 0
    other = tmp_path / "other.txt"
    other.write_text("ship sail\n" * 9)
    refused = run("read", other, folder, "--quiet")
    assert refused.code == 2
    assert "holds the corpus of 'talks.txt', and the file and its size were other than now." in refused.err


def test_a_method_that_cannot_take_the_data_is_named_before_the_others_run(
    tmp_path: Path, lines: Path, run: Run
) -> None:
    folder = tmp_path / "kept"
    assert run("read", lines, folder, "--quiet").code == 0
    refused = run("compare", folder, "--methods", "sdm,gibbs", "--k", "2")
    assert refused.code == 2
    assert refused.err.startswith("acvb: gibbs needs all the data in memory")  # no progress of sdm


def test_one_word_is_one_word(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "only.csv"
    path.write_text("doc,word,count\na,only,2\nb,only,3\n")
    assert run("read", path, tmp_path / "kept", "--quiet").out.startswith(
        "only: 2 documents · 1 word · 5 tokens · on disk\n"
    )
    fitted = run("fit", path, "--model", "lda", "--method", "sdm", "--k", "2", "--epochs", "1", "--quiet")
    assert fitted.out.startswith("only: 2 documents · 1 word · 5 tokens\n")


def test_an_end_while_documents_are_written_says_that_there_is_a_sample(
    tmp_path: Path, lines: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("acvb_core.models.lda.text.write_document_topics", press)
    out = tmp_path / "out"
    fit = ("fit", lines, "--method", "sdm", "--k", "2", "--epochs", "1", "--quiet", "--out", out)
    ended = run(*fit, "--on-disk", tmp_path / "kept")
    assert (ended.code, ended.out) == (130, "")
    sample = f"acvb: {out / 'documents.csv'} has the topics of a sample only, 40 documents\n"
    assert ended.err == sample + "acvb: interrupted\n"
    assert len((out / "documents.csv").read_text().splitlines()) == 41
