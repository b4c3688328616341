"""Guess what kind of data a file holds, from its content, and say why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpora.readers import inspect_corpus
from acvb_core.data.corpora.reading import CorpusLayout
from acvb_core.data.corpora.sniff import TEXT_NAMES, WORD_NAMES
from acvb_core.data.relations.guess import names_links, numbers_lines
from acvb_core.data.relations.layout import GRAPH_FORMATS, Layout, holds_texts
from acvb_core.data.relations.readers import inspect_source, load_relation
from acvb_core.data.report import Fact
from acvb_core.data.sources.byte_source import ByteSource, FileLike
from acvb_core.data.sources.formats import FORMATS
from acvb_core.data.sources.values import value_kind
from acvb_core.data.tables.layout import TableLayout
from acvb_core.data.tables.readers import inspect_table

DataKind = Literal["relation", "network", "texts", "counts", "table"]

#: Bytes of a file that are read to tell a network from a relation.
MOST_BYTES = 8 << 20
_DOCUMENT_NAMES = {
    "doc",
    "document",
    "docid",
    "doc_id",
    "document_id",
    "documentid",
    "text",
    "file",
    "page",
    "article",
}
# Scripts that put no blanks between words: two letters count as a word.
_NO_BLANKS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_WHOLE = re.compile(r"\s*\d+\s*")
#: Words that a line of texts has on average, where it could also be a record of several fields.
_PROSE_WORDS = 8
#: So many words are a text, though it may come more than once.
_LONG_WORDS = 15
_CUT = 1_000
_ARRAY = "It is an array of numbers."


class KindGuess(NamedTuple):
    """The kind of data in a file, and the reason in a sentence ("" where nothing was recognised).

    `facts` is what reading the links found, if the whole file was read for the guess.
    """

    kind: DataKind
    reason: str
    facts: tuple[Fact, ...] = ()


class _Layouts(NamedTuple):
    """How each reader would read a file; None where it cannot."""

    relation: Layout | None
    corpus: CorpusLayout | None
    table: TableLayout | None


def read_beginning(source: FileLike, filename: str | None = None) -> tuple[bytes, bool]:
    """Return the first bytes of a text, unpacked, up to a line end, and whether they are all; b"" of other files."""
    try:
        with ByteSource(source, filename, kind="relation", columns=True) as opened:
            if opened.format is not None or opened.is_array or opened.is_zip:
                return b"", opened.size() <= MOST_BYTES
            content = opened.open().read(MOST_BYTES + 1)
    except AcvbError:
        return b"", False
    if len(content) <= MOST_BYTES:
        return content, True
    return content[: content.rfind(b"\n", 0, MOST_BYTES) + 1], False


def guess_kind(source: FileLike, filename: str, **looking: Any) -> KindGuess:
    r"""Guess the kind of data in a file.

    Parameters
    ----------
    source : path, bytes or binary file object
    filename : str
    **looking
        What is known of the file: encoding, sheet, table or query, as the readers take them.

    Examples
    --------
    >>> guess_kind(b"person,event\nAnn,Fair\nBob,Fair\n", "outings.csv").kind
    'relation'
    >>> guess_kind(b"name,height,weight\nRex,40.5,12.5\nTom,25,4.2\n", "pets.csv").kind
    'table'
    """
    layouts = _Layouts(
        _try(inspect_source, source, filename, looking),
        _try(inspect_corpus, source, filename, looking),
        _try(inspect_table, source, filename, looking),
    )
    for judge in (_judge_format, _judge_texts, _judge_counts, _judge_table):
        guess = judge(layouts)
        if guess is not None:
            return guess
    if layouts.relation is None:
        return KindGuess("relation", "")
    return _judge_links(source, filename, looking, layouts.relation)


def _try(inspect: Any, source: FileLike, filename: str, looking: dict[str, Any]) -> Any:
    try:
        return inspect(source, filename, **looking)
    except AcvbError:
        return None


def _judge_format(layouts: _Layouts) -> KindGuess | None:
    """Return the kind of a file whose format holds one kind only."""
    relation, corpus, table = layouts
    if corpus is not None and corpus.format in ("docword", "ldac"):
        return KindGuess("counts", f"Its lines are word counts in the format {_title(corpus.format)}.")
    if corpus is not None and corpus.format == "zip":
        return KindGuess("texts", "It is an archive of text files.")
    if relation is not None and relation.format in GRAPH_FORMATS:
        return KindGuess("network", f"It is a {_title(relation.format)} file, which holds nodes and links.")
    if relation is None and table is not None and table.format in ("npy", "npz"):
        return KindGuess("table", _ARRAY)
    return None


def _title(name: str) -> str:
    return next(row.title for row in FORMATS if row.name == name).partition(":")[0]


def _judge_texts(layouts: _Layouts) -> KindGuess | None:
    relation, corpus, table = layouts
    if corpus is None:
        return None
    if corpus.format == "lines":
        words = _mean_words([row[0] for row in corpus.rows])
        least = 2 if relation is None and table is None else _PROSE_WORDS
        return (
            KindGuess("texts", f"Each line is a text of about {words:,.0f} words.")
            if words >= least
            else None
        )
    if corpus.format != "table" or corpus.text_column is None:
        return None
    name = corpus.column_names[corpus.text_column]
    values = [row[corpus.text_column] for row in corpus.rows]
    words = _mean_words(values)
    called = name.strip().lower() in TEXT_NAMES and words >= 3
    if not (called or words >= _LONG_WORDS or holds_texts(values)):
        return None
    about = "more than" if any(len(value) >= _CUT for value in values) else "about"
    column = f"The column “{name}”" if corpus.header else name.capitalize()
    return KindGuess("texts", f"{column} holds texts of {about} {words:,.0f} words.")


def _mean_words(texts: Sequence[str]) -> float:
    words = [max(len(text.split()), len(_NO_BLANKS.findall(text)) / 2) for text in texts if text.strip()]
    return sum(words) / len(words) if words else 0.0


def _judge_counts(layouts: _Layouts) -> KindGuess | None:
    """Return that a file holds word counts where the names of its columns say so: pairs alone could be links."""
    corpus = layouts.corpus
    if corpus is None or corpus.format != "counts" or not corpus.header:
        return None
    names = {name.strip().lower() for name in corpus.column_names}
    if names & set(WORD_NAMES) - {"feature"} and names & _DOCUMENT_NAMES:
        return KindGuess("counts", "Its columns are documents and words, with or without a count.")
    return None


def _judge_table(layouts: _Layouts) -> KindGuess | None:
    """Return that a file is a table of numbers where its columns are not names of linked objects."""
    relation, _, table = layouts
    if table is None or not table.kinds:
        return None
    numbers = [at for at, kind in enumerate(table.kinds) if kind == "numbers"]
    reason = f"{len(numbers):,} of its {table.n_fields:,} columns hold numbers."
    if relation is None:
        return KindGuess("table", reason) if numbers else None
    if relation.format == "matrix":
        return None if _is_link_matrix(relation) else KindGuess("table", reason)
    if relation.format != "edges" or not numbers:
        return None
    if relation.header and names_links(relation.column_names):
        return None
    return KindGuess("table", reason) if _has_measurements(relation, table, numbers) else None


def _is_link_matrix(relation: Layout) -> bool:
    """Return whether the cells are 0 and 1 or yes and no, or the same names stand at the top and at the left."""
    start = 0 if relation.row_column is None else 1
    cells = (cell for row in relation.rows for cell in row[start:])
    if value_kind(cells) in ("0/1", "yes/no"):
        return True
    left = [row[0] for row in relation.rows]
    return bool(start and relation.header) and left == list(relation.column_names[1 : len(left) + 1])


def _has_measurements(relation: Layout, table: TableLayout, numbers: Sequence[int]) -> bool:
    """Return whether columns that nobody calls links hold measurements rather than names and weights."""
    width = table.n_fields
    ends = relation.row_column, relation.column_column
    columns = list(zip(*relation.rows, strict=True))
    if not columns:
        return False
    if any(at in numbers and not all(map(_WHOLE.fullmatch, columns[at])) for at in ends if at is not None):
        return True  # 1.5 is no name of an object
    if width > 3:
        counted = 0 in numbers and 0 not in ends and numbers_lines(columns[0])
        return 2 * (len(numbers) - counted) >= width - counted
    if width < 3:
        return False
    if len(numbers) == 3:
        return relation.header
    return len(numbers) == 2 and len(set(columns[0])) == len(columns[0]) and 0 not in numbers


def _judge_links(source: FileLike, filename: str, looking: dict[str, Any], layout: Layout) -> KindGuess:
    """Return whether the two sides of links are the same objects: the links are read for it."""
    content, whole = read_beginning(source, filename)
    what = "a matrix of links" if layout.format == "matrix" else "links, one a line"
    if content or whole:
        try:
            loaded = load_relation(content or source, filename=filename, **looking)
        except AcvbError:
            if layout.format == "npz":
                return KindGuess("table", _ARRAY)
            # Whoever reads it says what is wrong.
        else:
            reason = next(fact.sentence for fact in loaded.report.facts if fact.name == "domains")
            kind: DataKind = "relation" if loaded.relation.network is None else "network"
            return KindGuess(kind, reason, loaded.report.facts if whole else ())
    return KindGuess("relation", f"It looks like {what}.")
