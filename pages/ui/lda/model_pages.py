"""The pages of texts."""

from __future__ import annotations

from acvb_core.evaluate.split import MOST_DOCUMENTS, OBSERVED
from pages.ui.lda.compare_topics import compare_topics
from pages.ui.lda.overview_texts import summarise_corpus
from pages.ui.lda.run_settings import choose_start, show_tuning
from pages.ui.lda.upload_texts import TextReader
from pages.ui.lda.words_texts import TEXTS
from pages.ui.shared import format as say
from pages.ui.shared.model_pages import (
    AnswerPage,
    Demonstration,
    FurtherPage,
    HeldOut,
    ModelPages,
    WholeObjects,
)
from pages.ui.shared.words import CVB_ACRONYMS, CVB_USES

USES = {
    **CVB_USES,
    "cvb_exact": "The update that CVB and CVB0 approximate, a thousand times slower. Use it on a small corpus to see "
    "how close they come.",
    "vb": "The classic method. Use it if you need a bound that rises in every sweep.",
    "gibbs": "Sampling. A yardstick for small data, where time does not matter.",
    "sdm": "For more texts than fit into memory: good topics after one pass, with hardly anything to set.",
    "scvb0": "A stream whose learning rates you tune.",
    "svb": "The best-known stream. Use it to compare with published results.",
    "asdm": "SDM with an average: steadier, and it stops by itself.",
    "ascvb0": "SCVB0 with an average: it stops by itself.",
    "asvb": "SVB with an average: it stops by itself.",
}

ACRONYMS = f"{CVB_ACRONYMS} Prefix S: stochastic, for streams. SDM: stochastic divergence minimisation."

MODEL_PAGES: dict[str, ModelPages] = {
    "lda": ModelPages(
        model="lda",
        data_name="Texts",
        group="Texts",
        answer=AnswerPage(
            path="pages/topics.py",
            title="Topics",
            icon=":material/topic:",
            start="A run finds out which words go together, and which documents they are in.",
            needs="This page is for texts, and for counts of words in documents.",
            first="A run finds out which words of your texts go together. Choose texts first, or try the example.",
        ),
        promise="the topics in texts",
        held_out=HeldOut(
            "each document's words",
            about="About ",
            whole=WholeObjects(
                one="document",
                choices=("Words of each document", "Whole documents"),
                help="Words of each document: tests how well a run fills gaps in documents it knows. Whole documents: "
                "tests how well the topics fit documents that no run has seen. Only runs with the same choice, share "
                "and seed can be compared.",
                usual_share=0.02,  # many documents are streamed, and a few predict as reliably
                most=MOST_DOCUMENTS,
                scored=(
                    f"To score a document, {say.percent(OBSERVED)} of its words are shown and the rest is predicted."
                ),
            ),
        ),
        demonstration=Demonstration(
            sample="bible",
            methods=("acvb0", "cvb0", "vb"),
            values={"k": 20},
            label="Find topics in the Bible",
            help="Texts: the 1,189 chapters of the Bible. Runs ACVB0, CVB0 and VB with 20 topics.",
            key="sample_topics",
        ),
        words=TEXTS,
        files="**Texts**, to find topics in:\n"
        "- a **table** with a column of texts, **one document per line**, or a **zip** of .txt files;\n"
        "- **word counts**: document, word, count on each line, UCI docword or LDA-C;\n"
        "- either in a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file;\n"
        "- texts that do not fit into memory are kept on disk and streamed.",
        summary=summarise_corpus,
        reader=TextReader(),
        compare=compare_topics,
        clustered_by="Each document counts for its largest topic. ",
        uses=USES,
        acronyms=ACRONYMS,
        recommended_on_disk="sdm",
        less_memory="SDM, SCVB0 and SVB keep only the topics and need far less.",
        start_from=choose_start,
        tuning=show_tuning,
        further=(FurtherPage("pages/how_many.py", "How many topics?", ":material/stacked_line_chart:"),),
    ),
}
