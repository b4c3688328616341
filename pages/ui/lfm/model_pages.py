"""The pages of tables of numbers."""

from __future__ import annotations

from acvb_core.evaluate.split import MAX_ENTRIES
from pages.ui.lfm.compare_features import compare_features
from pages.ui.lfm.overview_table import summarise_table
from pages.ui.lfm.upload_table import TableReader
from pages.ui.lfm.words_table import TABLES
from pages.ui.shared.model_pages import AnswerPage, Demonstration, HeldOut, ModelPages

USES = {
    "fab": "To read features. Fast, and finds their number by itself.",
    "em": "Uses every feature that it is given. A contrast to FAB, which drops those that are not needed.",
    "vb": "To know how sure each weight is.",
    "ibp": "To predict cells, by the mean of many samples. Without a limit to the number of features; slower.",
    "meibp": "For features that only add and never subtract.",
}

ACRONYMS = (
    "FAB: factorized asymptotic Bayes. EM: expectation maximisation. VB: variational Bayes. IBP: Indian buffet "
    "process. MEIBP: maximisation-expectation IBP."
)

MODEL_PAGES: dict[str, ModelPages] = {
    "lfm": ModelPages(
        model="lfm",
        data_name="A table of numbers",
        group="Table",
        answer=AnswerPage(
            path="pages/features.py",
            title="Features",
            icon=":material/layers:",
            start="A run finds features that objects have or do not have, and what each adds.",
            needs="This page is for tables with objects in rows and numbers in columns; cells may be missing.",
            first=(
                "A run explains the rows of a table of numbers by features. Choose a table first, or try the example."
            ),
        ),
        promise="the features in a table",
        # The other cells of a row tell enough of those that are hidden.
        held_out=HeldOut("the known cells", usual_share=0.3, about="About ", most=MAX_ENTRIES),
        demonstration=Demonstration(
            sample="digits",
            methods=("fab", "em", "vb"),
            values={},
            label="Find the features of digits",
            help="A table: pictures of 1,797 handwritten digits, 30 % of the cells hidden. Runs FAB, EM and VB.",
            key="sample_features",
        ),
        words=TABLES,
        files="**A table of numbers**, to find features in:\n"
        "- **CSV or TSV** with a row for each object, **NumPy** or **SciPy** files; cells may be missing;\n"
        "- columns of a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file;\n"
        "- columns of text are coded or left out, and pixels are shown as pictures.",
        summary=summarise_table,
        reader=TableReader(),
        compare=compare_features,
        uses=USES,
        acronyms=ACRONYMS,
    ),
}
