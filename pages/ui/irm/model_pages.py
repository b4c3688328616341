"""The pages of relations and networks."""

from __future__ import annotations

from acvb_core.evaluate.split import MAX_ENTRIES
from pages.ui.irm.block_matrix import compare_blocks, draw_picture
from pages.ui.irm.overview_relation import describe_lost_weights, summarise_network, summarise_relation
from pages.ui.irm.upload_relation import RelationReader
from pages.ui.irm.words_relation import NETWORK, RELATION
from pages.ui.shared.model_pages import AnswerPage, Demonstration, HeldOut, ModelPages
from pages.ui.shared.words import CVB_ACRONYMS, CVB_USES

BLOCKS = AnswerPage(
    path="pages/blocks.py",
    title="Blocks",
    icon=":material/grid_view:",
    start="A run sorts the objects into clusters, and this page shows the blocks they make.",
    needs="This page is for relations and networks.",
    first="A run sorts rows and columns, or nodes, into clusters, and this page shows the blocks they make. Choose a "
    "relation or network first, or try the example.",
)
METHODS = ("acvb0", "cvb0", "vb")
USES = {
    **CVB_USES,
    "vb": "The classic method. Use it if you need a bound that rises in every sweep; often too sure of itself.",
    "gibbs": "Sampling. The mean of its samples predicts well, but its clusters are harder to read, and it never says "
    "when it is done.",
}

MODEL_PAGES: dict[str, ModelPages] = {
    "irm": ModelPages(
        model="irm",
        data_name="A relation",
        group="Relation",
        answer=BLOCKS,
        promise="the clusters in a relation or network",
        held_out=HeldOut("the known entries", most=MAX_ENTRIES),
        demonstration=Demonstration(
            sample="debtag_games",
            methods=METHODS,
            values={},
            label="Find the clusters of games and tags",
            help="A relation: 937 games and the 178 tags that describe them. Runs ACVB0, CVB0 and VB.",
            key="sample_comparison",
        ),
        words=RELATION,
        files="**A relation**, to find blocks in it:\n"
        "- an **edge list**: one line for each link, with its two objects and, optionally, a value;\n"
        "- a **matrix** of 0 and 1, yes and no, or counts; empty cells are unknown;\n"
        "- **MatrixMarket** and **SciPy .npz** files;\n"
        "- columns of a **Parquet**, **Arrow**, **Excel**, **JSON Lines** or **SQLite** file.",
        summary=summarise_relation,
        reader=RelationReader(),
        compare=compare_blocks,
        uses=USES,
        acronyms=CVB_ACRONYMS,
        picture=draw_picture,
        kind="Infinite Relational Model",
        kinds_help="**Infinite Relational Model**: whether two objects are linked. **Poisson block model**: how often, "
        "by the weights of links. It can also correct for hubs, so that clusters are about whom objects are linked "
        "to, rather than how active they are. Compare shows which predicts links better.",
        way="Two clusterings, rows and columns apart",
        short_way="two clusterings",
        ways_help="One clustering: a node is in one cluster, whether it sends or receives links. Two: it is in one as "
        "a sender and in another as a receiver. Compare shows which predicts better.",
        about_data=describe_lost_weights,
    ),
    "network": ModelPages(
        model="network",
        data_name="A network",
        group="Network",
        answer=BLOCKS,
        icon=":material/hub:",
        held_out=HeldOut("the known pairs", most=MAX_ENTRIES),
        demonstration=Demonstration(
            sample="les_miserables",
            methods=METHODS,
            values={},
            label="Find the clusters of a network",
            help="A network: which characters of Les Misérables appear together. Runs ACVB0, CVB0 and VB.",
            key="sample_network",
        ),
        words=NETWORK,
        files="**A network**, whose rows and columns are the same objects, to find clusters in it:\n"
        "- any of these, with the same names in rows and columns;\n"
        "- **GraphML**, **GML** and **Pajek** files.",
        summary=summarise_network,
        compare=compare_blocks,
        uses=USES,
        acronyms=CVB_ACRONYMS,
        picture=draw_picture,
        kind="Infinite Relational Model",
        way="One clustering of the nodes",
        short_way="one clustering",
        about_data=describe_lost_weights,
    ),
}
