"""The list of links that was loaded comes back with clusters in one press, after a restart of the app too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acvb_core.engine.fitting import fit
from acvb_core.report.original import add_results
from acvb_core.store.export import csv_text
from pages.ui.running import take_away
from pages.ui.shared import services
from pages.ui.shared.picking import FileOffer
from pages.ui.shared.workspace import Workspace, view_id
from pages.ui.upload import form
from tests.pages.irm.networks import PAIRS
from tests.pages.session import OTHER, WORKSPACE, Open, bring, in_use, press, texts

#: Columns that runs do not use, in two files about the same links.
FIRST, SECOND = (
    "source;target;note\n"
    + "".join(f"{a};{b};{word} {i}\n" for i, (a, b) in enumerate([*PAIRS[:-1], ("Eve", "Dan")]))
    for word in ("first", "=second")
)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> dict[str, FileOffer]:
    """The files that the page drawn last offers, by the ends of their names."""
    found: dict[str, FileOffer] = {}
    monkeypatch.setattr(take_away, "show_download", lambda _, offer: found.update({offer.end: offer}))
    return found


def load(open_app: Open, name: str, content: str) -> None:
    press(bring(open_app("data"), name, content), "load")
    assert in_use().report.source == name


def own_files() -> list[Path]:
    return list((services.home() / "originals").iterdir())


def restart() -> None:
    for kept in (services.job_manager, services.data_shelves, services.views, services.store):
        kept.clear()


def test_the_file_that_was_loaded_last_comes_back_with_clusters(
    open_app: Open, offers: dict[str, FileOffer]
) -> None:
    load(open_app, "first.csv", FIRST)
    result = fit(in_use().data, "acvb0", k_rows=3, seed=1)
    services.store().save(WORKSPACE, "1", 1e9, result)
    app = open_app("data")
    app.selectbox(key="sample").select("survey").run()
    press(app, "use_sample")
    load(open_app, "second.csv", SECOND)
    assert len(own_files()) == 1, "the newest of the same links"
    assert "The file second.csv is kept with these data" in texts(open_app("data"))
    for _ in range(2):
        restart()
        offers.clear()
        open_app("blocks")
        with ThreadPoolExecutor(1) as thread:  # as the server does: without a session
            made = thread.submit(offers["with-clusters.csv"].make).result()
        assert made == csv_text(add_results(result, SECOND.encode(), "second.csv"))
        assert "'=second 3" in str(made)
    offers.clear()
    assert "Upload the list of links that you loaded" in texts(
        open_app("blocks", None, view=view_id(WORKSPACE))
    )
    assert "with-clusters.csv" not in offers, "it may have columns that the owner shows nobody"


def test_the_file_goes_with_its_data(open_app: Open) -> None:
    load(open_app, "first.csv", FIRST)
    workspace, (path,) = Workspace(WORKSPACE), own_files()
    assert 0 < path.stat().st_size < services.used_bytes(WORKSPACE)
    # Held out of another file, or of no list, or of one that is too large, nothing is kept.
    load(open_app, "matrix.csv", ",a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n")
    assert own_files() == [path]
    data = next(key for key, name in workspace.data_names.items() if name == "first")
    press(open_app("data"), f"remove_data_{data}")
    assert own_files() == []


def test_a_large_list_is_not_kept(
    open_app: Open, offers: dict[str, FileOffer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "MOST_ORIGINAL", len(FIRST) - 1)
    load(open_app, "first.csv", FIRST)
    services.store().save(WORKSPACE, "1", 1e9, fit(in_use().data, "acvb0", k_rows=3))
    restart()
    assert "Upload the list of links that you loaded" in texts(open_app("blocks"))
    assert (own_files(), "with-clusters.csv" in offers) == ([], False)


def test_an_archive_does_not_lead_to_the_file(open_app: Open) -> None:
    from io import BytesIO

    from acvb_core.store.archives import write_archive
    from pages.ui.running.archives import _keep_data

    load(open_app, "first.csv", FIRST)
    out = BytesIO()
    write_archive(services.store(), {}, out, "1", (), [WORKSPACE])
    (path,) = own_files()
    assert path.stem.encode() not in out.getvalue()
    loaded = services.store().load_dataset(WORKSPACE)
    assert loaded is not None
    _keep_data(Workspace(OTHER), *loaded)
    assert Workspace(OTHER).find_original(in_use().data.fingerprint) is None
