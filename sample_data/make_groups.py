"""Make les_miserables_groups.csv again: the groups that ACVB0 finds in the network, for the picture on Home.

PYTHONPATH=. python sample_data/make_groups.py
"""

from __future__ import annotations

from pathlib import Path

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample

NAME = "les_miserables"


def write_groups(folder: Path) -> None:
    """Write the group of each character."""
    rows = fit(load_sample(NAME).relation, "acvb0", k_rows=20, seed=0).rows
    lines = [
        "object,group",
        *(f"{name},{group}" for name, group in zip(rows["object"], rows["cluster"], strict=True)),
    ]
    (folder / f"{NAME}_groups.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


if __name__ == "__main__":
    write_groups(Path(__file__).resolve().parent)
