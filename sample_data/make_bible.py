"""Make bible.csv.gz: the chapters of the World English Bible, a document each.

    apt-get download sword-text-web && dpkg -x sword-text-web_*.deb sword      (on Debian 12; public domain)
    python sample_data/make_bible.py sword/usr/share/sword                     (needs pysword)

The words are the translation's; left out are the footnotes, the numbers of the verses and the books that are not in
every Bible.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

#: The usual parts, each with its last book, by the names that the package uses.
PARTS = {
    "Law": "Deuteronomy",
    "History": "Esther",
    "Wisdom": "Song of Solomon",
    "Prophets": "Malachi",
    "Gospels and Acts": "Acts",
    "Letters": "Jude",
    "Revelation": "Revelation of John",
}
LAST_OLD = "Malachi"  # the books that only some Bibles have come after it


def plain(osis: str) -> str:
    """Return the words of a marked-up chapter on one line, without the notes."""
    text = osis.partition('type="glossary"')[0]  # which the package has behind the last chapter of all
    text = re.sub(r"<note\b.*?</note>", " ", text, flags=re.DOTALL)
    text = re.sub(r"</?(?:w|seg|q|transChange|hi|divineName)\b[^>]*>", "", text)  # within a line
    text = " ".join(re.sub(r"<[^>]*(>|$)", " ", text).split())
    text = re.sub(r" +([,.;:!?”’)—])", r"\1", text)
    return re.sub(r"([“‘(—]) +", r"\1", text)


def chapters(sword: str) -> Iterator[tuple[str, str, str]]:
    """Return name, part and text of each chapter."""
    from pysword.modules import SwordModules

    modules = SwordModules(sword)
    (name,) = modules.parse_modules()
    bible = modules.get_bible_from_module(name)
    books = bible.get_structure().get_books()
    old = [book.name for book in books["ot"]]
    counts = {book.name: book.num_chapters for testament in ("ot", "nt") for book in books[testament]}
    parts = iter(PARTS.items())
    part, last = next(parts)
    for book in [*old[: old.index(LAST_OLD) + 1], *(book.name for book in books["nt"])]:
        shown = {"Psalms": "Psalm", "Revelation of John": "Revelation"}.get(book, book)
        for number in range(1, counts[book] + 1):
            marked = bible.get(books=[book], chapters=[number], clean=False, join="\n")
            yield f"{shown} {number}" if counts[book] > 1 else shown, part, plain(marked)
        if book == last:
            part, last = next(parts, ("", ""))


def write(documents: Iterable[tuple[str, str, str]], path: Path) -> None:
    """Write a gzipped CSV, the same bytes for the same documents."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["document", "label", "text"])
    writer.writerows(documents)
    path.write_bytes(gzip.compress(lines.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write(chapters(sys.argv[1]), FOLDER / "bible.csv.gz")
