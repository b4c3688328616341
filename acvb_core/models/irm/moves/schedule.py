"""When moves are made."""

from __future__ import annotations

#: Sweeps before the first moves: earlier, clusters that are still taking shape would be lost. A chain has shaped them.
MOVES_FROM, MOVES_FROM_AFTER_CHAIN = 15, 5
#: Sweeps between moves, for the objects to find their places.
MOVES_EVERY = 5
#: No more moves after this sweep, so that a run can settle; earlier after a chain, which has left little to find.
MOVES_UNTIL, MOVES_UNTIL_AFTER_CHAIN = 200, 60
#: Splits may go up to so many times the number of clusters to begin with.
SPLIT_LIMIT = 2
