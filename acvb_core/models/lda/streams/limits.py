"""The sizes of windows, and the numbers of the methods that stream which their settings' help names."""

from __future__ import annotations

#: Nothing is changed before so many documents were seen.
FROZEN = 1000.0
#: Documents for each topic that are early.
EARLY = 10
#: A window, where none is asked for, is this share of the documents …
WINDOW_SHARE = 0.05
#: … and at most so many.
MOST_IN_WINDOW = 20_000


def fit_window(n_documents: int, wanted: int, batch: int) -> int:
    """Return how many documents are in a window: whole batches. `wanted`: 0 for a share of all."""
    if not wanted:
        most = min(max(round(WINDOW_SHARE * n_documents), 1), MOST_IN_WINDOW)
        # All of about one size: a last one of a few documents would stand out of the curves.
        wanted = -(-n_documents // -(-n_documents // most))
    return -(-wanted // batch) * batch


def fit_turn(in_window: int, batch: int, parts: int) -> int:
    """Return how many documents of a window a shard reads between two merges, at most: whole batches."""
    return in_window if parts == 1 else -(-in_window // (parts * batch)) * batch
