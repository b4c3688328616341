"""`acvb report`: a run of `acvb fit` becomes one file of each form, and one's own list of links gets clusters."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import openpyxl
import pandas as pd
import pytest

import acvb_core
from tests.cli.support import Run
from tests.report.test_page import assert_same_bits, run_lines


def test_a_folder_of_results_becomes_every_form(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "trade.csv", tmp_path / "out"
    pairs = [(a, b) for a in range(10) for b in range(10) if a != b and (a * b) % 7 < 4 and a % 2 == b % 2]
    path.write_text(
        "id;from;to;tons\n" + "".join(f"{i};s{a};s{b};{a + b}\n" for i, (a, b) in enumerate(pairs))
    )
    columns = ("--source", "from", "--target", "to", "--value", "tons")
    assert run("fit", path, *columns, "--k-rows", 3, "--max-sweeps", 20, "--quiet", "--out", out).code == 0
    told = run("report", out, "--json", "--title", "Trade", "--question", "Who?")
    report = out / "report.html"
    assert told.json == {"run": str(out), "out": str(report), "bytes": report.stat().st_size}
    text = report.read_text()
    assert "<h1>Trade</h1>" in text
    assert '<p class="question">Who?</p>' in text
    kept = acvb_core.load_result(out / "result.acvb")
    assert kept.report is not None
    assert kept.report.source == "trade.csv"
    with monkeypatch.context() as there:
        there.chdir(out)
        assert_same_bits(kept, run_lines(text))

    assert run("report", out, "--out", tmp_path / "book.xlsx").out.endswith("MB)\n")
    rows = openpyxl.load_workbook(tmp_path / "book.xlsx")["Rows"]
    assert [cell.value for cell in rows["B"][1:]] == kept.rows["cluster"].tolist()
    run("report", out / "result.acvb", "--out", tmp_path / "net.gexf")
    assert set(nx.read_gexf(tmp_path / "net.gexf")) == set(kept.rows["object"])

    done = run("report", out, "--links-file", path, "--out", tmp_path / "with.csv")
    assert done.code == 0
    given, found = pd.read_csv(path, sep=";"), pd.read_csv(tmp_path / "with.csv")
    pd.testing.assert_frame_equal(found[list(given)], given)
    assert (out / "with-clusters.csv").read_text() == (tmp_path / "with.csv").read_text(), (
        "fit has written it, too"
    )
    assert found["to_cluster"].tolist() == kept.rows.set_index("object")["cluster"][given["to"]].tolist()


def test_a_report_can_be_of_the_documents_of_one_group(run: Run, tmp_path: Path) -> None:
    fitted = run("fit", "sample:tickets", "--method", "cvb0", "--max-sweeps", 3, "--quiet", "--out", tmp_path)
    assert fitted.code == 0
    run("report", tmp_path, "--among", "product=kettle", "--out", tmp_path / "book.xlsx")
    sheet = pd.read_excel(tmp_path / "book.xlsx", "Data with results", engine="openpyxl")
    products = acvb_core.load_result(tmp_path / "result.acvb").prepared.data.metadata["product"]
    assert sheet["product"].tolist() == ["kettle"] * (products == "kettle").sum()
    assert "'' is no group of 'product'; its groups are" in run("report", tmp_path, "--among", "product").err


def test_what_cannot_be_written_is_said(run: Run, tmp_path: Path) -> None:
    done = run("report", tmp_path)
    assert done.code == 2
    assert "has no result.acvb. Give a folder that `acvb fit FILE --out` wrote" in done.err
    assert run("fit", "sample:karate", "--max-sweeps", 2, "--quiet", "--out", tmp_path).code == 0
    assert "a file may end in .html, .xlsx, .gexf, .graphml" in run("report", tmp_path, "--out", "a.pdf").err
    assert "Name it with --out FILE.csv" in run("report", tmp_path, "--links-file", "a.csv").err
