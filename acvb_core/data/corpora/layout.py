"""What a file of documents looks like: its format, delimiter, header and which column means what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from acvb_core.data.sources.columns import column_list, column_position
from acvb_core.errors import DataError

CorpusFormat = Literal["counts", "docword", "ldac", "table", "lines", "zip"]
#: Every format, with words for people.
CORPUS_FORMATS: dict[CorpusFormat, str] = {
    "counts": "Word counts: document, word, count on each line",
    "docword": "UCI docword: three lines with the sizes, then document id, word id, count",
    "ldac": "LDA-C: one document a line, term:count",
    "table": "Table with a column of texts",
    "lines": "Texts, one document a line",
    "zip": "Zip archive of .txt files",
}
#: Formats that hold texts, which a tokeniser cuts; the others hold counts.
TEXT_FORMATS: tuple[CorpusFormat, ...] = ("table", "lines", "zip")

ColumnChoice = str | int | Literal[False] | None
#: The columns of a format, those it cannot do without first.
ROLES: dict[CorpusFormat, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "counts": (("document_column", "word_column"), ("count_column",)),
    "table": (("text_column",), ("name_column", "label_column")),
}

PREVIEW_ROWS = 20
PREVIEW_CHARACTERS = 1_000


@dataclass(frozen=True)
class CorpusLayout:
    """How a file is (or would be) read; columns are 0-based positions.

    Attributes
    ----------
    format : "counts", "docword", "ldac", "table", "lines" or "zip"
    filename : str
    gzipped : bool
    encoding, delimiter : str or None
        None where the format has none. A zip's encoding is None unless it was given: each file has its own.
    header : bool
        The first line holds names.
    column_names : tuple of str
        The header's fields, or "column 1", "column 2", …
    rows : tuple of tuples of str
        The first lines, at most PREVIEW_ROWS, each field cut to PREVIEW_CHARACTERS; for a zip, the names and
        sizes of its files.
    document_column, word_column, count_column : int or None
        Counts only; without a count column each line is one token.
    text_column, name_column, label_column : int or None
        Table only.
    """

    format: CorpusFormat
    filename: str
    gzipped: bool = False
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = False
    column_names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    document_column: int | None = None
    word_column: int | None = None
    count_column: int | None = None
    text_column: int | None = None
    name_column: int | None = None
    label_column: int | None = None

    @property
    def n_fields(self) -> int:
        """Fields in each line (0 where a line has no columns)."""
        return len(self.column_names)

    @property
    def has_texts(self) -> bool:
        """Whether the file holds texts, which a tokeniser cuts."""
        return self.format in TEXT_FORMATS

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        found = dict(self.__dict__)
        found["column_names"] = list(self.column_names)
        found["rows"] = [list(row) for row in self.rows]
        return found

    def with_columns(self, choices: Mapping[str, ColumnChoice]) -> CorpusLayout:
        """Return the layout with the user's columns; guesses give way to them.

        Parameters
        ----------
        choices : mapping
            By role ("text_column", …): a header name, a 0-based position, False for none, None for a guess.

        Raises
        ------
        DataError
            There is no such column, or a column would have two roles.
        """
        needed, optional = ROLES.get(self.format, ((), ()))
        given = {role: choice for role, choice in choices.items() if choice is not None}
        found = {role: column_position(self, choice) for role, choice in given.items()}
        for role in (*needed, *optional):
            guess = getattr(self, role)
            found.setdefault(role, None if guess in found.values() else guess)
        for role in needed:
            if found[role] is None:
                free = [i for i in range(self.n_fields) if i not in found.values()]
                found[role] = free[0] if free else None
        used = [position for position in found.values() if position is not None]
        if len(set(used)) < len(used) or any(found[role] is None for role in needed):
            what = ", ".join(role.removesuffix("_column") for role in (*needed, *optional))
            raise DataError(
                f"{what} need a column each",
                source=self.filename,
                remedy=f"Choose different columns among {column_list(self)}.",
            )
        return replace(self, **found)  # type: ignore[arg-type]
