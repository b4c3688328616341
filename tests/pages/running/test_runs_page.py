"""The Runs page, and every page of a workspace with many runs of all kinds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.executor import Executor
from acvb_core.engine.fitting import fit
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job, Status
from acvb_core.engine.prepared import prepare_run
from acvb_core.samples.catalogue import load_sample
from acvb_core.store import results
from acvb_core.store.jobs import JobManager
from acvb_core.store.runs import RunStore
from pages.ui.running import live
from pages.ui.running.run_table import fold_grids, sort_runs
from pages.ui.shared import format as say
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from tests.pages.session import WORKSPACE, Open, box, jobs_of, keys, press, select_rows, texts

SAMPLES = ("southern_women", "bars", "block_images")
DAMAGED = f"{19:012x}"
PAGES = sorted(path.stem for path in (Path(__file__).resolve().parents[3] / "pages").glob("*.py"))


def run(sample: str, method: str, seed: int, **more: Any) -> Any:
    return fit(load_sample(sample).data, method, seed=seed, heldout=0.1, max_sweeps=4, **more)


@pytest.fixture(scope="session")
def full_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with twenty runs on three data sets, one of them damaged; every verdict is there."""
    folder = tmp_path_factory.mktemp("full")
    women = [
        run("southern_women", name, seed, k_rows=4, k_cols=3) for name in ("acvb0", "vb") for seed in (0, 1)
    ]
    women.append(run("southern_women", "gibbs", 0, k_rows=4, k_cols=3, burn_in=1))
    topics = [run("bars", "cvb0", seed, k=k) for k in (2, 3, 4) for seed in (0, 1)]
    topics += [run("bars", "vb", 0, k=5), run("bars", "acvb0", 0, k=5)]
    features = [run("block_images", name, 0, k_max=4) for name in ("fab", "vb", "em")]
    results = [*women, *topics, *features]
    ends = [Verdict.DIVERGED, Verdict.STOPPED, Verdict.CONVERGED, Verdict.MAX_SWEEPS]
    results += [
        one.with_state(snapshot=replace(one.snapshot, verdict=end))
        for one, end in zip(women, ends, strict=False)
    ]
    assert len(results) == 20
    store = RunStore(folder)
    for number, result in enumerate(results):
        store.save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    path = folder / "runs" / f"{DAMAGED}.npz"
    path.write_bytes(path.read_bytes()[:500])
    return folder


@pytest.fixture
def full(full_store: Path, tmp_path: Path) -> None:
    shutil.copytree(full_store, tmp_path / "home")


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_page_renders_with_many_runs(open_app: Open, sample: str) -> None:
    data = load_sample(sample).data
    services.store().save_dataset(WORKSPACE, data, [], {"name": data.name})
    method, size = {"southern_women": ("vb", {}), "bars": ("vb", {"k": 3}), "block_images": ("vb", {})}[
        sample
    ]
    book = services.job_manager()
    endless = prepare_run(data, method, {"tol": 1e-12, "max_sweeps": 1_000_000, **size}, heldout=0.1)
    going, paused, failed = (book.add(WORKSPACE, endless) for _ in range(3))
    paused.pause()
    failed.stop()
    assert failed.wait(180)
    failed._publish(Status.FAILED, error="It did not work.")
    app = open_app("home")
    for page in PAGES:
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, page
        assert app.title, page
        said = texts(app)
        assert ("damaged" in said or "could not be read" in said) == (page in ("home", "run", "runs")), page
    assert len(jobs_of(app)) == 19 + 3
    going.stop()
    paused.stop()


@pytest.mark.usefixtures("full")
def test_the_list_has_all_data_and_folds_grids(open_app: Open) -> None:
    app = open_app("runs")
    counts = {"southern_women": 8, "block_images": 3, "bars": 8}  # newest first
    headings = [
        f"{say.name_datasets(jobs_of(app))[load_sample(name).data.fingerprint]} ({count})"
        for name, count in counts.items()
    ]
    assert [heading.value for heading in app.subheader] == headings
    assert "CVB0 · 3 values of K · 6 runs" in [str(expander.label) for expander in app.expander]
    listed = sum(len(frame.value) for frame in app.dataframe)
    assert listed == 19
    app.text_input(key="runs_search").set_value("gibbs seed 0").run()
    assert [list(frame.value["Run"]) for frame in app.dataframe] == [["Gibbs · K 4 × 3 · seed 0"]]
    app.text_input(key="runs_search").set_value("no such run").run()
    assert "No run fits" in texts(app)


@pytest.mark.usefixtures("full")
def test_runs_can_be_named_noted_and_pinned_there(open_app: Open) -> None:
    app = open_app("runs")
    name = app.dataframe[0].value["Run"][1]
    app = select_rows(app, 1)
    job = next(job for job in jobs_of(app) if job.label.name == name)
    app.text_input(key=f"label_{job.id}_name").set_value("Figure 2")
    app.text_input(key=f"label_{job.id}_tags").set_value("paper, best, paper")
    app.text_area(key=f"label_{job.id}_note").set_value("Seed <1> is *worse*.")
    press(app, f"label_{job.id}_save")
    assert (job.label.name, job.label.tags, job.label.note) == (
        "Figure 2", ("paper", "best"), "Seed <1> is *worse*.",
    )  # fmt: skip
    assert "Figure 2" in set(app.dataframe[0].value["Run"])
    app = select_rows(app, list(app.dataframe[0].value["Run"]).index("Figure 2"))
    press(app, "runs_pin")
    assert app.dataframe[0].value["Run"][0] == "★ Figure 2"
    assert "Figure 2" in texts(open_app("run")) or "Figure 2" in str(
        open_app("compare").multiselect[0].options
    )


@pytest.mark.usefixtures("full")
def test_runs_are_opened_compared_and_deleted_from_there(open_app: Open) -> None:
    app = select_rows(open_app("runs"), 0)
    name = app.dataframe[0].value["Run"][0]
    job = next(job for job in jobs_of(app) if job.label.name == name)
    press(app, "runs_open")
    assert job.id in [box.value for box in app.selectbox]
    app.switch_page("pages/runs.py").run()
    app = select_rows(app, 0, 1)
    assert app.button(key="runs_open").disabled
    chosen = set(app.dataframe[0].value["Run"][:2])
    press(app, "runs_compare")
    assert app.title[0].value == "Compare"
    picked = {job.label.name for job in jobs_of(app) if job.id in app.multiselect[0].value}
    assert picked == chosen
    app.switch_page("pages/runs.py").run()
    app = select_rows(app, 0, 1)
    press(app, "runs_delete")
    assert not chosen & {job.label.name for job in jobs_of(app)}
    assert "runs_delete" not in keys(app), "the selection is of other runs now"
    for key in [key for key in keys(app) if key.startswith("undo_listed_")]:
        press(app, key)
    assert chosen <= {job.label.name for job in jobs_of(app)}


@pytest.mark.usefixtures("full")
def test_the_best_score_comes_first_and_few_sizes_are_no_grid(open_app: Open) -> None:
    jobs = jobs_of(open_app("home"))
    women = [job for job in jobs if job.prepared.data.name == jobs[0].prepared.data.name]
    scores = [job.result().snapshot.heldout[0] for job in sort_runs(women, "Best score first")]
    assert scores == sorted(scores, reverse=True)
    grid = [job for job in jobs if job.prepared.row.name == "cvb0"]
    alone, grids = fold_grids(grid[:2])
    assert (alone, grids) == (grid[:2], [])
    assert [len(one.jobs) for one in fold_grids(grid)[1]] == [6]
    names: list[Job] = sort_runs(jobs, "Name")
    assert [job.label.name for job in names] == sorted(job.label.name for job in jobs)


def use(sample: str) -> Any:
    data = load_sample(sample).data
    services.store().save_dataset(WORKSPACE, data, [], {"name": data.name})
    return data


def in_use(app: AppTest) -> str:
    dataset = Workspace(app.session_state["ws"]).dataset
    assert dataset is not None
    return str(dataset.data.fingerprint)


@pytest.mark.usefixtures("full")
def test_the_data_chosen_in_the_sidebar_are_those_of_every_page(open_app: Open) -> None:
    women, bars = use("southern_women"), load_sample("bars").data
    app = open_app("home")  # a page that a test switches to has no sidebar
    choice = box(app, "Data")
    assert len(choice.options) == 3
    assert choice.value == women.fingerprint
    choice.set_value(bars.fingerprint).run()
    app.switch_page("pages/run.py").run()
    on_bars = {job.id for job in jobs_of(app) if job.prepared.fingerprint == bars.fingerprint}
    assert "CVB0 · 3 values of K" in set(app.dataframe[0].value["Run"])
    assert len(app.dataframe[0].value) == len(on_bars) - 5
    app.switch_page("pages/compare.py").run()
    assert set(app.multiselect[0].value) == on_bars
    assert "This page shows" not in texts(app)
    app.switch_page("pages/blocks.py").run()
    assert "This page shows a run on" in texts(app)
    press(app, "use_page_data")
    assert in_use(app) == women.fingerprint
    assert "This page shows" not in texts(app)


MANY = 34


@pytest.fixture(scope="module")
def many_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with so many ended runs on one data set, whose files were seen at an earlier start."""
    folder = tmp_path_factory.mktemp("many")
    store, women = RunStore(folder), load_sample("southern_women").data
    result = run("southern_women", "vb", 0, k_rows=4, k_cols=3)
    for number in range(MANY):
        settings = replace(result.prepared.spec, seed=number)
        one = result.with_state(prepared=replace(result.prepared, spec=settings))
        store.save(WORKSPACE, f"{number:012x}", 1e9 + number, one)
    store.save_dataset(WORKSPACE, women, [], {"name": women.name, "heldout": 0.1})
    JobManager(Executor(1), RunStore(folder)).jobs(WORKSPACE)
    return folder


def test_a_page_reads_no_more_of_many_runs_than_it_shows(
    open_app: Open, many_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").symlink_to(many_runs)
    built: list[Any] = []
    build = results.rebuild_run
    monkeypatch.setattr(
        results, "rebuild_run", lambda *given, **how: built.append(given) or build(*given, **how)
    )
    app = open_app("home")
    assert len(built) == 1, "the run in the picture"
    shown = {"runs": 0, "run": live.MOST_CURVES - 1, "blocks": 0}
    for page, number in shown.items():
        for again in (False, True):
            built.clear()
            app.switch_page(f"pages/{page}.py").run()
            assert len(built) == (0 if again else number), (page, again)
    assert len(app.selectbox(key="blocks_run").options) == MANY


def test_the_list_of_many_runs_reads_no_file(
    open_app: Open, many_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").symlink_to(many_runs)
    app, read, files = open_app("home"), np.load, list[object]()

    def count_file(file: object, **how: Any) -> Any:
        files.append(file)
        return read(file, **how)

    monkeypatch.setattr(np, "load", count_file)
    app.switch_page("pages/runs.py").run()
    assert len(app.dataframe[0].value) == MANY
    assert not files
    app.switch_page("pages/run.py").run()
    assert files
