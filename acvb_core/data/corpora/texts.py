"""Texts as they are read, and the corpus that a tokeniser makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acvb_core.data.corpora.layout import CorpusLayout
from acvb_core.data.corpora.text_cut import DROP_REASONS, REASON_SETTING, CutTexts, TokeniserPreview
from acvb_core.data.corpora.tokeniser import Tokeniser
from acvb_core.data.corpora.zip import read_zip
from acvb_core.data.corpus import Corpus
from acvb_core.data.report import Fact, ReadReport, plural
from acvb_core.data.sources.byte_source import ByteSource
from acvb_core.data.sources.text_lines import TextRecords, open_lines, read_lines
from acvb_core.errors import DataError

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class LoadedCorpus:
    """A corpus, what reading it found, and how the file was understood.

    Attributes
    ----------
    corpus : Corpus
    report : ReadReport
        Its facts "documents", "words" and "tokens" are always there.
    layout : CorpusLayout
    """

    corpus: Corpus
    report: ReadReport
    layout: CorpusLayout


@dataclass(eq=False)
class Texts:
    """The texts of a file, read once and cut as often as the tokeniser changes.

    Attributes
    ----------
    texts : tuple of str
    documents : ndarray of str (object)
        Unique names.
    labels : ndarray of str (object), or None
    name : str
        What the user calls the corpus.
    layout : CorpusLayout
    facts : tuple of Fact
        What reading found.
    """

    texts: tuple[str, ...]
    documents: NDArray[Any]
    labels: NDArray[Any] | None
    name: str
    layout: CorpusLayout
    facts: tuple[Fact, ...]
    _cut: CutTexts | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def cut(self, tokeniser: Tokeniser) -> CutTexts:
        """Return the texts cut into words: the last cutting where case and pattern are still the same."""
        cut = self._cut
        if cut is None or not cut.serves(tokeniser):
            cut = self._cut = tokeniser.cut(self.texts)
        return cut

    def preview(self, tokeniser: Tokeniser) -> TokeniserPreview:
        """Return what a tokeniser keeps and drops."""
        return tokeniser.preview(self.cut(tokeniser))


def read_table(source: ByteSource, layout: CorpusLayout, encoding: str | None, name: str) -> Texts:
    """Read a delimited text with a column of texts.

    Raises
    ------
    DataError
        A record with more or fewer fields than the first, a quote that is not closed, no data.
    """
    if layout.text_column is None:
        raise no_texts(layout)
    assert layout.delimiter is not None
    lines, _ = open_lines(source, encoding)
    records = TextRecords(lines, layout.delimiter, source.name)
    used = [layout.text_column, layout.name_column, layout.label_column]
    columns: list[list[str]] = [[] for _ in used]
    skip = layout.header
    for line, fields in records:
        if len(fields) != layout.n_fields:
            raise ragged(fields, layout, line)
        if skip:
            skip = False
            continue
        for column, values in zip(used, columns, strict=True):
            if column is not None:
                values.append(fields[column])
    texts, names, labels = columns
    if not texts:
        raise only_names(source.name)
    facts = line_facts(records.lines_read, layout, records.blank_lines)
    facts += unused_columns(layout, used)
    return _texts(
        texts,
        None if layout.name_column is None else names,
        None if layout.label_column is None else [label.strip() for label in labels],
        name,
        layout,
        facts,
    )


def no_texts(layout: CorpusLayout) -> DataError:
    """Return the error for a table none of whose columns looks like texts."""
    return DataError(
        "there is no column of texts",
        source=layout.filename,
        value=", ".join(layout.column_names[:10]),
        remedy="Say which column holds the texts, or choose another format.",
    )


def only_names(source: str) -> DataError:
    """Return the error for a table of a header and nothing else."""
    return DataError(
        "the file holds column names and no data",
        source=source,
        line=1,
        remedy="Load a file with data in it, or say that its first line is data.",
    )


def unused_columns(layout: CorpusLayout, used: Sequence[int | None]) -> list[Fact]:
    """Return the fact about columns of a table that have no role, if there are any."""
    unused = [column for i, column in enumerate(layout.column_names) if i not in used]
    if not unused:
        return []
    shown = ", ".join(unused[:_SHOWN]) + (", …" if len(unused) > _SHOWN else "")
    return [Fact("unused_columns", len(unused), f"{plural(len(unused), 'column')} not used: {shown}.")]


def read_text_lines(source: ByteSource, layout: CorpusLayout, encoding: str | None, name: str) -> Texts:
    """Read one document a line; a blank line is an empty document, so that line numbers name documents."""
    lines, _ = read_lines(source, encoding)
    return _texts(lines, None, None, name, layout, line_facts(len(lines), layout, 0))


def read_zip_texts(source: ByteSource, layout: CorpusLayout, encoding: str | None, name: str) -> Texts:
    """Read the .txt files of a zip archive."""
    texts, names, labels, facts = read_zip(source, encoding)
    return _texts(texts, names, labels, name, layout, facts)


def corpus_of_texts(
    texts: Texts, tokeniser: Tokeniser | None = None, *, name: str | None = None
) -> LoadedCorpus:
    """Return the corpus that a tokeniser makes of texts.

    Parameters
    ----------
    texts : Texts
    tokeniser : Tokeniser, optional
        Default: `Tokeniser()`.
    name : str, optional
        Default: the texts' own.

    Raises
    ------
    DataError
        No word is left; the message says which setting dropped most.
    """
    tokeniser = tokeniser or Tokeniser()
    selection = texts.cut(tokeniser).select(tokeniser)
    if not len(selection.vocabulary):
        raise nothing_left(selection.preview, tokeniser, texts.layout.filename)
    corpus = Corpus.build(
        selection.counts,
        vocabulary=selection.vocabulary,
        documents=texts.documents,
        name=name or texts.name,
        texts=texts.texts,
        labels=texts.labels,
        tokeniser=tokeniser,
    )
    facts = [*texts.facts, *dropped_facts(selection.preview), *corpus_facts(corpus)]
    return LoadedCorpus(corpus, ReadReport(texts.layout.filename, tuple(facts)), texts.layout)


def corpus_facts(corpus: Corpus) -> list[Fact]:
    """Return the facts about the corpus as a whole."""
    empty = np.flatnonzero(corpus.lengths == 0)
    return size_facts(corpus, len(empty), _first(corpus.documents, empty))


class Sized(Protocol):
    """What is told of a corpus, in memory or not."""

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        ...

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary."""
        ...

    @property
    def n_tokens(self) -> int:
        """Number of words in all documents."""
        ...

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each word stands in all documents."""
        ...

    @property
    def vocabulary(self) -> NDArray[Any]:
        """The words."""
        ...


def size_facts(corpus: Sized, n_empty: int, first_empty: list[str]) -> list[Fact]:
    """Return the facts about a corpus of which `n_empty` documents have no word."""
    facts = [
        Fact("documents", corpus.n_documents, f"{plural(corpus.n_documents, 'document')}."),
        Fact("words", corpus.n_words, f"{plural(corpus.n_words, 'word')} in the vocabulary."),
        Fact("tokens", corpus.n_tokens, f"{plural(corpus.n_tokens, 'token')} in all documents."),
    ]
    if n_empty:
        told = f"{plural(n_empty, 'document')} without any word: kept as an empty row."
        facts.append(Fact("empty_documents", n_empty, told, {"first": first_empty}))
    unused = np.flatnonzero(corpus.frequencies == 0)
    if len(unused):
        told = f"{plural(len(unused), 'word')} of the vocabulary in no document: kept."
        facts.append(Fact("unused_words", len(unused), told, {"first": _first(corpus.vocabulary, unused)}))
    return facts


def unique_documents(names: Sequence[str]) -> tuple[NDArray[Any], list[Fact]]:
    """Return names made unique, by a number where one comes again, by the position where one is blank."""
    found = np.empty(len(names), dtype=object)
    found[:] = [name.strip() or str(at) for at, name in enumerate(names, start=1)]
    blank = sum(not name.strip() for name in names)
    facts = []
    if blank:
        told = f"{plural(blank, 'document')} without a name: called by the position in the file."
        facts.append(Fact("unnamed_documents", blank, told))
    taken = set(found)
    if len(taken) < len(found):
        seen: dict[str, int] = {}
        changed = []
        for at, name in enumerate(found):
            seen[name] = seen.get(name, 0) + 1
            if seen[name] == 1:
                continue
            while (new := f"{name} ({seen[name]})") in taken:
                seen[name] += 1
            taken.add(new)
            found[at] = new
            changed.append(name)
        told = f"{plural(len(changed), 'document')} with a name that stood before: a number was appended."
        facts.append(Fact("renamed_documents", len(changed), told, {"first": changed[:_SHOWN]}))
    return found, facts


def _texts(
    texts: Sequence[str],
    names: Sequence[str] | None,
    labels: Sequence[str] | None,
    name: str,
    layout: CorpusLayout,
    facts: list[Fact],
) -> Texts:
    documents, name_facts = unique_documents(names or [str(i + 1) for i in range(len(texts))])
    return Texts(
        tuple(texts),
        documents,
        None if labels is None else np.array(labels, dtype=object),
        name,
        layout,
        (*facts, *name_facts),
    )


def line_facts(lines: int, layout: CorpusLayout, blank: int) -> list[Fact]:
    """Return the facts about the lines of a file of texts."""
    details = {"header": layout.header, "delimiter": layout.delimiter, "encoding": layout.encoding}
    first = f"; the first holds {'names' if layout.header else 'data'}" if layout.delimiter else ""
    facts = [Fact("lines", lines, f"Read {plural(lines, 'line')}{first}.", details)]
    if layout.encoding not in ("utf-8-sig", "utf-8"):
        facts.append(Fact("encoding", 0, f"The text was decoded as {layout.encoding}."))
    if blank:
        facts.append(Fact("blank_lines", blank, f"{plural(blank, 'blank line')}: passed over."))
    return facts


def ragged(fields: list[str], layout: CorpusLayout, line: int) -> DataError:
    """Return the error for a record of more or fewer fields than the first."""
    return DataError(
        f"this record has {plural(len(fields), 'field')} where the first has {layout.n_fields:,}",
        source=layout.filename,
        line=line,
        column=min(len(fields), layout.n_fields) + 1,
        value=(layout.delimiter or " ").join(fields),
        remedy="Quote a text that holds the delimiter; choose the format lines when each line is one document.",
    )


def dropped_facts(preview: TokeniserPreview) -> list[Fact]:
    """Return the facts about the words that a tokeniser drops."""
    facts = []
    for reason, words in preview.dropped.items():
        if words.n_words:
            told = (
                f"Dropped {plural(words.n_words, 'word')} ({plural(words.n_tokens, 'token')}): "
                f"{DROP_REASONS[reason]}."
            )
            details = {
                "tokens": words.n_tokens,
                "setting": REASON_SETTING[reason],
                "first": words.words[:_SHOWN].tolist(),
            }
            facts.append(Fact(f"dropped_{reason}", words.n_words, told, details))
    return facts


def nothing_left(preview: TokeniserPreview, tokeniser: Tokeniser, source: str) -> DataError:
    """Return the error for texts that a tokeniser leaves no word of: which setting dropped most."""
    reason = preview.blame()
    where = f"the {plural(preview.n_documents, 'text')}"
    if reason is None:
        return DataError(
            f"there is no word in {where}",
            source=source,
            value=tokeniser.token_pattern,
            remedy="Check the column of texts and the token pattern.",
        )
    counts = ", ".join(
        f"{plural(words.n_words, 'word')} by {REASON_SETTING[r]}"
        for r, words in preview.dropped.items()
        if words.n_words
    )
    setting = REASON_SETTING[reason]
    remedies = {
        "min_documents": "Lower min_documents (1 keeps every word).",
        "max_share": "Raise max_share (1 keeps every word).",
        "stop_words": "Leave out a language or some extra stop words.",
        "numbers": "Keep numbers, or choose another column of texts.",
        "max_words": "Raise max_words, or leave it out.",
    }
    return DataError(
        f"no word of {where} is left: dropped were {counts}",
        source=source,
        value=f"{setting}={getattr(tokeniser, setting)}",
        remedy=remedies[setting],
    )


def _first(names: NDArray[Any], places: NDArray[np.intp]) -> list[str]:
    return [str(names[at]) for at in places[:_SHOWN]]
