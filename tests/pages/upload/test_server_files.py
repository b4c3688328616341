"""Files on the server: those of one folder are offered, and nothing that a link in it leads to."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.errors import DataError
from pages.ui.shared.workspace import Workspace
from pages.ui.upload.files import MOST_LISTED, list_server_files, rewind
from tests.pages.session import WORKSPACE, Open, keys, texts

TABLE = "a,b\n1,2\n3,4\n5,6\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the server's files, with one file, and a secret beside it."""
    (tmp_path / "secret.csv").write_text(TABLE)
    offered = tmp_path / "offered"
    offered.mkdir()
    (offered / "own.csv").write_text(TABLE)
    monkeypatch.setenv("ACVB_FILES", str(offered))
    return offered


def upload_page(open_app: Open) -> AppTest:
    app = open_app("data")
    app.segmented_control(key="source").set_value("Upload").run()
    return app


def test_links_are_not_offered_and_the_page_says_so(open_app: Open, folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "within").mkdir()
    (folder / ".hidden.csv").write_text(TABLE)
    app = upload_page(open_app)
    assert [option.split(" ")[0] for option in app.selectbox(key="upload_server").options] == [
        "none:",
        "own.csv",
    ]
    assert "Links are not offered, as they may lead out of the folder: link.csv." in texts(app)


def test_file_that_becomes_a_link_is_not_read(open_app: Open, folder: Path) -> None:
    app = upload_page(open_app)
    app.selectbox(key="upload_server").select_index(1).run()
    assert "load" in keys(app)
    (folder / "own.csv").unlink()
    (folder / "own.csv").symlink_to(folder.parent / "secret.csv")
    app.button(key="load").click().run()
    assert not app.exception
    assert Workspace(WORKSPACE).dataset is None
    assert "Links are not offered" in texts(app)


@pytest.mark.parametrize("path", ["../secret.csv", "within/x.csv", "link.csv"])
def test_only_files_of_the_folder_itself_are_read(folder: Path, path: str) -> None:
    (folder / "within").mkdir()
    (folder / "within/x.csv").write_text(TABLE)
    (folder / "link.csv").symlink_to(folder / "own.csv")
    with pytest.raises(DataError, match="this is a link, or lies outside the folder"):
        rewind(folder / path)


def test_folder_may_be_reached_by_a_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "alias").symlink_to(folder)
    monkeypatch.setenv("ACVB_FILES", str(folder.parent / "alias"))
    files, notes = list_server_files()
    assert [rewind(file) for file in files] == [folder / "own.csv"]
    assert not notes


def test_what_is_left_out_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MOST_LISTED):
        (folder / f"{number}.csv").touch()
    files, notes = list_server_files()
    assert len(files) == MOST_LISTED
    assert notes == ["Only the first 1,000 of 1,001 files are listed. Enter a part of the name above."]
    monkeypatch.setenv("ACVB_FILES", str(folder / "nowhere"))
    assert list_server_files() == (
        [],
        ["The server cannot read the folder that ACVB_FILES names: No such file or directory."],
    )
    monkeypatch.delenv("ACVB_FILES")
    assert list_server_files() == ([], [])


def test_a_large_folder_is_read_once_and_every_file_can_be_found(
    open_app: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MOST_LISTED + 500):
        (folder / f"part-{number:05}.csv").touch()
    (folder / "zebra.csv").write_text(TABLE)
    os.utime(folder, (1e9, 1e9))  # the folder was changed long ago
    looked_at: list[str] = []
    scandir, stat = os.scandir, os.stat

    def count(what: str, real: Any, *given: Any, **how: Any) -> Any:
        if str(given[0]).startswith(str(folder)):
            looked_at.append(what)
        return real(*given, **how)

    monkeypatch.setattr(os, "scandir", partial(count, "folder", scandir))
    monkeypatch.setattr(os, "stat", partial(count, "file", stat))
    app = upload_page(open_app)
    app.run()
    assert looked_at.count("folder") == 1
    assert len(app.selectbox(key="upload_server").options) == 1 + MOST_LISTED
    looked_at.clear()
    app.text_input(key="upload_find").set_value("ZEB csv").run()
    assert app.selectbox(key="upload_server").options[1].startswith("zebra.csv")
    assert len(looked_at) < 50, "no more files are looked at than are offered"
    app.selectbox(key="upload_server").select_index(1).run()
    assert "load" in keys(app)
    app.text_input(key="upload_find").set_value("part-00007").run()
    assert app.selectbox(key="upload_server").value == folder / "zebra.csv"
