"""What the page on the number of topics says of its measures."""

from __future__ import annotations

INTRODUCTION = """
A model of topics is told how many there are. Try several numbers, each from more than one seed, and look where the
measures stop getting better: a number they agree on is a good one, and where they disagree the topics' words decide.
"""

#: Whether leave-one-out perplexity may choose the number of topics: measured by benchmarks/topic_choice.py
#: (docs/measured.md).
LOO_TEXT = (
    "**Leave-one-out perplexity**: how well each word is predicted from all others. It comes with the run and needs "
    "nothing held out, but is no judge of the number of topics: it goes on falling where the held-out perplexity has "
    "turned, as each word's topic was chosen knowing that word. What it shows is where more topics gain little."
)

HELDOUT_TEXT = (
    "**Held-out perplexity**: how well the hidden words of each document are predicted, as uncertain as a choice among "
    "so many words. It judges prediction, and often goes on getting better with topics that nobody would want to read."
)

NPMI_TEXT = (
    "**Coherence (NPMI)**: how often the ten most probable words of a topic stand in the same documents. It is nearest "
    "to what people call a clear topic, and as a rule favours few. Watch the diversity: topics that repeat one another "
    "are coherent too."
)

#: By the measure's name in the table of a grid.
MEASURE_TEXTS: dict[str, str] = {
    "loo_perplexity": LOO_TEXT,
    "heldout_perplexity": HELDOUT_TEXT,
    "npmi": NPMI_TEXT,
}
