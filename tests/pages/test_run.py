from __future__ import annotations

from collections import Counter

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine import prepared
from acvb_core.engine.history import Verdict
from acvb_core.engine.job import Job, Status
from acvb_core.registry import methods_of
from pages.ui.running import setup
from pages.ui.running.forms import build_fields, select_values
from pages.ui.running.setup import methods_key
from pages.ui.shared.absent import once
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from tests.loops import for_each
from tests.pages.session import WORKSPACE, Open, jobs_of, keys, of_data, press, texts, until


def enter(app: AppTest, **values: object) -> AppTest:
    """Fill number fields of the form by the names of their parameters, whatever methods share them."""
    for name, value in values.items():
        for field in app.number_input:
            if str(field.key).startswith(f"set_irm_{name}_"):
                field.set_value(value)
    return app.run()


def endless(app: AppTest, *methods: str) -> AppTest:
    """Start runs that continue until they are stopped."""
    app.pills(key=of_data(app, "methods_irm")).set_value(list(methods)).run()
    enter(app, tol=1e-12, max_sweeps=1_000_000)
    return press(app, "start")


def test_form_recommends_one_method_and_says_when_to_use_each_other(with_sample: AppTest) -> None:
    methods = with_sample.pills(key=of_data(with_sample, "methods_irm"))
    assert methods.options == [row.label for row in methods_of("irm")]
    assert methods.value == ["acvb0"]
    assert with_sample.button(key="start").label == "Start ACVB0"
    said = texts(with_sample)
    assert "**ACVB0** :green-badge[Recommended] Fast, accurate, and certain to converge." in said
    (more,) = (box for box in with_sample.expander if box.label == "More methods")
    assert not more.proto.expanded
    lines = more.markdown[0].value.splitlines()
    assert [line.split("**")[1] for line in lines] == [
        row.label for row in methods_of("irm") if row.name != "acvb0"
    ]
    assert all(len(line.split("**: ")[1]) > 20 for line in lines)


@for_each("chosen", [[m] for m in methods_of("irm")] + [list(methods_of("irm"))])
def test_form_holds_every_parameter_of_the_registry(chosen: list) -> None:
    form = build_fields(chosen)
    assert len({field.key for field in form}) == len(form)
    defaults = [(field, field.parameter.default) for field in form]
    for method in chosen:
        assert method.values(select_values(method, defaults)) == method.values({})


def test_what_is_entered_reaches_the_run(with_sample: AppTest) -> None:
    app = with_sample
    app.pills(key=of_data(app, "methods_irm")).set_value(["cvb"]).run()
    enter(app, k_rows=7, k_cols=5, max_sweeps=3, alpha=2.5)
    app.selectbox(key=of_data(app, "set_irm_variance_acvb_cvb")).select("exact").run()
    app.number_input(key=of_data(app, "first_seed")).set_value(11).run()
    app.number_input(key=of_data(app, "n_seeds")).set_value(2).run()
    press(app, "start")
    jobs = jobs_of(app)
    assert [job.prepared.spec.seed for job in jobs] == [11, 12]
    values = jobs[0].prepared.spec.values
    entered = {"k_rows": 7, "k_cols": 5, "max_sweeps": 3, "alpha": 2.5, "variance": "exact"}
    assert {name: values[name] for name in entered} == entered
    assert jobs[0].prepared.spec.heldout == 0.1


def test_a_method_runs_as_its_paper_prints_it(with_sample: AppTest) -> None:
    """The settings that the paper prints are named, and are no fields; all others can be changed."""
    app = with_sample
    (preset,) = (box for box in app.selectbox if box.label == "Preset")
    assert any(box.label == "Start" for box in app.selectbox)
    preset.select("paper").run()
    assert "ACVB0, as printed in ACVB17" in texts(app)
    assert not any(box.label == "Start" for box in app.selectbox)
    enter(app, k_rows=4, k_cols=3, max_sweeps=2)
    press(app, "start")
    values = jobs_of(app)[0].prepared.spec.values
    assert values == methods_of("irm")[0].values(
        {"preset": "paper", "k_rows": 4, "k_cols": 3, "max_sweeps": 2}
    )
    assert (values["init"], values["merge"]) == ("random", False)


def test_the_same_run_twice_is_said_before_it_starts(with_sample: AppTest) -> None:
    app = with_sample
    app.pills(key=of_data(app, "methods_irm")).set_value(["cvb0"]).run()
    enter(app, max_sweeps=3)
    assert "the same settings and seed" not in texts(app)
    press(app, "start")
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    app.run()
    assert "CVB0 · K 20 × 20 · seed 0 has the same settings and seed" in texts(app)
    enter(app, max_sweeps=4)
    assert "the same settings and seed" not in texts(app)
    enter(app, max_sweeps=3)
    app.number_input(key=of_data(app, "first_seed")).set_value(1).run()
    assert "the same settings and seed" not in texts(app)


def test_a_run_goes_ahead_without_room_only_where_the_user_wants_it(
    with_sample: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = with_sample
    enter(app, max_sweeps=3)
    monkeypatch.setattr("acvb_core.engine.machine.available_memory", lambda: 1000)
    press(app, "start")  # there was room when the page was drawn
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    refused = jobs_of(app)
    assert refused
    assert all("GB of memory, and" in (job.inspect().error or "") for job in refused)
    assert "GB of memory, and" in texts(app.run())

    monkeypatch.setattr(setup, "available_memory", lambda: 1000)
    app.run()
    app.checkbox(key=of_data(app, "nevertheless")).check().run()
    press(app, "start")
    until(app, lambda: not any(job.inspect().status.active for job in jobs_of(app)))
    begun = [job for job in jobs_of(app) if job not in refused]
    assert begun
    assert all(job.inspect().error is None for job in begun)


def test_pause_resume_stop_extend_and_remove(with_sample: AppTest) -> None:
    app = endless(with_sample, "gibbs")  # a sampler never converges
    (job,) = jobs_of(app)
    until(app, lambda: job.inspect().snapshot is not None)
    assert {f"pause_{job.id}", f"stop_{job.id}", f"remove_{job.id}"} <= keys(app)

    press(app, f"pause_{job.id}")
    assert job.inspect().status is Status.PAUSED
    assert list(app.dataframe[0].value["Status"]) == ["paused"]
    press(app, f"resume_{job.id}")
    assert job.inspect().status is Status.RUNNING

    press(app, f"stop_{job.id}")
    until(app, lambda: job.inspect().verdict is Verdict.STOPPED)
    app.run()
    assert f"stop_{job.id}" not in keys(app)
    done = job.inspect().snapshot
    assert done is not None

    press(app, f"extend_{job.id}")
    assert job.inspect().status.active
    until(app, lambda: job.inspect().snapshot.sweep > done.sweep)
    press(app, f"remove_{job.id}")
    assert jobs_of(app) == []
    assert job.wait(180)
    assert "Press Start" in texts(app.run())


@for_each(
    "methods, seeds, label",
    [
        (["acvb0"], 3, "Start 3 runs of ACVB0"),
        (["acvb0", "vb", "gibbs"], 1, "Start ACVB0, VB, Gibbs"),
        (["acvb0", "cvb0", "vb", "gibbs"], 2, "Start 8 runs of 4 methods: ACVB0, CVB0, VB, …"),
    ],
)
def test_the_button_and_the_fold_name_the_methods_that_will_start(
    with_sample: AppTest, methods: list[str], seeds: int, label: str
) -> None:
    app = with_sample
    app.pills(key=of_data(app, "methods_irm")).set_value(methods)
    app.number_input(key=of_data(app, "n_seeds")).set_value(seeds).run()
    assert app.button(key="start").label == label
    folds = [box.label for box in app.expander if box.label.startswith("More methods")]
    names = label.rpartition("of " if seeds > 1 else "Start ")[2]
    assert folds == ["More methods" if methods == ["acvb0"] else f"More methods (chosen: {names})"]


def race(app: AppTest, restarts: int, runs: int = 1, **values: object) -> list[Job]:
    app.pills(key=of_data(app, "methods_irm")).set_value(["cvb0"]).run()
    enter(app, k_rows=6, k_cols=6, tol=1e-12, **values)
    app.number_input(key=of_data(app, "restarts")).set_value(restarts).run()
    app.number_input(key=of_data(app, "n_seeds")).set_value(runs).run()
    press(app, "start")
    return jobs_of(app)


def test_restarts_race_and_the_page_says_who_won(with_sample: AppTest) -> None:
    app = with_sample
    one, other = race(app, 4, runs=2, max_sweeps=45)
    until(app, lambda: one.inspect().verdict is not None and other.inspect().verdict is not None)
    app.run()
    said = texts(app)
    for job, seeds in ((one, range(4)), (other, range(4, 8))):
        seed, table = job.prepared.spec.seed, job.result().race
        assert table["seed"].tolist() == list(seeds)
        assert seed in seeds
        assert f"seed {seed} won the race of 4 starts by the lower bound (4 → 2 → 1)" in said
        assert f"{table['sweeps'].sum()} sweeps and" in said
    assert other.label.name == "CVB0 · K 6 × 6 · seeds 4 to 7"
    assert f"**{other.label.name}**: seed" in said
    assert not app.exception


def test_a_press_that_is_handled_twice_counts_once() -> None:
    done: list[str] = []
    press_pause, press_resume = once(done.append), once(done.append)
    press_pause("pause")
    press_resume("resume")
    press_pause("pause")  # Streamlit's second time
    assert done == ["pause", "resume"]


@pytest.mark.parametrize("sample", ["southern_women", "karate", "bars", "fertility"])
def test_the_form_builds_no_algorithm_and_asks_once_what_each_method_costs(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, sample: str
) -> None:
    dataset = Dataset.of_sample(sample)
    Workspace(WORKSPACE).set_dataset(dataset)
    methods = [row.name for row in methods_of(dataset.model)]
    app = open_app("run")
    key = methods_key(dataset.model, dataset)
    done: Counter[str] = Counter()
    find, memory = prepared.Binding.find, prepared.memory_needed

    def count_builds(binding: prepared.Binding, part: str) -> object:
        done[part] += part not in binding._built
        return find(binding, part)

    def count_estimates(*given: object) -> int:
        done["memory"] += 1
        return memory(*given)

    monkeypatch.setattr(prepared.Binding, "find", count_builds)
    monkeypatch.setattr(prepared, "memory_needed", count_estimates)
    app.pills(key=key).set_value(methods).run()
    assert not app.exception
    assert "of memory" in texts(app)
    n = len(methods)
    most = 2 * n if any("track" in row.values({}) for row in methods_of(dataset.model)) else n
    assert (done["algorithm"], done["model"], done["split"]) == (0, 0, n)
    assert n <= done["memory"] <= most, "a second time for what could be saved"
