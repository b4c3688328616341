"""Workspaces as capabilities: who has only the view-only link changes nothing, and who has no link sees nothing."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.engine.experiments.plan import plan_experiment
from acvb_core.engine.fitting import fit
from acvb_core.engine.job import Job
from acvb_core.engine.prepared import prepare_run
from acvb_core.engine.result import Result
from acvb_core.engine.study import StudyJob
from acvb_core.engine.tuning import plan_search
from acvb_core.samples.catalogue import load_sample
from acvb_core.store.files import StoreError
from acvb_core.store.jobs import JobManager
from acvb_core.store.studies import StudyStore
from pages.ui.shared import services
from pages.ui.shared.workspace import READABLE, ViewedHandle, ViewedStore, ViewOnlyError, Workspace, view_id
from pages.ui.workspace.dataset import Tab
from tests.pages.lda.topics import small_corpus
from tests.pages.lfm.tables import small_table
from tests.pages.session import (
    OTHER,
    WORKSPACE,
    Open,
    box,
    bring,
    drawn,
    jobs_of,
    keys,
    press,
    texts,
)

PAGES = sorted(path.stem for path in Path("pages").glob("*.py"))
VIEW = view_id(WORKSPACE)
#: Buttons that lead elsewhere, draw again or look closer.
HARMLESS = re.compile(
    r"go_to_run|open_\w+|\w+_refresh|\w+_wait|\w+_step_-?1|runs_open|runs_compare|grid_see|use_page_data|blocks_reset|"
    r"link_look|combine_runs|level_\w+"
)
PRIVATE = "private"


def everything(app: AppTest) -> str:
    """All that the browser was sent of a page, and its address."""
    sent = [str(getattr(node, "proto", "")) for root in (app.main, app.sidebar) for node in root]
    return "\n".join([*sent, str(app.query_params)])


def controls(app: AppTest) -> set[str]:
    """The buttons that are not known as harmless, and the fields for files that are kept."""
    pressed = {str(button.key) for button in app.button if not HARMLESS.fullmatch(str(button.key))}
    return pressed | {str(field.proto.label) for field in app.get("file_uploader")} - {"List of links"}


@pytest.fixture(scope="module")
def results() -> list[Result]:
    women, texts = load_sample("southern_women").relation, small_corpus()
    return [
        *(fit(women, "cvb0", k_rows=2, k_cols=2, seed=seed) for seed in range(2)),
        fit(small_table(), "em", k_max=2, max_sweeps=2),
        *(fit(texts, "cvb0", k=k, alpha=0.1, hyper="fixed", seed=1) for k in (2, 3)),
    ]


@pytest.fixture
def one_run(results: list[Result]) -> None:
    """A workspace with one run."""
    services.store().save(WORKSPACE, f"{PRIVATE}0", 1e9, results[0])


@pytest.fixture
def shared(results: list[Result]) -> list[str]:
    """A workspace with everything that there can be in one; the ids of all its runs."""
    corpus = small_corpus()
    services.store().save_dataset(WORKSPACE, corpus, [], {"name": PRIVATE, "heldout": 0.2})
    for number, result in enumerate(results):
        services.store().save(WORKSPACE, f"{PRIVATE}{number}", 1e9 + number, result)
    services.store().save(WORKSPACE, f"{PRIVATE}5", 2e9, prepare_run(corpus, "vb", {"k": 2}))  # interrupted
    services.store().save(WORKSPACE, f"{PRIVATE}6", 2e9, results[0])
    book = services.job_manager()
    for number in range(7):
        book.relabel(WORKSPACE, f"{PRIVATE}{number}", name=f"{PRIVATE} {number}")
    book.remove(WORKSPACE, f"{PRIVATE}6")
    (services.home() / "runs" / f"{PRIVATE}7.npz").write_bytes(b"damage")
    book.load_again(WORKSPACE, f"{PRIVATE}7")
    busy = book.add(WORKSPACE, prepare_run(corpus, "gibbs", {"k": 2, "max_sweeps": 1_000_000}))
    book.relabel(WORKSPACE, busy.id, name=f"{PRIVATE} busy")
    experiment = services.experiments().add(
        WORKSPACE, plan_experiment(corpus, ["cvb0"], k=[2], splits=2, heldout=0.2), PRIVATE
    )
    search = plan_search(corpus, "scvb0", 2, epochs=0.5, k=2, seed=0, heldout=0.2)
    made = services.searches().add(WORKSPACE, search, PRIVATE)
    return [busy.id, experiment.id, made.id, *(f"{PRIVATE}{number}" for number in range(8))]


def restart() -> None:
    for kept in (services.job_manager, services.data_shelves, services.views, services.store):
        kept.clear()


def test_a_viewer_sees_every_page_and_can_change_nothing(open_app: Open, shared: list[str]) -> None:
    drawn_for_owners = {}
    for page in PAGES:
        owner, viewer = open_app(page), open_app(page, None, view=VIEW)
        drawn_for_owners[page] = controls(owner)
        assert not viewer.exception
        assert viewer.title[0].value == owner.title[0].value
        assert controls(viewer) == set(), page
        assert "Nothing can be changed here." in texts(viewer), page
        assert "view-only link" not in texts(viewer).lower(), "only its owner shares a workspace"
        assert WORKSPACE not in everything(viewer), page
        assert "acvb_ws" not in everything(viewer), "the browser keeps its own workspace"
        assert WORKSPACE in everything(owner), "or else nothing was looked at"
        if page != "guide":
            assert PRIVATE in texts(viewer) + str([box.options for box in viewer.selectbox]), page
    without = {page for page, drawn in drawn_for_owners.items() if not drawn}
    assert without == {"compare", "guide"}, "or else no button was looked at"


def test_a_viewer_looks_at_other_data_and_the_owner_keeps_those_in_use(
    open_app: Open, shared: list[str]
) -> None:
    app = open_app("home", None, view=VIEW)
    women = services.store().load(f"{PRIVATE}0", services.places().here).prepared.fingerprint
    box(app.sidebar, "Data").select(women).run()
    assert not app.exception
    assert Workspace(WORKSPACE).dataset.name == PRIVATE
    app.switch_page("pages/data.py").run()
    assert "southern_women" in texts(app)
    assert app.query_params["view"] in (VIEW, [VIEW])


@pytest.fixture
def links(open_app: Open, shared: list[str]) -> list[str]:
    """The links that the page of a run on the relation offers."""
    app = open_app("blocks", run=f"{PRIVATE}0")
    app.session_state["share"] = True
    return [block.value for block in drawn(app, "blocks").sidebar.get("code")]


def test_a_link_to_one_answer_shows_nothing_else(open_app: Open, shared: list[str], links: list[str]) -> None:
    view, answer, full = (dict(parse_qsl(urlsplit(link).query)) for link in links)
    assert (view["view"], full["ws"], answer["run"]) == (VIEW, WORKSPACE, f"{PRIVATE}0")
    assert answer.keys() == {"answer", "run"}
    others = [
        known for known in (*shared, *(f"{PRIVATE} {k}" for k in range(1, 8))) if known != f"{PRIVATE}0"
    ]
    other_data = Workspace(WORKSPACE).dataset.data.fingerprint
    for page in PAGES:
        for more in ({}, {"run": f"{PRIVATE}1"}, {"data": other_data}):
            app = open_app(page, None, **{"answer": answer["answer"], **more})
            assert "You are viewing one shared answer." in texts(app), page
            sent = seen(app)
            assert not [known for known in (*others, WORKSPACE, VIEW, "acvb_ws") if known in sent], page
            assert controls(app) == set(), page
    (tab := Tab()).choose(other_data)
    for one in (tab, Tab(), None):
        workspace = Workspace(WORKSPACE, True, one, f"{PRIVATE}0")
        assert [job.id for job in workspace.jobs] == [f"{PRIVATE}0"]
        assert list(workspace.data_names) == [workspace.jobs[0].outline.fingerprint]
        assert one is None or workspace.dataset.data.fingerprint == workspace.jobs[0].outline.fingerprint
        assert workspace.find_report(other_data, stored=True) is None
        assert not workspace.experiments.jobs(WORKSPACE) + workspace.searches.jobs(WORKSPACE)
    app = open_app("blocks", None, answer=answer["answer"])
    assert app.selectbox(key="blocks_run").options[0].startswith(f"{PRIVATE} 0")
    assert len(app.selectbox(key="blocks_run").options) == 1
    assert app.query_params["answer"] == answer["answer"]
    proof = answer["answer"].partition("-")[2]
    for wrong in (f"{PRIVATE}1-{proof}", proof, f"{PRIVATE}0-{VIEW}", f"{PRIVATE}0", ""):
        app = open_app("blocks", None, answer=wrong)
        assert "This view-only link leads to no workspace." in texts(app)
        assert PRIVATE not in seen(app)


def test_what_would_change_a_workspace_refuses_a_viewer(shared: list[str]) -> None:
    viewed = Workspace(WORKSPACE, view_only=True)
    given = {"add": [None], "set_dataset": [None], "remove_data": [""], "check_owner": [], "save_dataset": []}
    given["read_original"] = [None]
    methods = {name for name, _ in inspect.getmembers(Workspace, inspect.isfunction) if name[0] != "_"}
    assert methods == {*given, "use_data", "find_report", "find_original", "explain_no_room", "require_room"}
    for name, arguments in given.items():
        with pytest.raises(ViewOnlyError, match="full link"):
            getattr(viewed, name)(*arguments)
    looks = {"jobs", "name", "unreadable", "unreadable_runs", "deleted_runs", "unsaved_runs"}
    stores = ((JobManager, viewed.runs), (StudyStore, viewed.experiments), (StudyStore, viewed.searches))
    for kind, store in stores:
        assert isinstance(store, ViewedStore)
        for name in {name for name in dir(kind) if not name.startswith("__")} - looks:
            with pytest.raises(ViewOnlyError):
                getattr(store, name)
        for name in looks - {"jobs", "name"}:
            assert not getattr(store, name)(WORKSPACE), "only the owner mends what these list"
    jobs = [store.jobs(WORKSPACE)[0] for _, store in stores]
    handles = list(zip((Job, StudyJob, StudyJob), jobs, strict=True))
    for kind, handle in handles:
        assert isinstance(handle, ViewedHandle)
        assert handle.inspect() is not None
        for name in {name for name in dir(kind) if not name.startswith("__")} - READABLE:
            with pytest.raises(ViewOnlyError):
                getattr(handle, name)
        with pytest.raises(ViewOnlyError):
            handle.label = None
    refused = {name for name in READABLE if callable(getattr(Job, name, None))}
    assert refused == {"inspect"}, "what is read is no method that changes"


def test_pages_reach_what_can_be_changed_through_their_workspace_alone() -> None:
    """Who takes a store from the services must check the owner: these modules do, or only read."""
    doors = re.compile(r"\b(job_manager|experiments|searches|store|data_shelves)\(\)|\bshelf_of\(")
    known = {
        "app.py",  # sees that the store can be opened
        "pages/ui/shared/services.py",
        "pages/ui/shared/workspace.py",
        "pages/ui/shared/absent.py",  # what the store says of itself
        "pages/ui/workspace/kept_data.py",
        "pages/ui/workspace/entrance.py",  # finds the workspaces of links
        "pages/ui/running/archives.py",  # an import begins with `check_owner`, and so does a loading
        "pages/ui/upload/form.py",
        "pages/ui/lda/upload_texts.py",  # a folder outside all workspaces
    }
    paths = [Path("app.py"), *Path("pages").rglob("*.py")]
    assert {str(path) for path in paths if doors.search(path.read_text())} == known


def test_a_view_only_link_outlives_a_restart_and_is_no_full_link(open_app: Open, one_run: None) -> None:
    restart()
    app = open_app("home", None, view=VIEW)
    assert len(jobs_of(app)) == 1
    assert "Nothing can be changed here." in texts(app)
    taken = open_app("home", VIEW)
    assert jobs_of(taken) == [], "the id of the view is the key of nothing"
    assert view_id(VIEW) != WORKSPACE


@pytest.mark.parametrize("view", ["f" * 32, "", WORKSPACE, "../../etc"])
def test_an_unknown_view_only_link_leads_to_a_workspace_of_ones_own(open_app: Open, view: str) -> None:
    app = open_app("home", None, view=view)
    assert "This view-only link leads to no workspace." in texts(app)
    assert "begin_upload" in keys(app)
    assert app.session_state["ws"] not in (WORKSPACE, view)
    assert "view" not in app.query_params


def test_another_browser_sees_nothing_whatever_ids_it_knows(open_app: Open, shared: list[str]) -> None:
    for page in PAGES:
        for app in (open_app(page, OTHER, run=shared[0]), open_app(page, None, run=f"{PRIVATE}0")):
            assert not [known for known in (*shared, WORKSPACE, VIEW, PRIVATE) if known in seen(app)], page


def seen(app: AppTest) -> str:
    return everything(app).replace(str(app.query_params), "")


def test_services_answer_by_workspace_and_never_by_a_runs_id_alone(shared: list[str]) -> None:
    others, book = Workspace(OTHER), services.job_manager()
    experiments, searches = services.experiments(), services.searches()
    before = [job.id for job in Workspace(WORKSPACE).jobs]
    for run in shared:
        book.relabel(OTHER, run, name="taken")
        for change in (book.remove, book.restore, book.load_again, book.save_again):
            change(OTHER, run)
        experiments.remove(OTHER, run)
        searches.remove(OTHER, run)
    book.delete_for_good(OTHER)
    listed = (book.jobs, book.unreadable_runs, book.deleted_runs, book.unsaved_runs)
    assert not any(some(OTHER) for some in listed)
    for plans in (experiments, searches):
        assert (plans.jobs(OTHER), plans.unreadable(OTHER)) == ([], {})
    assert (others.dataset, others.data_names) == (None, {})
    assert [job.id for job in Workspace(WORKSPACE).jobs] == before
    assert len(book.deleted_runs(WORKSPACE)) == 1
    assert len(experiments.jobs(WORKSPACE)) == len(services.searches().jobs(WORKSPACE)) == 1
    assert not [job for job in Workspace(WORKSPACE).jobs if job.label.name == "taken"]


def test_a_full_workspace_takes_no_more(
    open_app: Open, one_run: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACVB_WORKSPACE_MB", "0")
    full = "of at most 0 kB"
    app = press(open_app("data"), "use_sample")
    assert full in texts(app)
    app = bring(app, "links.csv", "a,b\nc,d\n")
    assert "this file has" in texts(app)
    assert app.button(key="load").disabled
    press(app := open_app("home"), "sample_comparison")
    assert full in texts(app)
    workspace = Workspace(WORKSPACE)
    assert workspace.dataset is None
    with pytest.raises(StoreError, match=full):
        workspace.add(workspace.jobs[0].prepared)
    assert len(workspace.jobs) == 1
    monkeypatch.setenv("ACVB_WORKSPACE_MB", "plenty")
    assert "must be a whole number of megabytes" in workspace.explain_no_room()
    monkeypatch.delenv("ACVB_WORKSPACE_MB")
    assert workspace.explain_no_room() == ""
    press(app := open_app("data"), "use_sample")
    assert workspace.dataset is not None
