"""The files of a run on a relation or network: all that the Blocks page shows."""

from __future__ import annotations

from acvb_core.engine.result import Result
from acvb_core.models.irm.export import responsibilities_frame
from acvb_core.models.irm.figures.arrangement import Arrangement, Window, cluster_table
from acvb_core.models.irm.figures.blocks import block_figure, block_png
from acvb_core.models.irm.figures.network_layout import why_too_large
from acvb_core.store import export
from acvb_core.store.export import add_known_labels, compare_known_labels, csv_text
from acvb_core.views.theme import to_html
from pages.ui.irm.block_network import draw_groups, draw_nodes
from pages.ui.shared.picking import FileOffer, Key

CSV, HTML = "text/csv", "text/html"


def list_files(key: Key, result: Result, arrangement: Arrangement, window: Window | None) -> list[FileOffer]:
    """Return the files; the pairs of the link prediction stand below their tables."""
    title = f"{result.prepared.data.name}: {result.label}"

    def soft(domain: str) -> str:
        return csv_text(responsibilities_frame(result, domain))

    def page() -> str:
        return to_html(block_figure(arrangement, window=window, height=900), title)

    def picture() -> bytes:
        return block_png(arrangement, window=window)

    def rows() -> str:
        return csv_text(add_known_labels(result))

    if "cols" in result.posterior.n_clusters():
        found = [
            FileOffer("Row clusters", "rows.csv", CSV, rows),
            FileOffer("Column clusters", "columns.csv", CSV, lambda: csv_text(result.columns)),
            FileOffer(
                "Cluster probabilities of the rows", "responsibilities-rows.csv", CSV, lambda: soft("rows")
            ),
            FileOffer(
                "Cluster probabilities of the columns",
                "responsibilities-columns.csv",
                CSV,
                lambda: soft("cols"),
            ),
        ]
    else:
        found = [
            FileOffer("Nodes and their clusters", "nodes.csv", CSV, rows),
            FileOffer("Cluster probabilities", "responsibilities.csv", CSV, lambda: soft("rows")),
            FileOffer("Clusters", "clusters.csv", CSV, lambda: csv_text(cluster_table(arrangement))),
        ]
    found.append(
        FileOffer("Link probabilities of the blocks", "blocks.csv", CSV, lambda: csv_text(result.blocks))
    )
    if result.prepared.data.attributes:
        found.append(
            FileOffer(
                "Agreement with known labels",
                "agreement.csv",
                CSV,
                lambda: csv_text(compare_known_labels(result)),
            )
        )
    found += [
        FileOffer("Matrix, interactive", "matrix.html", HTML, page),
        FileOffer("Matrix, picture", "matrix.png", "image/png", picture),
        *_list_graphs(key, result, title),
        FileOffer("The run", "run.json", "application/json", lambda: export.run_json(result)),
    ]
    return found


def _list_graphs(key: Key, result: Result, title: str) -> list[FileOffer]:
    if "cols" in result.posterior.n_clusters():
        return []
    found = [
        FileOffer(
            "Clusters, interactive",
            "groups.html",
            HTML,
            lambda: to_html(draw_groups(key, None, result), title),
        )
    ]
    if why_too_large(result.prepared.data) is None:
        found.append(
            FileOffer(
                "Nodes, interactive",
                "nodes.html",
                HTML,
                lambda: to_html(draw_nodes(key, None, result), title),
            )
        )
    return found
