"""Explanations for texts: Latent Dirichlet Allocation, its curves and its methods."""

from __future__ import annotations

from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound",
        "Bound",
        ":material/trending_up:",
        "A lower bound on the log probability of all words under the model, in nats. For the averaged methods it is "
        "the bound of the average.",
        "Higher is better, between runs with the same number of topics on the same words. VB climbs it in every "
        "sweep.",
        "The collapsed methods do not climb it, and it does not show how well new words are predicted. It is slow to "
        "compute, so it is shown for some sweeps only.",
    ),
    Curve(
        "LOO perplexity",
        "Leave-one-out",
        ":material/filter_1:",
        "Each word of each document is predicted from all the others. Perplexity: the prediction is as uncertain as a "
        "fair choice among so many words.",
        "Lower is better. CVB and CVB0 have converged when the log likelihood behind it stands still.",
        "Of a stream it is that of the last window, so it jumps from one window to the next. And it is no judge of "
        "alpha: the other words have already adapted to the one left out, so it goes on falling "
        "where alpha is far too small. Held-out perplexity does not.",
    ),
    Curve(
        "Change of q, and of its mean",
        "Change",
        ":material/waves:",
        "How far the topic probabilities of a word in a document moved in a sweep, on average over all words (0: not "
        "at all, 2: to other topics altogether). Of a stream: how far the topics' counts of words moved in a window.",
        "Thin: q of the sweeps, thick: its mean. The change of q may go on for ever: CVB0 can circle. The change of "
        "its running mean cannot; ACVB0 and ACVB have converged when it falls below the tolerance.",
        "A running mean over s sweeps moves by at most 2/s whatever it is fed (the dotted line). Point at the curve "
        "for the change times s: falling to 0, the sweeps agree with the mean; level, they keep moving around it.",
    ),
    Curve(
        "Held-out perplexity",
        "Held-out",
        ":material/quiz:",
        "Some words of each document are set aside before the run and predicted from the rest of the document and "
        "the topics: exp(- mean log probability of a word). Or whole documents are: then four fifths of each one's "
        "words are seen, and the rest is predicted (completion perplexity).",
        "Lower is better. The fair way to compare methods, alphas and numbers of topics: no run has seen these words.",
        "Small differences are noise: look at several seeds. A vocabulary cut otherwise has another perplexity, so "
        "compare runs on the same words only, and the two kinds not with each other. And good predictions need not "
        "be topics that a person finds clear.",
    ),
    Curve(
        "Documents per second",
        "Speed",
        ":material/speed:",
        "How many documents the run goes through in a second by the clock, over its last five windows or sweeps; the "
        "time "
        "for these curves is left out.",
        "Shown where a run streams. Together with the perplexity against documents or CPU seconds it tells what a "
        "method "
        "makes of its time.",
        "Other work on the machine, other runs among it, slows a run down.",
    ),
    Curve(
        "Topics in use",
        "Topics",
        ":material/workspaces:",
        "Topics that are still in use. A topic that hardly any word is of is dropped.",
        "As a rule it stays at the number you gave: LDA uses all the topics it is allowed.",
        "So it does not find the number of topics for you. Try several, and compare.",
    ),
    Curve(
        "Alpha and beta",
        "Alpha, beta",
        ":material/tune:",
        "Alpha: how many topics a document is made of, the smaller the fewer; its sum over topics is shown. Beta: how "
        "many words a topic is made of. Both are learned unless you hold them fixed.",
        "They settle in the first hundred sweeps or so, and the other curves with them.",
        "An averaged run begins its average only when they have settled.",
    ),
)

_MODEL = """
You have documents, and know how often each uses which word; their order does not matter. **Latent Dirichlet
Allocation** (LDA) explains the words by **topics**. A topic is a distribution over words: in one, *king*, *son* and
*reigned* are frequent, in another *sea*, *wind* and *ship*. A document is a mixture of topics, and each of its words
comes from one of them. What the run finds are the topics' words, the documents' shares of topics, and for each word of
each document how likely it is of which topic.

You choose the number of topics, **K**. Two more numbers say what mixtures are usual. **alpha** is the concentration of
topics in a document: below 1, a document has few topics and little of the others. It is learned for each topic, so that
common topics may be common. **beta** is the same for words in topics: the smaller, the fewer words a topic lives on.

No formula gives this answer exactly. The methods approximate it in different ways, which is why it is worth watching
how they converge and comparing what they end with. Another seed may give somewhat different topics: those that come
back from several seeds are the ones to rely on.
"""

_HELDOUT = """
Before a run, a share of each document's words (10 % unless you say otherwise) is hidden from it, drawn at random with a
seed of its own, so that all runs are judged on the same words. Held-out perplexity says how well they were predicted:
1,000 means as uncertain as a fair choice among 1,000 words. Whole documents can be hidden instead; then four fifths of
each one's words are seen when it is scored, and the rest is predicted. It is the only way where documents stay on disk.
Set the share and the seed on the Data page.
"""

_LOO = """
Leave-one-out (LOO) perplexity needs nothing held out, which makes it tempting as a judge of everything. It is no judge
of **alpha**: it goes on falling as alpha is made smaller, long after held-out perplexity has begun to rise. Do not
choose between runs of different alpha by it. Nor is it one of the **number of topics**: it keeps falling past the
number that predicts held-out words best. Every word's topic was chosen knowing the word, and taking the word out of the
counts afterwards does not undo that.
"""

_COHERENCE = """
A topic is coherent when its most frequent words stand in the same documents. **NPMI** measures that from -1 (never
together) over 0 (as often as chance would have it) to 1 (always together); **u_mass** does it in logarithms of
conditional frequencies, nearer 0 is better. **Diversity** is the share of the topics' words that no other topic has
among its top words: topics that repeat each other have little. Coherence goes with what people find clear better than
perplexity does, and no run is fitted to it.
"""

_STREAMS = """
CVB0 and its kin look at all words again and again, and remember for each what they thought of it. With millions of
documents that takes more memory than there is, and a first sweep alone takes long. **SDM**, **SCVB0** and **SVB**
*stream*: they take the documents one after another, in a new random order each time round, improve the topics a little
with each, and forget it. Only the topics are kept, so memory does not grow with the number of documents, and these may
stay on disk. One pass over all documents is an **epoch**; often one or a few are enough. The curves have a point for
each **window**, a twentieth of an epoch as a rule.

**alpha** is learned on the way, for each topic, from how well the first words of a document foretell the next: common
topics may then be common, and it need not be guessed. What a run has learned can be taken away as a model, and another
run **goes on** from it: with new documents, whose new words are added, or with another method.

A stream never stands still, for each window pulls the topics its way. The **averaged** streams answer with the running
mean of the topics over the windows after burn-in: it moves less and less, and the run stops by itself.
"""

_METHODS = {
    "vb": "The topics of the words are taken as independent of the documents' mixtures and of the topics' words. Each "
    "sweep raises the lower bound until it stands still, as a rule at a higher perplexity than the others.",
    "cvb": "The mixtures and the topics' words are integrated out (*collapsed*) before approximating, so less is "
    "assumed. The uncertain counts that remain are handled to second order, by mean and variance.",
    "cvb0": "As CVB, with only the means of the counts: faster, and in practice often as good or better. Nothing "
    "guarantees that it settles; it may circle between answers.",
    "acvb": "CVB, and beside it the running mean of its topic probabilities after burn-in. The mean is the answer, and "
    "it is certain to converge.",
    "acvb0": "CVB0, and beside it the running mean of its topic probabilities after burn-in. Fast, accurate, and "
    "certain to converge: the one to start with.",
    "gibbs": "Draws the topic of every single word at random in proportion to its probability, and averages over "
    "the sweeps that are kept. Right in the end, and slow; nobody can tell for certain when the end has come. Here it "
    "is the yardstick.",
    "sdm": "Streams. As CVB0 in a document, with one word taken out at a time; then each of the document's words "
    "moves its own topics a step, the smaller the more often the word was met. From the second epoch on, what the "
    "documents say now takes the place of what they said in the epoch before. Close to CVB0 after one epoch, level "
    "with it after a few, with hardly anything to set: the stream to start with.",
    "scvb0": "Streams. Running means of CVB0's counts, within a document and from minibatch to minibatch. How fast it "
    "learns depends on steps that are worth tuning.",
    "svb": "Streams. VB on minibatches: topics are pulled towards what the minibatch alone would have them be. The "
    "best known of the streams, at a higher perplexity than the others as a rule.",
    "asdm": "SDM, answered by the running mean of its topics over the windows: certain to converge, and steadier.",
    "ascvb0": "SCVB0, answered by the running mean of its topics over the windows: certain to converge.",
    "asvb": "SVB, answered by the running mean of its topics over the windows: certain to converge.",
}

_CONVERGENCE = """
- **VB** has converged when the lower bound changes, relative to its size, by less than the tolerance in a sweep.
- **CVB** and **CVB0** have no bound that must rise. They are judged by the relative change of the pseudo leave-one-out
  log likelihood, the logarithm behind LOO perplexity.
- **ACVB** and **ACVB0** have converged when the averaged topic probabilities change by less than the tolerance. This
  is certain to happen: the mean over *s* sweeps moves by at most 2/*s* in a sweep, so 2 / tolerance averaged sweeps are
  always enough. The sweep limit may end a run before that; it then says so.
- A mean of many sweeps may stand still while the sweeps circle around it. So a converged averaged run also says which
  it is. **Settled**: the last sweep is less than 0.01 away from the mean (mean over the words, L1). **Still moving
  around its mean**: it is farther away.
- **Gibbs** sampling runs for the chosen number of sweeps, and **SDM**, **SCVB0** and **SVB** for the number of
  epochs.
- The **averaged streams** have converged when the mean of their topics over the windows changes by less than the
  tolerance in a window; by at most 2/*s* after *s* windows, so this is certain to happen, too.

Convergence says that going on would change little. It does not say that the topics are the only ones, or the best:
another seed may converge elsewhere.
"""

_BURN_IN = """
The first sweeps depend on where a run started, so the averaged methods leave them out of the mean. By itself, burn-in
ends when the topic probabilities have settled (moving by less than 0.001 in a sweep), after 100 sweeps at the latest,
and not while alpha and beta are still on the move. If a topic is dropped later, averaging begins anew.
"""

_LEARNING = """
alpha and beta are learned by Minka's fixed point every few sweeps, until they stand still. An uncertain count adds to
them only as far as it is likely not to be zero: without that, the many tiny counts of the variational methods would
push alpha far too high. Choose *fixed* among the advanced settings to keep what you enter.
"""

_MEMORY = """
CVB0 and CVB keep a probability for every topic and every pair of document and word, the averaged ones a second time for
its mean. The form shows what that takes. Switch *Average every responsibility* off to save about half: the topics are
averaged all the same, and the change of the mean is then that of the averaged counts. Streams keep the topics of the
vocabulary only.
"""

_BLANKS = """
Words are found by the blanks and signs between them. Chinese, Japanese, Thai, Lao, Khmer and Burmese are written
without blanks, so that whole sentences would count as words; the Data page warns of that. Put blanks between the words
first, and set *Word pattern (regex)* to `\\w+`, which keeps words of one letter. In Python give the function that cuts
your language, `load_corpus(texts, tokeniser=jieba.lcut)` for instance, or give every document as a list of its words.
"""

TEXTS = ModelWords(
    model=_MODEL,
    asides=(
        ("More documents than fit into memory: streams", _STREAMS),
        ("Languages without blanks between words", _BLANKS),
        ("Held-out words", _HELDOUT),
        ("What leave-one-out does not tell", _LOO),
        ("Coherence and diversity", _COHERENCE),
    ),
    methods=_METHODS,
    curves=_CURVES,
    convergence=_CONVERGENCE,
    notes=(("Burn-in", _BURN_IN), ("Learning alpha and beta", _LEARNING), ("Memory", _MEMORY)),
)
