"""The loading of a file into a workspace: it goes on when its page is left."""

from __future__ import annotations

import threading
from collections.abc import Callable

import streamlit as st

from pages.ui.shared import services
from pages.ui.shared.workspace import Workspace
from pages.ui.workspace.dataset import Dataset
from pages.ui.workspace.kept_data import shelf_of

#: Seconds between two looks at a loading.
_LOOK_SECONDS = 0.1
#: (data in use, called with the share that is read) -> the data of the file.
Load = Callable[[Dataset | None, Callable[[float], None]], Dataset]


class Loading:
    """A file that is being loaded, or what became of it."""

    def __init__(self, name: str, signature: str) -> None:
        self.name = name  #: of the data
        self.signature = signature  #: identifies the file and how it is read
        self.share: float | None = None  #: part that is read; None if it is not known
        self.error: Exception | None = None  #: why it could not be loaded
        self.was_seen = False  #: somebody has waited for its end
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Return whether the file is loaded, or could not be."""
        return self._over.is_set()

    def run(self, workspace: Workspace, load: Load) -> None:
        """Load the file and use its data; put them aside if the user has chosen others in the same tab meanwhile."""
        before, tab = workspace.dataset, workspace.tab
        wanted = tab and tab.wanted
        try:
            dataset = load(before, self._note_share)
            if (tab and tab.wanted) == wanted:
                workspace.set_dataset(dataset)
            else:
                shelf_of(workspace.key).put_aside(dataset)
        except Exception as error:
            self.error = error
        finally:
            self._over.set()

    def _note_share(self, share: float) -> None:
        self.share = min(share, 1.0)

    def follow(self) -> None:
        """Draw the progress until the loading is over. Who leaves the page ends this, and not the loading."""
        with st.spinner("Reading"):
            place = st.empty()
            while not self._over.wait(_LOOK_SECONDS):
                place.empty() if self.share is None else place.progress(self.share, f"{self.share:.0%} read")
            place.empty()
        self.was_seen = True


def start_loading(workspace: Workspace, name: str, signature: str, load: Load) -> Loading:
    """Start to load a file."""
    workspace.check_owner()
    loading = services.loadings()[workspace.key] = Loading(name, signature)
    threading.Thread(target=loading.run, args=(workspace, load), name="acvb-load", daemon=True).start()
    return loading
