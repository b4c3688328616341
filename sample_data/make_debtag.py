"""Make debtag_games.csv: which tag describes which game in the Debian archive.

python sample_data/make_debtag.py        (on Debian, after apt-get update)
"""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path


def game_tags(available: str) -> list[tuple[str, str]]:
    """Return sorted (package, tag) pairs of the section games from the text of `apt-cache dumpavail`."""
    pairs = set()
    for paragraph in available.split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in paragraph.splitlines():
            if line[:1] in (" ", "\t"):  # a continuation
                fields[key] += line
            else:
                key, _, value = line.partition(":")
                fields[key] = value
        if fields.get("Section", "").strip() == "games":
            tags = (tag.strip() for tag in fields.get("Tag", "").split(","))
            pairs |= {(fields["Package"].strip(), tag) for tag in tags if tag}
    return sorted(pairs)


def write_debtag(folder: Path) -> None:
    """Write debtag_games.csv into `folder`."""
    available = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    pairs = game_tags(available)
    if not pairs:
        raise SystemExit("No package lists: run apt-get update first.")
    with (folder / "debtag_games.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["package", "tag"])
        writer.writerows(pairs)


if __name__ == "__main__":
    write_debtag(Path(__file__).resolve().parent)
