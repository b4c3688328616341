"""The app's explanations, in plain words: each is written once and shown wherever it is asked for.

The explanations of each model are in its own folder.
"""

from __future__ import annotations

from typing import NamedTuple

#: How the samples of a run are judged.
CHAIN_HELP = (
    "Each sample of a chain resembles the one before, so all together are worth fewer independent ones. R-hat compares "
    "the first half of the chain with the second: near 1, they agree; above 1.1, the chain has not mixed. Both figures "
    "are the worst of what was measured. One chain cannot show what another seed may find: run more seeds."
)


class Curve(NamedTuple):
    """The explanation of a curve: what it is, how to read it, and what it does not say."""

    name: str
    short: str
    icon: str
    what: str
    read: str
    beware: str

    @property
    def advice(self) -> tuple[str, str]:
        """Paragraphs, Markdown: how to read it, and what it does not say."""
        return f":green[**How to read it.**] {self.read}", f":orange[**Beware.**] {self.beware}"


class ModelWords(NamedTuple):
    """The explanations of one model."""

    model: str  #: what it is
    asides: tuple[tuple[str, str], ...]  #: more about it: heading and text
    methods: dict[str, str]  #: by name
    curves: tuple[Curve, ...]  #: its diagnostics
    convergence: str  #: how each method is judged
    notes: tuple[tuple[str, str], ...]  #: further headings and texts about how a run proceeds
    advice: tuple[tuple[str, str], ...] = ()  #: which method to take: heading and text


#: When to use the methods that relations and texts share, and what their names mean.
CVB_USES = {
    "acvb0": "Fast, accurate, and certain to converge.",
    "acvb": "A more exact update than ACVB0's, and slower. Use it to check ACVB0.",
    "cvb0": "A quick look, without the average of ACVB0. It may circle and never converge.",
    "cvb": "A more exact update than CVB0's. Use it to compare with published results.",
}
CVB_ACRONYMS = (
    "VB: variational Bayes. CVB: collapsed variational Bayes. Suffix 0: uses mean counts only, which is faster. "
    "Prefix A: averaged, which always converges."
)

KEEPING_TEXT = """
- Runs continue when you close the tab, and finished runs are stored on this machine. Nothing leaves it.
- Your browser finds its workspace again. Another browser has its own.
- The address of a page names the workspace (`ws=…`) and the data in use (`data=…`), so a bookmark leads back to both.
- Each tab of the browser has its own data in use. A new tab begins with the data that you used last.
"""

#: Works, with their links, and what this program has from them.
REFERENCES: tuple[tuple[str, str], ...] = (
    (
        "K. Ishiguro, I. Sato, N. Ueda (2017). Averaged Collapsed Variational Bayes Inference. Journal of Machine "
        "Learning Research 18. [jmlr.org/papers/v18/](https://jmlr.org/papers/v18/)",
        "The averaging, its convergence and the experiments this program follows.",
    ),
    (
        "K. Ishiguro, I. Sato, N. Ueda (2014). Collapsed Variational Bayes Inference of Infinite Relational Model. "
        "arXiv:1409.4757. [arxiv.org/abs/1409.4757](https://arxiv.org/abs/1409.4757)",
        "VB, CVB and CVB0 for the IRM.",
    ),
    (
        "C. Kemp, J. B. Tenenbaum, T. L. Griffiths, T. Yamada, N. Ueda (2006). Learning Systems of Concepts with an "
        "Infinite Relational Model. AAAI.",
        "The model of relations, and Gibbs sampling for it.",
    ),
    (
        "B. Karrer, M. E. J. Newman (2011). Stochastic blockmodels and community structure in networks. Physical "
        "Review E 83, 016107.",
        "Blocks of counts, corrected for the activity of objects.",
    ),
    (
        "T. P. Peixoto (2017). Nonparametric Bayesian inference of the microcanonical stochastic block model. Physical "
        "Review E 95, 012317.",
        "A related model of counts, with priors on the degrees: that of graph-tool.",
    ),
    (
        "Y. W. Teh, D. Newman, M. Welling (2007). A Collapsed Variational Bayesian Inference Algorithm for Latent "
        "Dirichlet Allocation. NIPS 19 (2006).",
        "Where collapsed variational Bayes comes from: CVB for LDA.",
    ),
    (
        "A. Asuncion, M. Welling, P. Smyth, Y. W. Teh (2009). On Smoothing and Inference for Topic Models. UAI.",
        "Where CVB0 comes from, and how the methods for LDA compare.",
    ),
    (
        "D. M. Blei, A. Y. Ng, M. I. Jordan (2003). Latent Dirichlet Allocation. Journal of Machine Learning "
        "Research 3.",
        "The model of topics, and VB for it.",
    ),
    (
        "T. L. Griffiths, M. Steyvers (2004). Finding scientific topics. PNAS 101.",
        "Gibbs sampling for LDA, and the bars among the samples.",
    ),
    (
        "M. D. Hoffman, D. M. Blei, C. Wang, J. Paisley (2013). Stochastic Variational Inference. Journal of Machine "
        "Learning Research 14.",
        "SVB: topics from streams of documents.",
    ),
    (
        "J. Foulds, L. Boyles, C. DuBois, P. Smyth, M. Welling (2013). Stochastic Collapsed Variational Bayesian "
        "Inference "
        "for Latent Dirichlet Allocation. KDD.",
        "SCVB0: the same for CVB0.",
    ),
    (
        "I. Sato, H. Nakagawa (2015). Stochastic Divergence Minimization for Online Collapsed Variational Bayes Zero "
        "Inference of Latent Dirichlet Allocation. KDD.",
        "SDM, and what CVB0 minimises.",
    ),
    (
        "H. M. Wallach, D. Mimno, A. McCallum (2009). Rethinking LDA: Why Priors Matter. NIPS 22.",
        "Why alpha differs from topic to topic and beta does not from word to word.",
    ),
    (
        "C. Sievert, K. E. Shirley (2014). LDAvis: A method for visualizing and interpreting topics. ACL workshop.",
        "Ranking the words of a topic by relevance.",
    ),
    (
        "K. Hayashi, R. Fujimaki (2013). Factorized Asymptotic Bayesian Inference for Latent Feature Models. NIPS 26.",
        "FAB: latent features whose number is found.",
    ),
    (
        "T. L. Griffiths, Z. Ghahramani (2011). The Indian Buffet Process: An Introduction and Review. Journal of "
        "Machine Learning Research 12.",
        "Latent features without a limit to their number.",
    ),
    (
        "F. Doshi-Velez, K. T. Miller, J. Van Gael, Y. W. Teh (2009). Variational Inference for the Indian Buffet "
        "Process. AISTATS.",
        "VB for latent features.",
    ),
    (
        "F. Doshi-Velez, Z. Ghahramani (2009). Accelerated Sampling for the Indian Buffet Process. ICML.",
        "Gibbs sampling of latent features.",
    ),
    (
        "C. Reed, Z. Ghahramani (2013). Scaling the Indian Buffet Process via Submodular Maximization. ICML.",
        "MEIBP: features that only add.",
    ),
)
