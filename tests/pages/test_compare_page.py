"""The Compare page: several runs side by side, and what may not be compared."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.data.relation import Network, Relation
from acvb_core.engine.experiments.answers import combine
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.samples.catalogue import load_sample
from acvb_core.views.comparison_table import comparison_table, fold_runs
from pages.ui.irm.words_relation import RELATION
from pages.ui.running.compare_page import MOST_RUNS
from pages.ui.shared import services
from pages.ui.shared.format import describe_state, shorten_names
from pages.ui.shared.style import MARKED
from pages.ui.shared.workspace import Workspace, view_id
from tests.pages.lda.topics import small_corpus
from tests.pages.lfm.tables import small_table
from tests.pages.session import WORKSPACE, Open, frame, show_part


def opened(open_app: Open, *results: Result) -> AppTest:
    """Open the page in a workspace that has these finished runs, oldest first."""
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
    return open_app("compare")


@pytest.fixture(scope="module")
def survey() -> list[Result]:
    relation = load_sample("survey").relation
    return [fit(relation, method, heldout=0.1) for method in ("acvb0", "vb", "gibbs")]


def said(app: AppTest) -> str:
    return " ".join(str(element.value) for element in [*app.caption, *app.warning, *app.info, *app.markdown])


def test_runs_are_shown_side_by_side(open_app: Open, survey: list[Result]) -> None:
    app = opened(open_app, *survey)
    assert not app.exception
    scores = app.dataframe[0].value
    assert scores.index.tolist() == ["ACVB0", "VB", "Gibbs"]
    assert "All of them: K 20 × 20 · seed 0 · on survey" in said(app)
    chosen = app.multiselect(key="compare_runs_irm").options
    assert chosen == [f"{method} · K 20 × 20 · seed 0" for method in ("ACVB0", "VB", "Gibbs")]
    jobs = Workspace(WORKSPACE).jobs
    assert scores["Status"].tolist() == [describe_state(job.outline).text for job in jobs]
    assert "Scores as CSV" in [button.label for button in app.get("download_button")]
    assert scores["Status"].iloc[-1] == "complete"  # as its card says; it has no tolerance to meet
    text = next(element.value for element in app.text if "agree" in element.value)
    assert "Three methods agree well" in text
    assert "seed" not in text  # the methods tell these runs apart
    assert "skill" in text
    show_part(app, "Curves")
    figure = json.loads(app.get("bidi_component")[-1].proto.json)["figure"]
    assert {trace.get("name") for trace in json.loads(figure)["data"]} == {"ACVB0", "VB", "Gibbs"}
    assert len(show_part(app, "Blocks").get("plotly_chart")) == 1
    assert "All of these runs have the same answer." in " ".join(text.value for text in app.text)
    for part, tabs, tab, figure in (
        ("Agreement", "agreement_measure", "Rand index", "agreement_ari"),
        ("Agreement", "agreement_measure", "Mutual information", "agreement_nmi"),
        ("Where objects go", "pair_view", "Flow", "alluvial"),
        ("Where objects go", "pair_view", "Table", "contingency"),
    ):
        show_part(app, part)
        app.session_state[tabs] = tab
        app.run()
        (drawn,) = app.get("plotly_chart")
        assert figure in drawn.proto.id


def test_scores_are_shaded_and_summed_up_over_seeds(open_app: Open, survey: list[Result]) -> None:
    app = opened(open_app, *survey, fit(survey[0].prepared.data, "vb", heldout=0.1, seed=1))
    assert MARKED.split(";")[0] in app.dataframe[0].proto.arrow_data.styler.styles
    assert frame(app, "Runs")["Runs"].tolist() == [1, 2, 1]
    assert "Mean ± standard deviation over the runs" in said(app)
    assert "Averaged: predictions by the mean of many samples." in said(app)
    assert RELATION.advice[0][0] in [box.label for box in app.expander]


def test_runs_on_other_splits_are_said_to_be_and_not_combined(open_app: Open, survey: list[Result]) -> None:
    other = fit(survey[0].prepared.data, "vb", heldout=0.1, heldout_seed=5)
    app = opened(open_app, survey[1], other)
    assert "combine_runs" not in {button.key for button in app.button}
    (note, *_) = comparison_table([survey[1], other], ["one", "other"]).notes
    assert note in [text.value for text in show_part(app, "Curves").caption]


def test_features_without_hidden_cells_have_nothing_to_combine(open_app: Open) -> None:
    app = opened(open_app, *(fit(small_table(), "em", k_max=k) for k in (1, 2)))
    assert "Held-out log likelihood" not in app.dataframe[0].value
    assert "combine_runs" not in {button.key for button in app.button}
    assert app.multiselect(key="compare_runs_lfm").proto.max_selections == MOST_RUNS


def test_runs_are_combined(open_app: Open, survey: list[Result]) -> None:
    app = opened(open_app, *survey)
    assert len(app.dataframe) == 1
    app.button(key="combine_runs").click().run()
    assert not app.exception
    combined = combine(survey)
    text = next(element.value for element in app.text if element.value.startswith("Together"))
    assert f"held-out skill {100 * combined.score.skill:.1f} %" in text
    best = max(range(3), key=lambda run: combined.scores[run].log_likelihood)
    better = combined.score.log_likelihood >= combined.scores[best].log_likelihood
    verdict = "better than" if better else "not as good as"
    assert f"{verdict} the best single run ({('ACVB0', 'VB', 'Gibbs')[best]}, " in text
    table = next(frame.value for frame in app.dataframe if "certainty" in frame.value)
    assert len(table) == survey[0].prepared.data.shape[0]
    assert table["cluster"].is_monotonic_increasing
    unsure = int((table["certainty"] < 0.5).sum())
    assert any(f"below 0.5 for {unsure} of {len(table)} objects" in element.value for element in app.text)


def test_different_data_are_named_and_not_compared(open_app: Open, survey: list[Result]) -> None:
    app = opened(open_app, survey[1], fit(load_sample("southern_women").relation, "vb"))
    assert not app.exception
    assert "different data" in app.warning[0].value
    parts = next(group for group in app.get("button_group") if group.key == "compare_part")
    assert list(parts.options) == ["Scores", "Curves", "Blocks"]


def test_runs_on_two_data_sets_of_one_name_are_told_apart(open_app: Open) -> None:
    """A relation and a network: both models call the method VB."""
    ones = np.triu(np.random.default_rng(0).random((12, 12)) < 0.4, 1)
    one = fit(Relation.build(ones, name="same"), "vb", k_rows=3, k_cols=3)
    network = Relation.build(ones | ones.T, name="same", network=Network(directed=False))
    app = opened(open_app, one, fit(network, "vb", k_rows=3))
    assert not app.exception
    own = [f"K 3 × 3 · same ({one.prepared.fingerprint[:4]})", f"K 3 · same ({network.fingerprint[:4]})"]
    assert app.dataframe[0].value.index.tolist() == own
    assert "All of them: VB · seed 0" in said(app)
    names = [f"VB · {part.replace(' · ', ' · seed 0 · ')}" for part in own]
    assert app.multiselect(key="compare_runs_irm").options == names


def test_a_name_that_the_user_gave_stays_whole(open_app: Open, survey: list[Result]) -> None:
    opened(open_app, *survey)
    jobs = Workspace(WORKSPACE).jobs
    services.job_manager().relabel(WORKSPACE, jobs[1].id, name="Figure 2 · seed 0")
    shared, names = shorten_names(jobs)
    assert (shared, list(names.values())) == ("K 20 × 20 · seed 0", ["ACVB0", "Figure 2 · seed 0", "Gibbs"])
    assert shorten_names(jobs[:1]) == ("", {jobs[0].id: "ACVB0 · K 20 × 20 · seed 0"})
    again = services.job_manager().add(WORKSPACE, jobs[0].prepared)  # the same run: nothing is its own
    assert list(shorten_names([jobs[0], again])[1].values()) == [
        "ACVB0 · K 20 × 20 · seed 0", "ACVB0 · K 20 × 20 · seed 0 (2)",
    ]  # fmt: skip


def test_a_choice_of_runs_is_kept_on_the_same_data_only(open_app: Open, survey: list[Result]) -> None:
    app = opened(open_app, *survey)
    wanted = [f"{0:012x}", f"{2:012x}"]
    app.multiselect(key="compare_runs_irm").set_value(wanted).run()
    app.switch_page("pages/home.py").run()
    app.switch_page("pages/compare.py").run()
    assert app.multiselect(key="compare_runs_irm").value == wanted
    new = services.job_manager().add(WORKSPACE, prepare_run(survey[0].prepared.data, "vb", {"k_rows": 3}))
    assert new.wait(180)
    assert app.run().multiselect(key="compare_runs_irm").value == [*wanted, new.id]
    app.multiselect(key="compare_runs_irm").set_value(wanted[:1]).run()
    assert [one.value for one in app.info] == ["Choose two runs or more to compare."]
    women = load_sample("southern_women").relation
    for _ in range(2):
        assert services.job_manager().add(WORKSPACE, prepare_run(women, "vb")).wait(180)
    services.data_shelves().clear()
    services.store().save_dataset(WORKSPACE, women, [], {"name": "women"})
    app.switch_page("pages/home.py").run()
    app.switch_page("pages/compare.py").run()
    assert not set(wanted) & set(app.multiselect(key="compare_runs_irm").value)


def test_runs_with_the_same_answer_are_shown_once(open_app: Open, survey: list[Result]) -> None:
    start = {"k_rows": 2, "k_cols": 2, "init": "random", "max_sweeps": 1}
    other = fit(survey[0].prepared.data, "cvb0", heldout=0.1, **start)
    app = opened(open_app, survey[0], other, *survey[1:])
    assert len(show_part(app, "Blocks").get("plotly_chart")) == 2
    assert "ACVB0 · K 20 × 20 (3 runs with the same answer)" in [text.value for text in app.text]
    one, two = fit(small_table(), "em", k_max=2), fit(small_table(), "em", k_max=1)
    assert fold_runs([one, two, replace(one)]) == [[0, 2], [1]]
    corpus = small_corpus()
    first, again, third = (
        fit(corpus, "cvb0", k=k, seed=seed, max_sweeps=40) for k, seed in ((2, 0), (2, 0), (3, 0))
    )
    assert fold_runs([first, third, again]) == [[0, 2], [1]]


def test_one_run_alone_is_named_and_others_can_be_started(open_app: Open, survey: list[Result]) -> None:
    women = load_sample("southern_women").relation
    services.store().save_dataset(WORKSPACE, women, [], {"name": "women"})
    app = opened(open_app, survey[1], fit(women, "acvb0", heldout=0.2, k_rows=5, k_cols=4))
    alone = "ACVB0 · K 5 × 4 · seed 0 is the only run on the data in use."
    assert alone in [text.value for text in app.text]
    viewer = open_app("compare", None, view=view_id(WORKSPACE))
    assert alone in [text.value for text in viewer.text]
    assert not {"compare_method", "compare_seeds"} & {str(button.key) for button in viewer.button}
    app.button(key="compare_method").click().run()
    assert len(Workspace(WORKSPACE).jobs) == 3
    job = Workspace(WORKSPACE).jobs[-1]
    spec = job.outline.spec
    assert (spec.method, spec.heldout, job.outline.fingerprint) == ("acvb", 0.2, women.fingerprint)
    assert (spec.values["k_rows"], spec.values["k_cols"]) == (5, 4)
    assert job.wait(60)
    assert alone not in [text.value for text in app.run().text]


def test_runs_of_several_models_are_told_apart_by_them(open_app: Open) -> None:
    network = load_sample("les_miserables").relation
    counts = fit(network, "vb", model="poisson-network", k_rows=3, max_sweeps=3)
    opened(open_app, fit(network, "vb", k_rows=3, max_sweeps=3), counts)
    _, names = shorten_names(Workspace(WORKSPACE).jobs)
    assert list(names.values()) == ["Infinite Relational Model", "Poisson"]
