"""How a file of documents is read: what the user says about it, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, cast

from acvb_core.data.sources.formats import FileLayout, column_list, column_position
from acvb_core.errors import DataError, ParameterError

CorpusFormat = str
ColumnChoice = str | int | Literal[False] | None
#: The columns of a format, those it cannot do without first.
ROLES: dict[CorpusFormat, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "counts": (("document_column", "word_column"), ("count_column",)),
    "table": (("text_column",), ("name_column", "label_column")),
}


class CorpusOptions(TypedDict, total=False):
    """How a file is read, in the words of `load_corpus`; what is left out is guessed."""

    format: CorpusFormat | Literal["auto"]
    text: ColumnChoice
    document: ColumnChoice
    word: ColumnChoice
    count: ColumnChoice
    text_column: ColumnChoice
    name_column: ColumnChoice
    label_column: ColumnChoice
    document_column: ColumnChoice
    word_column: ColumnChoice
    count_column: ColumnChoice
    encoding: str | None
    delimiter: str | None
    header: Literal["auto"] | bool
    sheet: str | int | None
    table: str | None
    query: str | None


def chosen_columns(options: CorpusOptions) -> dict[str, ColumnChoice]:
    """Return the columns that were chosen by their roles; a ParameterError where one was given by both its names."""
    for name in options:
        if name not in CorpusOptions.__annotations__:
            raise TypeError(f"{name!r} is no option of the readers of documents")
    given = cast(dict[str, ColumnChoice], options)
    found = {name: given[name] for name in given if name.endswith("_column") and given[name] is not None}
    for alias in ("text", "document", "word", "count"):
        if given.get(alias) is not None:
            if f"{alias}_column" in found:
                raise ParameterError(f"{alias} and {alias}_column are the same; give one of them.")
            found[f"{alias}_column"] = given[alias]
    return found


@dataclass(frozen=True)
class CorpusLayout(FileLayout):
    """How documents are (or would be) read; the fields of `rows` are cut.

    The encoding of a zip archive is None unless it was given: each of its files has its own. Its `rows` are the names
    and sizes of its files. Counts have a document and a word column; without a count column each line is one token. A
    table has a text column and perhaps those of names and labels.
    """

    document_column: int | None = None
    word_column: int | None = None
    count_column: int | None = None
    text_column: int | None = None
    name_column: int | None = None
    label_column: int | None = None

    @property
    def used_columns(self) -> set[int | None] | None:
        """The columns of word counts that are read."""
        used = {self.document_column, self.word_column, self.count_column}
        return used if self.format == "counts" else None

    @property
    def has_texts(self) -> bool:
        """Whether the file holds texts, which a tokeniser cuts, and no counts."""
        return self.format in ("table", "lines", "zip")

    def with_columns(self, choices: Mapping[str, ColumnChoice]) -> CorpusLayout:
        """Return the layout with the user's columns, to which guesses give way.

        The choices are by role ("text_column", …): a header name, a 0-based position, False for none, None for a guess.
        """
        needed, optional = ROLES.get(self.format, ((), ()))
        given = {role: choice for role, choice in choices.items() if choice is not None}
        for role in given:
            if role not in (*needed, *optional):
                raise ParameterError(f"{role} does not apply: {self.filename} is read as {self.format}.")
        if not given:
            return self
        found = {role: column_position(self, choice) for role, choice in given.items()}
        for role in (*needed, *optional):
            guess = getattr(self, role)
            found.setdefault(role, None if guess in found.values() else guess)
        for role in needed:
            if found[role] is None:
                free = (at for at in range(self.n_fields) if at not in found.values())
                found[role] = next(free, None)
        used = [position for position in found.values() if position is not None]
        if len(set(used)) < len(used) or any(found[role] is None for role in needed):
            what = ", ".join(role.removesuffix("_column") for role in (*needed, *optional))
            raise DataError(
                f"{what} need a column each",
                source=self.filename,
                remedy=f"Choose different columns among {column_list(self)}.",
            )
        return replace(self, **found)  # type: ignore[arg-type]
