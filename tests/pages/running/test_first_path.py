"""From one's own file to an answer in five presses, with the recommended method and its usual settings."""

from __future__ import annotations

import numpy as np
import pytest

from acvb_core.registry import method_row
from tests.pages.session import Open, jobs_of, press, texts, until

LINKS = "person,event\n" + "".join(f"p{i},e{j}\n" for i in range(12) for j in range(8) if (i < 6) == (j < 4))
_WORDS = (
    ["river", "water", "fish", "boat", "bridge", "stream"],
    ["music", "piano", "song", "voice", "concert", "choir"],
)


def _texts() -> str:
    rng = np.random.default_rng(0)
    return "text\n" + "".join(f'"{" ".join(rng.choice(_WORDS[i % 2], 60))}"\n' for i in range(40))


def _table() -> str:
    rng = np.random.default_rng(0)
    cells = (rng.random((80, 1)) < 0.5) * np.array([5.0, 5.0, -5.0, 5.0]) + rng.normal(size=(80, 4))
    return "a,b,c,d\n" + "".join(",".join(f"{cell:.3f}" for cell in line) + "\n" for line in cells)


@pytest.mark.parametrize(
    ("name", "content", "method", "page", "answer"),
    [
        ("links.csv", LINKS, ("irm", "acvb0"), "Blocks", "2 × 2 clusters. Converged."),
        ("texts.csv", _texts(), ("lda", "acvb0"), "Topics", "topics. "),
        ("table.csv", _table(), ("lfm", "fab"), "Features", "1 feature. Converged."),
    ],
)
def test_an_upload_leads_to_its_answer_in_five_presses(
    open_app: Open, name: str, content: str, method: tuple[str, str], page: str, answer: str
) -> None:
    app = press(open_app(), "begin_upload")
    app.file_uploader(key="upload").upload(name, content.encode()).run()
    press(app, "load_and_run")
    press(app, "start")
    (job,) = jobs_of(app)
    row = method_row(*method)
    assert job.prepared.row == row
    assert job.prepared.spec.values == row.values({})
    until(app, lambda: job.inspect().verdict is not None)
    press(app.run(), f"open_{job.id}")
    assert app.title[0].value == page
    assert answer in texts(app)
