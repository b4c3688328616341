"""What is printed for people about the runs of each model, beside what is said of any run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from acvb_core.engine.result import Result

#: Words of a topic that are shown.
TOP_WORDS = 8

Facts = list[tuple[str, str]]


class ModelText(NamedTuple):
    """One model's part of the text.

    Attributes
    ----------
    facts : callable
        Result -> (name, text) of the scores and the diagnostics that only this model has.
    found : callable
        Result -> what was found, in lines of text; may be empty.
    """

    facts: Callable[[Result], Facts]
    found: Callable[[Result], str]


def _irm_facts(result: Result) -> Facts:
    score = result.snapshot.heldout
    if score is None:
        return []
    text = (
        f"{score.log_likelihood:.4f} nats each, skill {score.skill:.3f}, ROC AUC {score.roc_auc:.3f}, "
        f"average precision {score.average_precision:.3f}"
    )
    return [("held-out entries", text)]


def _nothing(result: Result) -> str:
    return ""


def _lda_facts(result: Result) -> Facts:
    extras, score = result.snapshot.extras, result.snapshot.heldout
    facts = []
    if "collapsed_bound" in extras:
        facts.append(("bound to second order", f"{extras['collapsed_bound']:,.2f} nats"))
    if "loo_perplexity" in extras:
        facts.append(("leave-one-out perplexity", f"{extras['loo_perplexity']:,.1f}"))
    if score is not None:
        text = f"perplexity {score.perplexity:,.1f}, {score.log_likelihood:.4f} nats each"
        facts.append(("held-out words", text))
    return facts


def _topics(result: Result) -> str:
    """Return a line for each topic: its number, its share of all words, its most probable words."""
    masses = result.posterior.masses()["topics"]
    table = result.topics[result.topics["rank"] <= TOP_WORDS]
    words = table.groupby("topic", sort=True)["word"].agg(lambda column: ", ".join(map(_shown, column)))
    width = max(len(str(words.index.max())), len("topic"))
    lines = [f"{'topic':>{width}}   share  most probable words"]
    for topic, share in zip(words.index, masses / masses.sum(), strict=True):
        lines.append(f"{topic:>{width}}  {share:>6.1%}  {words[topic]}")
    return "\n" + "".join(f"{line}\n" for line in lines)


def _shown(word: str) -> str:
    """Return a word from the user's file with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in word)


TEXTS = {"irm": ModelText(_irm_facts, _nothing), "lda": ModelText(_lda_facts, _topics)}
