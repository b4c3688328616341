"""Runs that stream, on the pages: data on disk, epochs, trained topics to start from, tuning."""

from __future__ import annotations

import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.registry import methods_for
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.topics import save_model
from acvb_core.views.convergence import live_figure
from pages.ui.lda import topics_page, upload_texts
from pages.ui.lda.run_settings import FILE
from pages.ui.lda.topic_view import build_view
from pages.ui.running.live import build_curves
from pages.ui.shared import services
from pages.ui.shared.picking import open_part_names, read_answer
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import (
    SECONDS,
    WORKSPACE,
    Open,
    bring,
    figures,
    finished,
    group,
    in_use,
    jobs_of,
    keys,
    of_data,
    opened,
    press,
    show_part,
    texts,
)

WORDS = (["cat", "dog", "fur", "pet", "paw"], ["sea", "ship", "wind", "sail", "salt"])
N = 60
BARS = load_sample("bars")


def lines() -> str:
    rng = np.random.default_rng(3)
    return "".join(f"{' '.join(rng.choice(WORDS[i % 2], size=12))}\n" for i in range(N))


def broken_counts() -> str:
    """Word counts, one line of them broken."""
    rows = [f"d{i},{word},2\n" for i in range(N) for word in WORDS[i % 2]]
    rows[30] = "d6,cat,many\n"
    return "document,word,count\n" + "".join(rows)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> DiskCorpus:
    """More documents than are shown of a corpus on disk."""
    corpus = BARS.corpus
    folder = tmp_path_factory.mktemp("disk") / "bars"
    return write_disk_corpus([corpus] * 3, folder, name="bars on disk", vocabulary=corpus.vocabulary)


@pytest.fixture(scope="module")
def batch() -> Result:
    return fit(BARS.corpus, "cvb0", k=5, max_sweeps=20, heldout_documents=0.1)


@pytest.fixture(scope="module")
def stream() -> Result:
    return fit(BARS.corpus, "sdm", k=5, epochs=2, heldout_documents=0.1)


def load_to_disk(app: AppTest, name: str, content: str, kind: str) -> AppTest:
    group(bring(app, name, content, kind), "_where").set_value("disk").run()
    return press(app, "load")


def using(app: AppTest, data: object, page: str) -> AppTest:
    Workspace(WORKSPACE).set_dataset(Dataset.fresh(data, BARS.report, "in use"))
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def enter(app: AppTest, **values: object) -> None:
    """Fill number fields by their labels."""
    for label, value in values.items():
        fields = (field for field in app.number_input if field.label == label.replace("_", " "))
        next(fields).set_value(value).run()


def test_texts_are_read_to_disk_and_found_again(open_app: Open) -> None:
    app = load_to_disk(open_app("data"), "texts.txt", lines(), "texts")
    data = in_use().data
    assert isinstance(data, DiskCorpus)
    assert services.home() in data.folder.parents
    assert (data.n_documents, data.n_tokens) == (N, 12 * N)
    assert in_use().split == {"heldout_documents": 0.02, "heldout_seed": 0}
    assert (figures(app)["Documents"], figures(app)["Median length"]) == (f"{N}", "12")
    assert "1 document hidden from each new run" in texts(app)
    services.data_shelves().clear()
    assert in_use().data.fingerprint == data.fingerprint
    Workspace(WORKSPACE).set_dataset(Dataset.of_sample("karate"))  # as in another tab
    services.data_shelves().clear()
    assert "Documents" in figures(app.run())
    assert app.session_state["tab"].wanted == data.fingerprint


def test_texts_are_kept_on_disk_only_if_they_do_not_fit_into_memory(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = press(bring(open_app("data"), "texts.txt", lines(), "texts"), "load")
    assert not in_use().on_disk
    monkeypatch.setattr(upload_texts, "available_memory", lambda: 1000)
    app = bring(open_app("data"), "texts.txt", lines() * 2, "texts")
    assert "1 kB is free" in texts(app)
    press(app, "load")
    assert in_use().on_disk


def test_a_broken_line_can_be_left_out(open_app: Open) -> None:
    app = press(bring(open_app("data"), "counts.csv", broken_counts(), "counts"), "load")
    assert "If you keep the texts on disk, you can skip such lines." in texts(app)
    assert "go_on_without" not in keys(app)
    load_to_disk(app, "counts.csv", broken_counts(), "counts")
    assert "or continue without such lines." in texts(app)
    assert Workspace(WORKSPACE).dataset is None
    press(app, "go_on_without")
    assert in_use().on_disk
    assert "1 broken line left out (line 32" in texts(app)


def test_data_on_disk_are_streamed_by_epochs(open_app: Open, on_disk: DiskCorpus) -> None:
    app = using(open_app("data"), on_disk, "run")
    methods = app.pills(key=of_data(app, "methods_lda_disk"))
    assert (methods.options, methods.value) == ([row.label for row in methods_for(on_disk)], ["sdm"])
    assert "An epoch is one pass over all 3,000 documents" in texts(app)
    enter(app, Epochs=0.5)
    finished(press(app, "start"))
    (job,) = jobs_of(app)
    assert job.prepared.spec.heldout_documents == 0.02
    assert job.inspect().snapshot.passes == pytest.approx(0.5, abs=0.03)
    line = app.dataframe[0].value.iloc[0]
    assert line["Speed"].endswith("documents/s")
    assert line["Progress"] == "0.5 epochs done (10 windows)"
    assert app.button(key=f"extend_{job.id}").help.startswith("Continue for 0.5")


def test_data_on_disk_are_spread_over_shards(open_app: Open, on_disk: DiskCorpus) -> None:
    app = using(open_app("data"), on_disk, "run")
    app.pills(key=of_data(app, "methods_lda_disk")).set_value(["cvb0"]).run()
    enter(app, Shards=3, Maximum_sweeps=4)
    finished(press(app, "start"))
    (job,) = jobs_of(app)
    assert (job.prepared.spec.values["shards"], job.inspect().snapshot.sweep) == (3, 4)
    finished(press(app, f"extend_{job.id}"))  # the shards are still there
    whole = fit(on_disk, "cvb0", shards=3, max_sweeps=8, heldout_documents=0.02)
    assert (job.result().posterior["words"] == whole.posterior["words"]).all()


def test_whole_documents_are_held_out_on_request(open_app: Open) -> None:
    app = using(open_app("data"), BARS.corpus, "data")
    group(app, "heldout_kind").set_value(True).run()
    assert "20 documents hidden from each new run" in texts(app)
    app.number_input(key="heldout_percent_documents").set_value(10.0).run()
    assert in_use().split == {"heldout_documents": 0.1, "heldout_seed": 0}
    group(app, "heldout_kind").set_value(False).run()
    assert in_use().split == {"heldout": 0.1, "heldout_seed": 0}


def test_a_stream_and_a_batch_run_share_axes(open_app: Open, batch: Result, stream: Result) -> None:
    app = opened(open_app, "compare", batch, stream)
    runs = build_curves(jobs_of(app), {job.id: job.id for job in jobs_of(app)})
    assert [run.streams for run in runs] == [False, True]
    titles = " ".join(note["text"] for note in live_figure(runs, x="passes")["layout"]["annotations"])
    assert "Held-out perplexity of whole documents" in titles
    assert "Documents per second" in titles
    assert group(show_part(app, "Curves"), "compare_x_stream_time").value == "cpu_seconds"
    table = show_part(app, "Scores").dataframe[0].value
    assert list(table["Epochs"]) == [20, pytest.approx(2)]
    assert "held out different" not in texts(app)


def test_other_splits_are_not_compared(open_app: Open, batch: Result) -> None:
    words = fit(BARS.corpus, "sdm", k=5, epochs=1, heldout=0.1)
    app = opened(open_app, "compare", batch, words)
    assert texts(app).count("held out different words (of each document, or of whole documents)") == 1
    # The runs have different documents, so "Where objects go" is not offered.
    assert list(group(app, "compare_part").options) == ["Scores", "Curves", "Topics"]


def test_topics_of_data_on_disk(open_app: Open, on_disk: DiskCorpus) -> None:
    app = opened(open_app, "topics", fit(on_disk, "sdm", k=5, epochs=1, heldout_documents=0.1))
    assert "bars on disk · 3,000 documents" in texts(app)
    (job,) = jobs_of(app)
    view = build_view(job, read_answer(job))
    assert view.topics.document_share.shape == (2000, 5)
    assert view.tokens.sum() == pytest.approx(on_disk.n_tokens)
    show_part(app, "Documents")
    assert "This page shows 2,000 of the 3,000 documents, drawn at random." in texts(app)
    show_part(app, "Quality")
    assert "Coherence is measured on 2,000 of the 3,000 documents." in texts(app)
    # Topics are written for all documents, those that were held out included.
    open_part_names().rename(view.run, view.result.marks, "topics", 3, "sport")
    view = build_view(job, read_answer(job))
    text = topics_page.list_document_files(view)[-1].make()
    assert text.count(b"\n") == 3001
    assert b",topic_3: sport," in text.partition(b"\n")[0]


def test_held_out_documents_are_not_among_those_shown(open_app: Open, batch: Result) -> None:
    app = show_part(opened(open_app, "topics", batch), "Documents")
    assert "This page shows 900 of the 1,000 documents, without those that were held out." in texts(app)


def test_a_run_starts_from_another(open_app: Open, batch: Result) -> None:
    app = using(opened(open_app, "run", batch), BARS.corpus, "run")
    app.pills(key=of_data(app, "methods_lda")).set_value(["sdm", "vb"]).run()
    app.selectbox(key=of_data(app, "start_from")).set_value(jobs_of(app)[0].id).run()
    assert "5 topics of bars by cvb0" in texts(app)
    assert "VB cannot start from trained topics and is left out." in texts(app)
    assert [(box.value, box.disabled) for box in app.text_input if box.label == "Topics"] == [("5", True)]
    finished(press(app, "start"))
    spec = jobs_of(app)[1].prepared.spec
    assert (spec.method, spec.values["k"], spec.start) == ("sdm", 5, "5 topics of bars by cvb0")
    assert "continued from 5 topics of bars by cvb0" in texts(app)


def test_a_run_starts_from_a_file(open_app: Open, stream: Result) -> None:
    out = io.BytesIO()
    save_model(stream, out)
    app = using(open_app("run"), BARS.corpus, "run")
    app.selectbox(key=of_data(app, "start_from")).set_value(FILE).run()
    for name, content, accepted in (("notes.npz", b"no model", False), ("model.npz", out.getvalue(), True)):
        app.file_uploader(key="start_file").upload(name, content).run()
        assert ("start" in keys(app)) == accepted, name
        assert ("notes.npz" if not accepted else "The new runs start from these 5 topics.") in texts(app)
    app.pills(key=of_data(app, "methods_lda")).set_value([]).run()  # on the way to another method
    app.pills(key=of_data(app, "methods_lda")).set_value(["scvb0"]).run()
    assert "The new runs start from these 5 topics." in texts(app)


def test_learning_rates_are_tuned_and_used(open_app: Open) -> None:
    app = using(open_app("run"), BARS.corpus, "run")
    app.session_state["tune"] = True
    app.run()
    app.number_input(key=of_data(app, "tune_k")).set_value(5).run()
    app.number_input(key=of_data(app, "tune_trials")).set_value(3).run()
    press(app, "tune_start")
    (job,) = services.searches().jobs(WORKSPACE)
    assert job.wait(SECONDS)
    app.run()
    assert any("3 trials of 3 done" in bar.proto.text for bar in app.get("progress"))
    press(app, f"tune_{job.id}_use")
    assert "The form for new runs, above, has these settings." in texts(app)
    finished(press(app, "start"))
    spec = jobs_of(app)[0].prepared.spec
    best = job.result().best
    assert spec.method == "scvb0"
    assert {name: spec.values[name] for name in best} == pytest.approx(best)
    assert (spec.values["k"], spec.values["epochs"]) == (5, 1.0)
