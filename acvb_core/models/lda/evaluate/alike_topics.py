"""Topics that come back in other runs."""

from __future__ import annotations

from collections.abc import Sequence

from acvb_core.core.protocols import Posterior
from acvb_core.evaluate.stability import stability
from acvb_core.models.lda.topics import topics_in_use, word_probability

#: Similarity of topics that count as the same: about half of their top words are, and more of the frequent ones.
ALIKE = 0.6


def count_alike_topics(posteriors: Sequence[Posterior]) -> tuple[int, int]:
    """Return how many topics of the first run come back in all the others, and how many it has.

    Empty topics do not count. Topics over different words cannot be compared: that gives (0, 0).
    """
    topics = [word_probability(posterior)[topics_in_use(posterior)] for posterior in posteriors]
    if len({one.shape[1] for one in topics}) > 1:
        return 0, 0
    return int((stability(topics).minimum >= ALIKE).sum()), len(topics[0])
