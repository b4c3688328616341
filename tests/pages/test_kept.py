"""What is saved, what is not, what is damaged and what was deleted: the pages say so, and what can be done."""

from __future__ import annotations

import errno
import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation_readers import load_relation
from acvb_core.data.report import ReadReport
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.pages.session import OTHER, WORKSPACE, Open, box, jobs_of, keys, press, select_rows, texts, until


def no_room(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk() -> Iterator[pytest.MonkeyPatch]:
    """No array can be written until `undo` is called."""
    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(np, "savez", no_room)
        yield disk


def run_all(app: AppTest, seeds: int = 1) -> list[Job]:
    workspace = Workspace(app.session_state["ws"])
    assert workspace.dataset is not None
    for seed in range(seeds):
        workspace.add(
            prepare_run(
                workspace.dataset.data, "cvb0", {"k_rows": 3, "k_cols": 3, "max_sweeps": 3}, seed=seed
            )
        )
    app.run()
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    until(app, lambda: services.job_manager()._at_work == 0)
    app.run()
    return jobs_of(app)


def restart(open_app: Open, page: str = "run") -> AppTest:
    """Open the app as after the end of its process."""
    for name in ("job_manager", "data_shelves", "store"):
        getattr(services, name).clear()
    return open_app(page)


def test_a_run_that_was_not_saved_says_why_and_can_be_saved_again(
    with_sample: AppTest, open_app: Open, full_disk: pytest.MonkeyPatch
) -> None:
    app = with_sample
    (job,) = run_all(app)
    said = texts(app)
    assert "not saved" in said
    assert "No space left on device" in said
    press(app, f"save_{job.id}")
    assert "No space left on device" in texts(app)
    home = open_app()
    assert "1 run not saved" in texts(home), "in the sidebar"
    assert list(home.dataframe[0].value["Status"]) == ["sweep limit, not saved"]
    app.switch_page("pages/blocks.py").run()
    assert not app.exception
    assert any("download" in element.type for element in app.get("download_button")), "from memory"
    full_disk.undo()
    app.switch_page("pages/run.py").run()
    press(app, f"save_{job.id}")
    assert "not saved" not in texts(app)
    assert f"save_{job.id}" not in keys(app)
    assert [found.id for found in jobs_of(restart(open_app))] == [job.id]


def test_data_that_were_not_saved_say_why_and_can_be_saved_again(
    open_app: Open, full_disk: pytest.MonkeyPatch
) -> None:
    app = open_app("data")
    app.selectbox(key="sample").select("survey").run()
    press(app, "use_sample")
    for _ in range(2):
        app = open_app()  # AppTest knows the sidebar of the first run alone
        said = texts(app)
        assert "not saved" in said
        assert "No space left on device" in said
        press(app, "save_data")
    app = open_app()
    full_disk.undo()
    press(app, "save_data")
    app = open_app()
    assert "not saved" not in texts(app)
    assert "save_data" not in keys(app)
    again = restart(open_app, "data")
    assert Workspace(again.session_state["ws"]).dataset is not None


def test_a_deleted_run_comes_back_with_undo(with_sample: AppTest, open_app: Open) -> None:
    app = with_sample
    one, two = run_all(app, 2)
    press(select_rows(app, 1), f"remove_{one.id}")
    assert "Deleted CVB0 · K 3 × 3 · seed 0." in texts(app)
    assert jobs_of(app) == [two]
    press(app, f"undo_{one.id}")
    assert jobs_of(app) == [one, two]
    assert "Deleted" not in texts(app)
    press(select_rows(app, 1), f"remove_{one.id}")
    press(app, f"remove_{two.id}")
    app.run()
    assert "Deleted CVB0 · K 3 × 3 · seed 1." in texts(app), "also where no run is left"
    press(app, f"undo_listed_{one.id}")
    assert [job.id for job in jobs_of(app)] == [one.id]
    again = restart(open_app, "home")
    assert "Deleted CVB0 · K 3 × 3 · seed 1." in texts(again)
    press(again, f"undo_{two.id}")
    assert {job.id for job in jobs_of(again)} == {one.id, two.id}
    assert "Deleted" not in texts(open_app("run", OTHER))


def test_a_damaged_run_says_why_and_hides_no_other(with_sample: AppTest, open_app: Open) -> None:
    bad, good = run_all(with_sample, 2)
    path = services.home() / "runs" / f"{bad.id}.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    app = restart(open_app)
    said = texts(app)
    assert "damaged]" in said
    assert "CVB0 · K 3 × 3 · seed 0" in said
    assert f"runs/{bad.id}.npz is damaged and cannot be read" in said
    assert [job.id for job in jobs_of(app)] == [good.id]
    assert "1 run could not be read" in texts(open_app("home"))
    path.write_bytes(whole)
    press(app, f"again_{bad.id}")
    assert len(jobs_of(app)) == 2


def test_a_folder_that_cannot_be_used_is_told(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACVB_HOME", str(tmp_path / "file"))
    app = open_app()
    assert "ACVB_HOME" in app.error[0].value
    assert "The folder of the runs cannot be used to keep runs: File exists." in texts(app)
    assert str(tmp_path) not in texts(app)
    assert f"{tmp_path / 'file'} cannot be used to keep runs" in caplog.text
    monkeypatch.setenv("ACVB_HOME", str(tmp_path / "home"))
    services.store.clear()


def test_other_users_of_the_machine_cannot_read_the_folder(with_sample: AppTest, tmp_path: Path) -> None:
    """Nor one that was there before; what else is in it keeps its rights, and what is written is closed by itself."""
    other = services.home() / "notes.txt"
    services.home().mkdir(exist_ok=True)
    other.touch()
    for path, mode in ((services.home(), 0o755), (other, 0o644)):
        path.chmod(mode)
    services.once_per_process.clear_all()
    run_all(with_sample.run())
    assert services.home().stat().st_mode & 0o777 == 0o700
    modes = {path: path.stat().st_mode & 0o777 for path in services.home().rglob("*")}
    assert len(modes) > 5
    assert {path for path, mode in modes.items() if mode & 0o077} == {other}


def test_a_folder_that_others_can_read_is_refused(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    services.home().mkdir(exist_ok=True)
    services.home().chmod(0o755)
    cannot_close = "Other users of this machine can read the folder of the runs, and this cannot be changed"
    owner = "The folder of the runs belongs to another user of this machine"
    for function, answer, why in (("geteuid", os.geteuid() + 1, owner), ("chmod", None, cannot_close)):
        with monkeypatch.context() as machine:
            machine.setattr(os, function, lambda *_, answer=answer, **__: answer)
            app = open_app()
        assert "ACVB_HOME" in app.error[0].value
        assert why in texts(app)


def test_interrupted_runs_say_so_and_are_continued(with_sample: AppTest, open_app: Open) -> None:
    workspace = Workspace(with_sample.session_state["ws"])
    assert workspace.dataset is not None
    values = {"k_rows": 3, "k_cols": 3, "max_sweeps": 3}
    for seed in range(3):
        prepared = prepare_run(workspace.dataset.data, "cvb0", values, seed=seed)
        services.store().save(workspace.id, f"{seed:012x}", 1.0 + seed, prepared)
    app = restart(open_app)
    assert list(app.dataframe[0].value["Status"]) == ["interrupted"] * 3
    select_rows(app, 2)
    assert "3 runs were interrupted when the app ended." in texts(app)
    assert f"continue_{0:012x}" in keys(app)
    assert f"stop_{0:012x}" not in keys(app)
    for page in ("home", "runs", "compare", "blocks"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception
    app.switch_page("pages/run.py").run()
    press(select_rows(app, 2), f"continue_{0:012x}")
    until(app, lambda: jobs_of(app)[0].inspect().verdict is not None)
    assert "2 runs were interrupted" in texts(app)
    press(app, "continue_all")
    until(app, lambda: all(job.inspect().verdict is not None for job in jobs_of(app)))
    app.run()
    assert "were interrupted" not in texts(app)
    assert "continue_all" not in keys(app)


def test_data_that_can_be_read_again_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that could not be saved stay, for they are nowhere else."""
    workspace, held = Workspace(WORKSPACE), list[weakref.ref[Any]]()
    prints = []
    for number in range(12):
        links = "".join(f"x{row},y\n" for row in range(number + 2))
        relation = load_relation(f"a,b\n{links}".encode(), name=f"file {number}").data
        with monkeypatch.context() as disk:
            if number < 2:
                disk.setattr(np, "savez", no_room)
            workspace.set_dataset(Dataset.fresh(relation, ReadReport(relation.name, ()), relation.name))
        held.append(weakref.ref(relation))
        prints.append(relation.fingerprint)
        del relation
    gc.collect()
    alive = [number for number, data in enumerate(held) if data() is not None]
    assert alive == [0, 9, 10, 11]
    assert set(workspace.data_names) == set(prints)
    for number in (0, 4):
        workspace.use_data(prints[number])
        assert workspace.dataset is not None
        assert workspace.dataset.name == f"file {number}"


def test_data_without_runs_outlive_the_app_until_they_are_removed(open_app: Open) -> None:
    for sample in ("survey", "southern_women"):
        app = open_app("data")
        app.selectbox(key="sample").select(sample).run()
        press(app, "use_sample")
    workspace = Workspace(WORKSPACE)
    women = workspace.dataset
    assert women is not None
    (other,) = set(workspace.data_names) - {women.data.fingerprint}
    app = restart(open_app, "data")
    box(app.sidebar, "Data").select(other).run()
    survey = workspace.dataset
    assert survey is not None
    assert survey.data.fingerprint == other
    assert survey.report.lines()
    assert len(box(restart(open_app, "data").sidebar, "Data").options) == 2
    with_both = services.used_bytes(WORKSPACE)
    app = open_app("data")
    press(app, f"remove_data_{women.data.fingerprint}")
    assert set(workspace.data_names) == {other}
    assert 0 < services.used_bytes(WORKSPACE) < with_both
    press(open_app("data"), f"remove_data_{other}")
    for app in (open_app("data"), restart(open_app, "data")):
        assert "No data chosen yet" in texts(app)
        assert services.used_bytes(WORKSPACE) == 0
