"""Wordings that made newcomers stop, which no text of the program may use again."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDINGS = (
    "What do you bring?", "This file cannot be read so", "Take it away", "Forget it", "lusters to begin with",
    "Fewest documents", "What a word is", "begin anew", "The two sides", "0 moved", "Tune the steps", "limit 2/s",
    "Read it so", "dear to compute", "held against each other", "shown from the other side", "Pseudo leave-one-out",
    "Change of q", "LOO perplexity",
)  # fmt: skip


def shown_texts(path: Path) -> list[str]:
    """The strings of a module without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent
    ]


def test_no_text_uses_them() -> None:
    paths = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "acvb_core").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}: {wording}"
        for path in paths
        for text in shown_texts(path)
        for wording in WORDINGS
        if wording in text
    ]
    assert not found
