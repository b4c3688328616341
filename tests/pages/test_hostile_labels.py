"""Names of all kinds on every page: none is taken for markup, and none is left unescaped in a figure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from acvb_core.data.corpora.tokenise import Tokeniser
from acvb_core.data.corpus import Corpus
from acvb_core.data.relation import Network, Relation
from acvb_core.data.report import ReadReport
from acvb_core.data.table import Table
from acvb_core.engine.fitting import fit
from acvb_core.engine.prepared import MOST_CHARACTERS, RunLabel, clean_name
from pages.ui.shared import services
from pages.ui.shared.workspace import Dataset, Workspace
from tests.pages.session import WORKSPACE, Open, bring, press
from tests.views.reading import texts_of

#: What HTML, Markdown, LaTeX, Streamlit's signs and Plotly's templates would change.
MARKUP = (
    "<img src=http://evil.example/x.png onerror=alert(1)>", "<b>b</b>", "**b** _i_ [l](http://evil.example)",
    "![x](http://evil.example/i.png)", r"$\frac{1}{2}$", ":smile: :red[x]", "%{x} %{customdata}", "</script><script>",
)  # fmt: skip
NAMES = [*MARKUP, "=1+1", "\u202eturned", "\u0645\u0631\u062d\u0628\u0627", "L" * 10_000]
WHO = [f"{MARKUP[1]} {MARKUP[4]}", f"{MARKUP[2]} {MARKUP[5]}"]  # what the sides of a relation are called
N = len(NAMES)

#: … and what of it Plotly would change.
IN_FIGURES = ("<img", "<b>b<", "</script>", r"$\frac", "%{x} %{c")
FIGURE = "PlotlyChart.spec"
#: … and what of it HTML would change.
IN_HTML, HTML = ("<img", "<b>b<", "</script><script>"), "Html.body"
#: Fields of messages that the browser shows as they are.
PLAIN = (
    "Text.body", "TextInput.default", "TextInput.placeholder", "Selectbox.options", "Selectbox.raw_value",
    "BidiComponent.json", "Dataframe.columns", "MultiSelect.options",
)  # fmt: skip


def halves(seed: int) -> np.ndarray:
    """Links or counts that fall into two groups."""
    rng = np.random.default_rng(seed)
    return rng.random((N, N)) < np.where(np.add.outer(np.arange(N), np.arange(N)) % 2, 0.8, 0.1)


def relation() -> Relation:
    groups = {MARKUP[2]: [MARKUP[i % 3] for i in range(N)]}
    return Relation.build(
        halves(1), row_labels=NAMES, column_labels=[f"{name} c" for name in NAMES], name=NAMES[0] + NAMES[2],
        row_kind=WHO[0], column_kind=WHO[1], attributes=groups,
    )  # fmt: skip


def network() -> Relation:
    links = np.triu(halves(2), 1)
    return Relation.build(links, row_labels=NAMES, name=NAMES[3], row_kind=WHO[1], network=Network(False))


def corpus() -> Corpus:
    return Corpus.build(
        halves(3) * 3 + 1, vocabulary=NAMES, documents=NAMES, texts=NAMES, labels=[*NAMES[:3]] * (N // 3),
        name=NAMES[4] + NAMES[2], tokeniser=Tokeniser(), metadata={NAMES[2]: NAMES},
    )  # fmt: skip


def table() -> Table:
    rng = np.random.default_rng(4)
    values = (rng.random((2 * N, 2)) < 0.5) @ rng.normal(size=(2, N)) * 3 + rng.normal(size=(2 * N, N)) * 0.3
    values[3, 4] = np.nan
    rows = [*NAMES, *(f"{name} again" for name in NAMES)]
    labels = [NAMES[i % 3] for i in range(2 * N)]
    return Table.build(values, rows=rows, columns=NAMES, labels=labels, name=NAMES[6] + NAMES[2])


def strings(message: Message, place: str = "") -> Iterator[tuple[str, str]]:
    """Give every text of a message with the names of the fields that lead to it."""
    for field, value in message.ListFields():
        at = f"{place}{message.DESCRIPTOR.name}.{field.name}"
        for one in value if isinstance(value, (list, tuple)) or hasattr(value, "append") else [value]:
            if isinstance(one, Message):
                yield from strings(one, f"{at}/")
            elif isinstance(one, str):
                yield at, one


def misread(app: AppTest) -> list[tuple[str, str]]:
    """Return the texts of a page in which a name stands as it is, where it would be taken for markup."""
    found = []
    for node in app._tree:
        proto = getattr(node, "proto", None)
        for place, text in strings(proto) if isinstance(proto, Message) else ():
            if place == FIGURE:
                found += [(place, one[:200]) for one in texts_of(json.loads(text)) if has(one, IN_FIGURES)]
            elif place not in PLAIN and has(text, IN_HTML if place == HTML else MARKUP):
                found.append((place, text[:200]))
    return found


def has(text: str, marks: Sequence[str]) -> bool:
    return any(mark in text for mark in marks)


def store_runs(data: Any, method: str, **settings: object) -> None:
    """Put two runs with a note and tags into the workspace, and their data into use."""
    for number in range(2):
        result = fit(data, method, seed=number, heldout=0.1, max_sweeps=5, **settings)
        services.store().save(WORKSPACE, f"{number:012x}", 1e9 + number, result)
        label = RunLabel(clean_name(f"_b_ {number} __c__ {MARKUP[2]}"), MARKUP[3], MARKUP)
        services.store().save_label(WORKSPACE, f"{number:012x}", label)
    Workspace(WORKSPACE).set_dataset(Dataset.fresh(data, ReadReport(data.name, ()), data.name))


def visit_parts(open_app: Open, page: str) -> Iterator[AppTest]:
    """Give a page, and then each of its parts."""
    app = open_app(page)
    yield app
    parts = [group for group in app.get("button_group") if str(group.key).endswith("_part")]
    for option in parts[0].options[1:] if parts else ():
        next(group for group in app.get("button_group") if group.key == parts[0].key).set_value(option).run()
        assert not app.exception
        yield app


@pytest.mark.parametrize(
    ("data", "method", "settings", "pages"),
    [
        pytest.param(relation, "vb", {}, ("home", "data", "run", "compare", "blocks", "runs"), id="relation"),
        pytest.param(network, "vb", {}, ("data", "run", "blocks"), id="network"),
        pytest.param(corpus, "vb", {"k": 3}, ("data", "run", "compare", "topics", "how_many"), id="texts"),
        pytest.param(table, "em", {}, ("data", "run", "compare", "features"), id="table"),
    ],
)
def test_no_name_is_taken_for_markup(
    open_app: Open,
    data: Callable[[], Any],
    method: str,
    settings: dict[str, object],
    pages: tuple[str, ...],
) -> None:
    store_runs(data(), method, **settings)
    for page in pages:
        for app in visit_parts(open_app, page):
            assert misread(app) == [], page


def test_an_uploaded_file_is_no_markup(open_app: Open) -> None:
    lines = [",".join(f'"{name}"' for name in pair) for pair in pairwise([*MARKUP[1:3], *MARKUP])]
    app = bring(
        open_app("data"), f"{MARKUP[4]} {MARKUP[2]}.csv", "\n".join([*lines, *lines[::2]]), "relation"
    )
    assert misread(app) == []
    press(app, "load")
    assert misread(app) == []


def test_nothing_in_the_name_of_a_run_is_markup() -> None:
    names = {
        "_it_ __init__ (_x_)": "it init ( x )",
        "my_data_set 2__3": "my_data_set 2__3",
        "<b>b</b> **b** $x$ `c` ~~d~~ [l](http://e)": "b b b b x c d l (http e)",
        ":smile: #1\n# head | cell": "smile 1 head cell",
        "\u202eturned\x00": "turned",
        "L" * 10_000: "L" * MOST_CHARACTERS,
        "<>": "",
    }
    assert {given: clean_name(given) for given in names} == names
