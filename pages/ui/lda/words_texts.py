"""Explanations for texts: Latent Dirichlet Allocation, its curves and its methods."""

from __future__ import annotations

from pages.ui.shared.words import Curve, ModelWords

_CURVES = (
    Curve(
        "Lower bound",
        "Bound",
        ":material/trending_up:",
        "How well the topics explain the words, after a charge for complexity: a lower bound on the log probability of "
        "all words, in nats (natural logarithms). For averaged methods it is the bound of the average.",
        "Higher is better, between runs with the same number of topics on the same words. VB raises it in every sweep.",
        "The bounds of CVB, CVB0 and their averaged forms may dip, and the bound does not show how well new words are "
        "predicted. It is slow to compute, so only some sweeps have it.",
    ),
    Curve(
        "Leave-one-out perplexity",
        "Leave-one-out",
        ":material/filter_1:",
        "Each word of each document is predicted from all the others. A perplexity of 1,000 means: as uncertain as a "
        "fair choice among 1,000 words.",
        "Lower is better. CVB and CVB0 have converged when its logarithm stops changing.",
        "For a stream it belongs to the last window, so it jumps from window to window. Do not choose alpha by it: the "
        "other words have already adapted to the one left out, so it keeps falling when alpha is far too small. Use "
        "held-out perplexity.",
    ),
    Curve(
        "Change in assignments",
        "Change",
        ":material/waves:",
        "How much the topic probabilities of a word in a document (written *q*) changed in a sweep, averaged over all "
        "words. 0: not at all. 2: all words moved to other topics. For a stream: how much the topics' word counts "
        "changed in a window.",
        "Thin line: the sweeps themselves. Thick line: their average. The sweeps may keep changing for ever, as CVB0 "
        "can circle. The average cannot: ACVB0 and ACVB have converged when its change falls below the tolerance.",
        "An average over s sweeps changes by at most 2/s, whatever the sweeps do (dotted line). Hover over the curve "
        "to see the change times s. If that falls to 0, the sweeps agree with the average; if it stays level, they "
        "keep moving around it.",
    ),
    Curve(
        "Held-out perplexity",
        "Held-out",
        ":material/quiz:",
        "How well the run predicts words that were hidden from it, given the rest of the document: exp(- mean log "
        "probability of a word). If whole documents are hidden, four fifths of each one's words are shown when it is "
        "scored, and the rest is predicted.",
        "Lower is better. This is the fair way to compare methods, alphas and numbers of topics, because no run has "
        "seen these words.",
        "Small differences are noise: try several seeds. Compare only runs on the same words, with the same kind of "
        "hiding. And good predictions need not mean topics that are easy to read.",
    ),
    Curve(
        "Documents per second",
        "Speed",
        ":material/speed:",
        "How many documents the run processes in a second of clock time, over its last five windows or sweeps. Time "
        "spent on these curves is left out.",
        "Shown for streams. Together with perplexity against documents or CPU seconds, it shows how well a method uses "
        "its time.",
        "Other work on the machine slows a run down, other runs included.",
    ),
    Curve(
        "Topics in use",
        "Topics",
        ":material/workspaces:",
        "Topics that hold at least one word of the texts. The others are empty, so no page or file gives them words.",
        "It usually stays at the number you chose: LDA uses all the topics it may.",
        "So it does not find the number of topics for you. Try several numbers and compare.",
    ),
    Curve(
        "Alpha and beta",
        "Alpha, beta",
        ":material/tune:",
        "Alpha: how many topics a document mixes; smaller means fewer. The curve shows its sum over topics. Beta: how "
        "many words a topic uses. Both are learned unless you fix them.",
        "They usually level off in the first hundred sweeps, and the other curves with them.",
        "An averaged run starts its average only after that.",
    ),
)

_MODEL = """
You have documents, and you know how often each uses which word. The order of words does not matter. **Latent Dirichlet
Allocation** (LDA) explains the words by **topics**:

- A topic says how likely each word is: in one, *king*, *son* and *reigned* are frequent, in another *sea*, *wind* and
  *ship*.
- A document is a mixture of topics. Each of its words comes from one of them.

A run finds the words of each topic, the share of each topic in each document, and the probability of each topic for
each word of a document.

You choose the number of topics, **K**. Two more numbers, the *concentrations*, are learned:

- **alpha** says how many topics a document mixes. Below 1, each document has a few main topics. Each topic has its own
  alpha, so some topics may be more common than others.
- **beta** says how many words a topic uses: the smaller, the fewer.

No formula gives the exact answer. The methods approximate it in different ways, so compare their results. Another seed
may give somewhat different topics. *How sure?* on the Topics page shows which come back with several seeds.
"""

_HELDOUT = """
- Before a run, a share of each document's words is hidden from it: 10 % by default.
- They are drawn at random, with a seed of its own. So all runs are judged on the same words.
- You can hide whole documents instead. Four fifths of each one's words are then shown when it is scored, and the rest
  is predicted. Documents kept on disk can only be hidden whole.
- Set the share and the seed on the Data page.
"""

_LOO = """
Do not choose **alpha** or the **number of topics** by leave-one-out perplexity. It keeps falling as alpha gets smaller,
and with more topics than predict held-out words best.

The reason: the topic of each word was chosen with that word in view. Removing the word from the counts afterwards does
not undo that.
"""

_COHERENCE = """
A topic is coherent if its most frequent words occur in the same documents.

- **NPMI** (normalised pointwise mutual information) measures this: -1 never together, 0 as often as by chance, 1 always
  together.
- **u_mass** does the same with logarithms of conditional frequencies. Closer to 0 is better.
- **Diversity** is the share of different words among the top words of all topics. It is low if topics repeat each
  other.

Coherence matches what people call a clear topic better than perplexity does. No run optimises it.
"""

_STREAMS = """
CVB0 and its relatives read all words again and again, and remember a result for each. Millions of documents would take
more memory than there is. **SDM**, **SCVB0** and **SVB** *stream* instead:

- They read one document after another, in a new random order each time. Each improves the topics a little, and is
  forgotten.
- Only the topics are kept. So memory does not grow with the number of documents, and these may stay on disk.
- One pass over all documents is an **epoch**. One or a few are often enough.
- The curves have a point for each **window**, usually a twentieth of an epoch.
- **alpha** is learned on the way, from how well the first words of a document predict the next.

What a run has learned can be downloaded as a model. Another run can **start from** it: with new documents, whose new
words are added, or with another method.

Each window changes the topics of a stream. **Averaged** streams answer with the average of the topics after burn-in
(the first windows). It changes less and less, so the run stops by itself.
"""

_METHODS = {
    "vb": "Variational Bayes. It treats the topics of words as independent of the documents' mixtures and the topics' "
    "words. Every sweep raises the lower bound until it stops rising, usually at a higher perplexity than the others.",
    "cvb": "Collapsed variational Bayes. It sums over the mixtures and the topics' words first (*collapsing*), so it "
    "assumes less than VB. It follows the mean and the variance of the uncertain counts.",
    "cvb_exact": "CVB without its approximation: the expectations are computed exactly. It is a thousand times slower, "
    "so use it on small corpora, to see how close CVB and CVB0 come.",
    "cvb0": "Like CVB, but it follows only the means of the counts: faster, and often as good or better. It may circle "
    "between answers and never come to rest.",
    "acvb": "Averaged CVB. Runs CVB and averages its topic probabilities once the first sweeps (*burn-in*) are over. "
    "The average is the answer, and it always converges.",
    "acvb0": "Averaged CVB0. Runs CVB0 and averages its topic probabilities once the first sweeps (*burn-in*) are "
    "over. Fast, accurate and certain to converge: start with this one.",
    "gibbs": "Gibbs sampling. Draws the topic of every single word at random by its probability, and averages over the "
    "sweeps that are kept. Exact in the long run, but slow, and nobody knows for certain when it is done. Use it as "
    "a yardstick.",
    "sdm": "Stochastic divergence minimisation: the stream to start with. Inside a document it works like CVB0; then "
    "each word moves its own topics a step. The steps shrink the more often a word is met. From the second epoch on, "
    "new results replace those of the epoch before. Close to CVB0 after one epoch, with hardly anything to set.",
    "scvb0": "Stochastic CVB0, a stream. It averages CVB0's counts within a document and across small batches. Its "
    "speed depends on learning rates that are worth tuning.",
    "svb": "Stochastic variational Bayes, a stream. VB on small batches: each batch pulls the topics towards its own. "
    "The best known stream, usually at a higher perplexity than the others.",
    "asdm": "Averaged SDM. Answers with the average of its topics over the windows: certain to converge, and steadier.",
    "ascvb0": "Averaged SCVB0. Answers with the average of its topics over the windows: certain to converge.",
    "asvb": "Averaged SVB. Answers with the average of its topics over the windows: certain to converge.",
}

_CONVERGENCE = """
- **VB** has converged when a sweep changes the lower bound, relative to its size, by less than the tolerance.
- **CVB** and **CVB0** have no bound that must rise. They have converged when the relative change of the logarithm
  behind leave-one-out perplexity is below the tolerance.
- **ACVB** and **ACVB0** have converged when the averaged topic probabilities change by less than the tolerance. This
  always happens: an average over *s* sweeps changes by at most 2/*s* in a sweep, so 2 / tolerance averaged sweeps are
  enough. If the sweep limit ends a run before that, the run says so.
- A converged average is **settled** if the last sweep is within 0.01 of it (mean L1 distance over the words).
  Otherwise **fluctuations remain**: the sweeps still move around it.
- **Gibbs** sampling runs for the number of sweeps you choose; **SDM**, **SCVB0** and **SVB** for the number of epochs.
- **Averaged streams** have converged when the average of their topics changes by less than the tolerance in a window.
  After *s* windows it changes by at most 2/*s*, so this always happens, too.

Convergence means that more sweeps would change little. Another seed may find other topics: *Run 3 more seeds* on the
Topics page shows which come back.
"""

_BURN_IN = """
The first sweeps depend on where the run started, so averaged methods leave them out (*burn-in*). By default, burn-in
ends when the topic probabilities change by less than 0.001 in a sweep, and after 100 sweeps at the latest. It continues
while alpha and beta still change. If a topic is dropped later, averaging starts again.
"""

_LEARNING = """
- alpha and beta are learned by Minka's fixed point every few sweeps, until they stop changing.
- An uncertain count adds to them only as far as it is likely not to be zero. Without that, many tiny counts would push
  alpha far too high.
- Choose *fixed* in the advanced settings to keep the values you enter.
"""

_MEMORY = """
- CVB0 and CVB keep a probability for every topic and every pair of document and word. Averaged methods keep it twice.
  The form shows how much memory that takes.
- Switch off *Average the topics of every word* to save about half. The topics are still averaged, and the change shown
  is then that of the averaged counts.
- Streams keep only the topics' words.
"""

_BLANKS = """
Words are found by the blanks and punctuation between them. Chinese, Japanese, Thai, Lao, Khmer and Burmese are written
without blanks. Whole sentences would count as words, and the Data page warns of that. You have two ways:

- Put blanks between the words first, and set *Word pattern (regex)* to `\\w+`, which keeps words of one letter.
- In Python, pass the function that cuts your language, such as `load_corpus(texts, tokeniser=jieba.lcut)`. Or pass
  every document as a list of its words.
"""

TEXTS = ModelWords(
    model=_MODEL,
    asides=(
        ("More documents than fit into memory: streams", _STREAMS),
        ("Languages without blanks between words", _BLANKS),
        ("Held-out words", _HELDOUT),
        ("What leave-one-out cannot tell you", _LOO),
        ("Coherence and diversity", _COHERENCE),
    ),
    methods=_METHODS,
    curves=_CURVES,
    convergence=_CONVERGENCE,
    notes=(("Burn-in", _BURN_IN), ("Learning alpha and beta", _LEARNING), ("Memory", _MEMORY)),
)
