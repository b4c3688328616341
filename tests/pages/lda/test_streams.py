"""Runs that stream, on the pages: data on disk, epochs, trained topics to start from, files to take away, tuning."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.disk_build import write_disk_corpus
from acvb_core.data.disk import DiskCorpus
from acvb_core.engine.fitting import fit
from acvb_core.engine.result import Result
from acvb_core.registry import methods_for
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.topics import load_model, save_model
from acvb_core.views.comparison_table import comparison_table, same_documents
from acvb_core.views.convergence import live_figure
from pages.ui.lda import topics_page, upload_texts
from pages.ui.lda.start_from import FILE
from pages.ui.lda.topic_view import build_view, open_topic_names
from pages.ui.running.live import build_curves
from pages.ui.shared import services
from pages.ui.shared.picking import read_answer
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import (
    SECONDS,
    WORKSPACE,
    Open,
    bring,
    jobs_of,
    keys,
    of_data,
    press,
    show_part,
    texts,
    until,
)

WORDS = (["cat", "dog", "fur", "pet", "paw"], ["sea", "ship", "wind", "sail", "salt"])
N = 60


def lines(n: int = N) -> str:
    rng = np.random.default_rng(3)
    return "".join(f"{' '.join(rng.choice(WORDS[i % 2], size=12))}\n" for i in range(n))


def counts(n: int = N) -> str:
    """Word counts, one line of them broken."""
    rows = [f"d{i},{word},2\n" for i in range(n) for word in WORDS[i % 2]]
    rows[30] = "d6,cat,many\n"
    return "document,word,count\n" + "".join(rows)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> DiskCorpus:
    """More documents than are shown of a corpus on disk."""
    corpus = load_sample("bars").corpus
    folder = tmp_path_factory.mktemp("disk") / "bars"
    return write_disk_corpus(
        [corpus, corpus, corpus], folder, name="bars on disk", vocabulary=corpus.vocabulary
    )


@pytest.fixture(scope="module")
def streamed(on_disk: DiskCorpus) -> Result:
    return fit(on_disk, "sdm", k=5, epochs=1, heldout_documents=0.1)


@pytest.fixture(scope="module")
def batch() -> Result:
    return fit(load_sample("bars").corpus, "cvb0", k=5, max_sweeps=20, heldout_documents=0.1)


@pytest.fixture(scope="module")
def stream() -> Result:
    return fit(load_sample("bars").corpus, "sdm", k=5, epochs=2, heldout_documents=0.1)


def upload(app: AppTest, name: str, content: str, kind: str = "texts") -> AppTest:
    return bring(app, name, content, kind)


def keep_on_disk(app: AppTest) -> AppTest:
    next(box for box in app.get("button_group") if str(box.key).endswith("_where")).set_value("disk").run()
    assert not app.exception
    return app


def opened(open_app: Open, page: str, *results: Result) -> AppTest:
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    return open_app(page)


def using(app: AppTest, data: object, page: str) -> AppTest:
    dataset = Dataset.fresh(data, load_sample("bars").report, "in use")
    Workspace(WORKSPACE).set_dataset(dataset)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    return app


def dataset() -> Dataset:
    found = Workspace(WORKSPACE).dataset
    assert found is not None
    return found


def finished(app: AppTest) -> AppTest:
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    return app.run()


def group(app: AppTest, key: str) -> object:
    return next(box for box in app.get("button_group") if box.key == key)


def test_small_texts_are_kept_in_memory_unless_asked_otherwise(open_app: Open) -> None:
    app = upload(open_app("data"), "texts.txt", lines())
    assert f"{N} documents, 10 words in the vocabulary, {12 * N} tokens." in texts(app)
    assert "CVB0 with 100 topics would need about" in texts(app)
    press(app, "load")
    assert not dataset().on_disk
    assert (dataset().heldout, dataset().whole_documents) == (0.1, False)


def test_texts_are_read_to_disk_and_found_again(open_app: Open) -> None:
    app = keep_on_disk(upload(open_app("data"), "texts.txt", lines()))
    press(app, "load")
    data = dataset().data
    assert isinstance(data, DiskCorpus)
    assert services.home() in data.folder.parents
    assert (data.n_documents, data.n_tokens) == (N, 12 * N)
    assert dataset().split == {"heldout_documents": 0.02, "heldout_seed": 0}
    said = {metric.label: metric.value for metric in app.metric}
    assert (said["Documents"], said["Median length"]) == (f"{N}", "12")
    assert "1 document hidden from each new run" in texts(app)
    services.data_shelves().clear()
    assert dataset().data.fingerprint == data.fingerprint
    Workspace(WORKSPACE).set_dataset(Dataset.of_sample("karate"))  # as in another tab
    services.data_shelves().clear()
    assert "Documents" in {metric.label for metric in app.run().metric}
    assert app.session_state["tab"].wanted == data.fingerprint


def test_what_does_not_fit_into_memory_is_kept_on_disk(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_texts, "available_memory", lambda: 1000)
    app = upload(open_app("data"), "texts.txt", lines())
    assert "1 kB is free" in texts(app)
    press(app, "load")
    assert dataset().on_disk


def test_memory_that_batch_methods_lack_is_told(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.ui.lda.overview_texts.available_memory", lambda: 1000)
    app = using(open_app("data"), load_sample("bars").corpus, "data")
    assert "1 kB is free. SDM, SCVB0 and SVB stream" in texts(app)


def test_a_broken_line_can_be_left_out(open_app: Open) -> None:
    app = press(upload(open_app("data"), "counts.csv", counts(), "counts"), "load")
    assert "If you keep the texts on disk, you can skip such lines." in texts(app)
    assert "go_on_without" not in keys(app)
    press(keep_on_disk(app), "load")
    assert "We couldn't read this file with these settings" in texts(app)
    assert not app.get("progress")
    assert Workspace(WORKSPACE).dataset is None
    said = texts(app)
    assert "or continue without such lines." in said
    assert "broken=" not in said
    press(app, "go_on_without")
    assert dataset().on_disk
    assert "1 broken line left out (line 32" in texts(app)


def test_files_of_the_server_are_offered(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "large.txt").write_text(lines())
    monkeypatch.setenv("ACVB_FILES", str(tmp_path / "files"))
    app = open_app("data")
    app.segmented_control(key="source").set_value("Upload").run()
    app.selectbox(key="upload_server").select_index(1).run()
    press(keep_on_disk(app), "load")
    assert dataset().on_disk
    assert dataset().name == "large"


def test_data_on_disk_are_streamed_by_epochs(open_app: Open, on_disk: DiskCorpus) -> None:
    app = using(open_app("data"), on_disk, "run")
    methods = app.pills(key=of_data(app, "methods_lda_disk"))
    assert methods.options == [row.label for row in methods_for(on_disk)]
    assert methods.value == ["sdm"]
    assert "An epoch is one pass over all 3,000 documents" in texts(app)
    assert "2 % of the documents held out" in texts(app)
    next(field for field in app.number_input if field.label == "Epochs").set_value(0.5).run()
    press(app, "start")
    (job,) = jobs_of(app)
    assert job.prepared.spec.heldout_documents == 0.02
    finished(app)
    line = app.dataframe[0].value.iloc[0]
    assert line["Speed"].endswith("documents/s")
    assert job.inspect().snapshot.passes == pytest.approx(0.5, abs=0.03)
    assert line["Progress"] == "0.5 epochs done (10 windows)"
    labels = {button.key: button.help for button in app.button}
    assert labels[f"extend_{job.id}"].startswith("Continue for 0.5")


def test_data_on_disk_are_spread_over_shards(open_app: Open, on_disk: DiskCorpus) -> None:
    app = using(open_app("data"), on_disk, "run")
    app.pills(key=of_data(app, "methods_lda_disk")).set_value(["cvb0"]).run()
    for label, value in (("Shards", 3), ("Maximum sweeps", 4)):
        next(field for field in app.number_input if field.label == label).set_value(value).run()
    press(app, "start")
    finished(app)
    (job,) = jobs_of(app)
    assert job.prepared.spec.values["shards"] == 3
    assert job.inspect().snapshot.sweep == 4
    press(app, f"extend_{job.id}")  # the shards are still there
    finished(app)
    assert job.inspect().snapshot.sweep == 8
    assert job.inspect().snapshot.lower_bound is not None
    whole = fit(on_disk, "cvb0", shards=3, max_sweeps=8, heldout_documents=0.02)
    assert (job.result().posterior["words"] == whole.posterior["words"]).all()
    app.switch_page("pages/topics.py").run()
    assert not app.exception
    assert "bars on disk · 3,000 documents" in texts(app)


def test_whole_documents_are_held_out_where_asked(open_app: Open) -> None:
    app = using(open_app("data"), load_sample("bars").corpus, "data")
    group(app, "heldout_kind").set_value(True).run()
    assert dataset().split == {"heldout_documents": 0.02, "heldout_seed": 0}
    assert "20 documents hidden from each new run" in texts(app)
    app.number_input(key="heldout_percent_documents").set_value(10.0).run()
    assert dataset().split == {"heldout_documents": 0.1, "heldout_seed": 0}
    group(app, "heldout_kind").set_value(False).run()
    assert dataset().split == {"heldout": 0.1, "heldout_seed": 0}


def test_a_stream_and_a_batch_run_share_axes(open_app: Open, batch: Result, stream: Result) -> None:
    app = opened(open_app, "compare", batch, stream)
    assert not app.exception
    runs = build_curves(jobs_of(app), {job.id: job.id for job in jobs_of(app)})
    assert [run.streams for run in runs] == [False, True]
    titles = " ".join(note["text"] for note in live_figure(runs, x="passes")["layout"]["annotations"])
    assert "Held-out perplexity of whole documents" in titles
    assert "Documents per second" in titles
    assert group(show_part(app, "Curves"), "compare_x_stream_time").value == "cpu_seconds"
    table = show_part(app, "Scores").dataframe[0].value
    assert list(table["Epochs"]) == [20, pytest.approx(2)]
    assert "Sweeps" not in table
    assert "held out different" not in texts(app)


def test_other_splits_are_not_compared(open_app: Open, batch: Result) -> None:
    words = fit(load_sample("bars").corpus, "sdm", k=5, epochs=1, heldout=0.1)
    app = opened(open_app, "compare", batch, words)
    assert not app.exception
    assert texts(app).count("held out different words (of each document, or of whole documents)") == 1
    # Their documents are not the same ones, so where these go is not compared.
    assert list(group(app, "compare_part").options) == ["Scores", "Curves", "Topics"]


def test_other_shares_of_documents_are_not_compared(batch: Result) -> None:
    other = fit(load_sample("bars").corpus, "sdm", k=5, epochs=0.5, heldout_documents=0.2)
    table = comparison_table([batch, other], ["CVB0", "SDM"])
    assert not table.same_split
    assert "held out different documents" in table.notes[0]
    assert not table.best.to_numpy().any()
    assert not same_documents([batch, other])


def test_topics_of_data_on_disk(open_app: Open, streamed: Result) -> None:
    app = opened(open_app, "topics", streamed)
    assert not app.exception
    assert "bars on disk · 3,000 documents" in texts(app)
    assert "1 epoch" in texts(app)
    (job,) = jobs_of(app)
    view = build_view(job, read_answer(job))
    assert view.corpus.n_documents == 2000
    assert view.topics.document_share.shape == (2000, 5)
    assert view.tokens.sum() == pytest.approx(streamed.prepared.data.n_tokens)
    assert (view.data.frequencies == streamed.prepared.data.frequencies).all()
    group(app, "topics_part").set_value("Documents").run()
    assert (
        "This page shows 2,000 of the 3,000 documents, drawn at random. The run kept only the words of the topics"
        in texts(app)
    )
    group(app, "topics_part").set_value("Quality").run()
    assert "Coherence is measured on 2,000 of the 3,000 documents." in texts(app)
    labels = [button.label for button in app.get("download_button")]
    assert {"Topics of the documents shown", "Topics of all documents", "The model"} <= set(labels)
    *_, everything = topics_page.list_document_files(view)
    # Those that were held out have topics, too.
    open_topic_names().rename(view.run, view.identifying_words, 3, "sport")
    text = everything.make()
    assert text.count(b"\n") == 3001
    assert b",topic_3: sport," in text.partition(b"\n")[0]


def test_runs_on_data_on_disk_are_compared(open_app: Open, streamed: Result, on_disk: DiskCorpus) -> None:
    other = fit(on_disk, "scvb0", k=4, epochs=0.5, heldout_documents=0.1)
    app = opened(open_app, "compare", streamed, other)
    assert not app.exception
    assert list(group(app, "compare_part").options)[-2:] == ["Agreement", "Where objects go"]


def test_numbers_of_topics_are_tried_on_data_on_disk(open_app: Open, on_disk: DiskCorpus) -> None:
    app = using(open_app("run"), on_disk, "how_many")
    assert app.selectbox(key=of_data(app, "grid_method_disk")).value == "sdm"
    next(field for field in app.text_input if field.label == "Numbers of topics").set_value("2, 3").run()
    app.number_input(key=of_data(app, "grid_epochs")).set_value(0.2).run()
    app.number_input(key=of_data(app, "grid_seeds")).set_value(1).run()
    press(app, "grid_start")
    finished(app)
    assert not app.exception
    said = texts(app)
    assert "SDM · 2, 3 topics · 2 % of the documents held out · 0.2 epochs" in said
    assert "coherence is measured on a random sample" in said
    assert [job.prepared.spec.values["k"] for job in jobs_of(app)] == [2, 3]
    assert {"Windows", "Topics"} <= set(app.dataframe[0].value.columns)


def test_held_out_documents_are_not_among_those_shown(open_app: Open, batch: Result) -> None:
    app = opened(open_app, "topics", batch)
    group(app, "topics_part").set_value("Documents").run()
    assert "This page shows 900 of the 1,000 documents, without those that were held out." in texts(app)
    assert "inferred" not in texts(app)


def test_the_model_is_taken_away_as_it_is(streamed: Result) -> None:
    found = load_model(io.BytesIO(topics_page.pack_model(streamed)))
    assert (found.posterior["words"] == streamed.snapshot.posterior["words"]).all()


def test_a_run_starts_from_another(open_app: Open, batch: Result) -> None:
    app = opened(open_app, "run", batch)
    using(app, load_sample("bars").corpus, "run")
    app.pills(key=of_data(app, "methods_lda")).set_value(["sdm", "vb"]).run()
    (first,) = jobs_of(app)
    app.selectbox(key=of_data(app, "start_from")).set_value(first.id).run()
    assert not app.exception
    said = texts(app)
    assert "5 topics of bars by cvb0" in said
    assert "VB cannot start from trained topics and is left out." in said
    assert [(box.value, box.disabled) for box in app.text_input if box.label == "Topics"] == [("5", True)]
    assert not [box for box in app.number_input if box.label == "Topics"]
    assert app.button(key="start").label == "Start SDM"
    press(app, "start")
    finished(app)
    _, job = jobs_of(app)
    settings = job.prepared.spec
    assert (settings.method, settings.values["k"]) == ("sdm", 5)
    assert settings.start == "5 topics of bars by cvb0"
    assert "continued from 5 topics of bars by cvb0" in texts(app)


def test_a_run_starts_from_a_file(open_app: Open, stream: Result) -> None:
    out = io.BytesIO()
    save_model(stream, out)
    app = using(open_app("run"), load_sample("bars").corpus, "run")
    app.selectbox(key=of_data(app, "start_from")).set_value(FILE).run()
    assert "start" not in keys(app)
    app.file_uploader(key="start_file").upload("notes.npz", b"no model").run()
    assert not app.exception
    assert "notes.npz" in texts(app)
    assert "start" not in keys(app)
    app.file_uploader(key="start_file").upload("model.npz", out.getvalue()).run()
    assert not app.exception
    assert "The new runs start from these 5 topics." in texts(app)
    assert "start" in keys(app)
    app.pills(key=of_data(app, "methods_lda")).set_value([]).run()  # on the way to another method
    assert "Choose at least one method." in texts(app)
    assert "The new runs start from these 5 topics." in texts(app)
    app.pills(key=of_data(app, "methods_lda")).set_value(["scvb0"]).run()
    assert "start" in keys(app)


def test_steps_are_tuned_and_used(open_app: Open) -> None:
    app = using(open_app("run"), load_sample("bars").corpus, "run")
    app.session_state["tune"] = True
    app.run()
    app.number_input(key=of_data(app, "tune_k")).set_value(5).run()
    app.number_input(key=of_data(app, "tune_trials")).set_value(3).run()
    press(app, "tune_start")
    (job,) = services.searches().jobs(WORKSPACE)
    assert job.wait(SECONDS)
    app.run()
    assert not app.exception
    found = job.result()
    assert len(found.trials) == 3
    assert [app.number_input(key=of_data(app, f"tune_{name}")).value for name in ("k", "trials")] == [5, 3]
    assert any("3 trials of 3 done" in bar.proto.text for bar in app.get("progress"))
    assert "has these settings" not in texts(app)
    press(app, f"tune_{job.id}_use")
    assert "The form for new runs, above, has these settings." in texts(app)
    assert app.pills(key=of_data(app, "methods_lda")).value == ["scvb0"]
    press(app, "start")
    (run,) = jobs_of(app)
    values = run.prepared.spec.values
    assert {name: values[name] for name in found.best} == pytest.approx(found.best)
    assert (values["k"], values["epochs"]) == (5, 1.0)
    finished(app)
