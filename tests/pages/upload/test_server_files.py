"""Files on the server: those of one folder are offered, and nothing that a link in it leads to."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from acvb_core.core.errors import DataError
from pages.ui.shared.workspace import Workspace
from pages.ui.upload.files import rewind
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
