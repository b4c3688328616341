"""Numbers of the methods that stream which their settings' help names."""

from __future__ import annotations

#: Nothing is changed before so many documents were seen.
FROZEN = 1000.0
#: Documents for each topic that are early.
EARLY = 10
#: A window, where none is asked for, is this share of the documents …
WINDOW_SHARE = 0.05
#: … and at most so many.
MOST_IN_WINDOW = 20_000
