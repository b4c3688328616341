"""Guess what kind of data a file holds, and its encoding, from its content."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from acvb_core.core.errors import AcvbError
from acvb_core.data.corpora.readers import inspect_corpus
from acvb_core.data.corpora.schema import TEXT_NAMES, WORD_NAMES
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.relation_schema import GRAPH_FORMATS, holds_texts, names_links, numbers_lines
from acvb_core.data.report import Fact
from acvb_core.data.schema import Schema, lower_names
from acvb_core.data.sources.formats import FORMATS, marked_encoding
from acvb_core.data.sources.source import ByteSource, FileLike
from acvb_core.data.sources.values import read_value, value_kind
from acvb_core.data.table_build import inspect_table

#: Tried in this order: of two that give equally good words, the first is proposed.
ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "koi8-r", "shift_jis", "euc_jp", "gb18030", "utf-16-le", "utf-16-be", "latin-1",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "big5", "euc_kr",
)  # fmt: skip
#: Words that are judged, and words that are shown.
_JUDGED, _SHOWN = 2_000, 8
_LONGEST_SHOWN = 30
_FOREIGN_WORD = re.compile(r"[^\s,;|\"]*[^\x00-\x7f][^\s,;|\"]*")
#: Letters and signs of the languages written in cp1252 and in cp1250; the others of their letters are rare.
_BOTH = "äöüßéëáíóúýçôâî’‘“”–—…°€«»·"
_CENTRAL = frozenset(_BOTH + "ąćęłńśźżčďěňřšťůžőűľĺŕăşţđ")
_WESTERN = frozenset(_BOTH + "èêàïûùñåæøœãõòìÿðþ¿¡")
#: Scripts that a word is written in alone.
_ALPHABETS = ("CYRILLIC", "GREEK", "HEBREW", "ARABIC")


class EncodingGuess(NamedTuple):
    """An encoding in which a text can be read, and words beyond ASCII as they then read."""

    encoding: str
    words: tuple[str, ...]


def guess_encodings(content: bytes) -> list[EncodingGuess]:
    """Return the encodings that a text may be in, the most likely first; [] if it is UTF-8 or says what it is.

    A text is UTF-8 also if some lines are not: whoever reads it says which.

    Parameters
    ----------
    content : bytes
        The beginning of the text; its last letter may be cut.

    Examples
    --------
    >>> guess_encodings("Zoé;Fête".encode("cp1252"))[0]
    EncodingGuess(encoding='cp1252', words=('Zoé', 'Fête'))
    """
    lines = [line for line in content.split(b"\n") if not line.isascii()]
    valid = sum(_decode(line, "utf-8") is not None for line in lines)
    if marked_encoding(content) != "utf-8-sig" or (
        b"\0" not in content and (not lines or 2 * valid > len(lines))
    ):
        return []
    guesses = []
    for encoding in ENCODINGS:
        text = _decode(content, encoding)
        if text is None or "\0" in text:
            continue
        words = list(dict.fromkeys(match[0] for match in _FOREIGN_WORD.finditer(text)))[:_JUDGED]
        shown = [word for word in words if len(word) <= _LONGEST_SHOWN][:_SHOWN]
        scores = [_score_word(word, encoding) for word in words] or [1.0]
        guesses.append((sum(scores) / len(scores), EncodingGuess(encoding, tuple(shown))))
    guesses.sort(key=lambda guess: -guess[0])
    return [guess for _, guess in guesses]


def _decode(content: bytes, encoding: str) -> str | None:
    """Return the text, None if the encoding does not allow its bytes."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content, final=False)
    except UnicodeDecodeError:
        return None


def _score_word(word: str, encoding: str) -> float:
    """Return how much a word with letters beyond ASCII looks like one of a language, from 0 to 1."""
    foreign = [letter for letter in word if letter > "\x7f"]
    letters = [letter for letter in word if letter.isalpha()]
    scripts = {_script(letter) for letter in letters}
    if scripts & {"KANA", "CJK"}:
        return _score_east_asian(foreign, encoding)
    if len(scripts) > 1:
        return 0.1
    if scripts & set(_ALPHABETS):
        # The wrong one of two encodings gives small letters first, and capitals behind.
        capitals = sum(letter.isupper() for letter in letters[1:])
        return 0.9 if not capitals or (word.isupper() and len(letters) > 1) else 0.2
    common = _CENTRAL if encoding == "cp1250" else _WESTERN
    usual = sum(letter.lower() in common for letter in foreign) / len(foreign)
    plain = sum(letter <= "\x7f" for letter in letters)
    # Most letters of a word in Latin script are plain ones.
    return usual * (1.0 if 2 * plain >= len(letters) or len(foreign) == 1 else 0.3)


def _score_east_asian(foreign: list[str], encoding: str) -> float:
    if any("\uff61" <= letter <= "\uff9f" for letter in foreign):  # half-width: what other bytes turn into
        return 0.1
    return 0.95 * sum(_is_common(letter, encoding) for letter in foreign) / len(foreign)


def _is_common(letter: str, encoding: str) -> bool:
    """Return whether a letter is among the common ones of its language: those that its encoding lists first."""
    table = "gb2312" if encoding == "gb18030" else "euc_jp"
    try:
        code = letter.encode(table)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and code[0] <= (0xD7 if table == "gb2312" else 0xCF)


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "")
    if name.startswith(("LATIN", "MICRO SIGN", "FEMININE ORDINAL", "MASCULINE ORDINAL", "MODIFIER LETTER")):
        return "LATIN"
    if name.startswith(("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")):
        return "KANA"
    first = name.partition(" ")[0]
    return first if first in ("CJK", *_ALPHABETS) else "OTHER"


DataKind = Literal["relation", "network", "texts", "counts", "table"]
#: Bytes of a file that are read to tell a network from a relation.
MOST_BYTES = 8 << 20
_DOCUMENT_NAMES = {
    "doc", "document", "docid", "doc_id", "document_id", "documentid", "text", "file", "page", "article",
}  # fmt: skip
# Scripts that put no blanks between words: two letters count as a word.
_NO_BLANKS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_WHOLE = re.compile(r"\s*\d+\s*")
#: Words that a line of texts has on average, if it could also be a record of several fields.
_PROSE_WORDS = 8
#: So many words are a text, though it may come more than once.
_LONG_WORDS = 15
_CUT = 1_000
_ARRAY = "It is an array of numbers."


class KindGuess(NamedTuple):
    """The kind of data in a file, and the reason in a sentence ("" if nothing was recognised).

    `facts` is what reading the links found, if the whole file was read for the guess.
    """

    kind: DataKind
    reason: str
    facts: tuple[Fact, ...] = ()


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
        Known facts about the file: encoding, sheet, table or query, as the readers take them.

    Examples
    --------
    >>> guess_kind(b"person,event\nAnn,Fair\nBob,Fair\n", "outings.csv").kind
    'relation'
    >>> guess_kind(b"name,height,weight\nRex,40.5,12.5\nTom,25,4.2\n", "pets.csv").kind
    'table'
    """
    relation, corpus, table = (
        _try(inspect, source, filename, looking)
        for inspect in (inspect_source, inspect_corpus, inspect_table)
    )
    if corpus is not None and (guess := _judge_corpus(corpus, relation is None and table is None)):
        return guess
    if relation is not None and relation.format in GRAPH_FORMATS:
        return KindGuess("network", f"It is a {_title(relation.format)} file, which holds nodes and links.")
    if table is not None and (guess := _judge_table(table, relation)):
        return guess
    if relation is None:
        return KindGuess("relation", "")
    return _judge_links(source, filename, looking, relation)


def _try(inspect: Any, source: FileLike, filename: str, looking: dict[str, Any]) -> Any:
    try:
        return inspect(source, filename, **looking)
    except AcvbError:
        return None


def _title(name: str) -> str:
    return next(row.title for row in FORMATS if row.name == name).partition(":")[0]


def _judge_corpus(corpus: Schema, alone: bool) -> KindGuess | None:
    """Return that a file holds texts or counts if its format, its columns or its words say so.

    `alone`: nothing else reads the file.
    """
    if corpus.format in ("docword", "ldac"):
        return KindGuess("counts", f"Its lines are word counts in the format {_title(corpus.format)}.")
    if corpus.format == "zip":
        return KindGuess("texts", "It is an archive of text files.")
    if corpus.format in ("counts", "matrix"):
        return _judge_counts(corpus) if corpus.header else None
    at = 0 if corpus.format == "lines" else corpus.text_column
    if at is None:
        return None
    name, values = corpus.column_names[at], [row[at] for row in corpus.rows]
    words = _mean_words(values)
    if corpus.format == "lines":
        told = f"Each line is a text of about {words:,.0f} words."
        return KindGuess("texts", told) if words >= (2 if alone else _PROSE_WORDS) else None
    called = name.strip().lower() in TEXT_NAMES and words >= 3
    if not (called or words >= _LONG_WORDS or holds_texts(values)):
        return None
    about = "more than" if any(len(value) >= _CUT for value in values) else "about"
    column = f"The column “{name}”" if corpus.header else name.capitalize()
    return KindGuess("texts", f"{column} holds texts of {about} {words:,.0f} words.")


def _mean_words(texts: Sequence[str]) -> float:
    words = [max(len(text.split()), len(_NO_BLANKS.findall(text)) / 2) for text in texts if text.strip()]
    return sum(words) / len(words) if words else 0.0


def _judge_counts(corpus: Schema) -> KindGuess | None:
    """Return that a file holds word counts if the names of its columns say so: pairs alone could be links."""
    names = lower_names(corpus.column_names)
    if corpus.format == "counts":
        named = bool(_DOCUMENT_NAMES & set(names) and (set(WORD_NAMES) - {"feature"}) & set(names))
        told = "Its columns are documents and words, with or without a count."
        return KindGuess("counts", told) if named else None
    words = [at for at in range(corpus.n_fields) if at not in corpus.roles.values()]
    cells = [row[at] for row in corpus.rows for at in words]
    sparse = 2 * sum(read_value(cell).number == 0.0 for cell in cells) > len(cells)
    wordy = 2 * sum(names[at].isalpha() for at in words) > len(words)
    named = corpus.document_column == 0 and names[0] in _DOCUMENT_NAMES | {"id"}
    if named and sparse and wordy and value_kind(cells) == "counts":
        return KindGuess("counts", "Its rows are documents, and its columns count words.")
    return None


def _judge_table(table: Schema, relation: Schema | None) -> KindGuess | None:
    """Return that a file is a table of numbers if its columns are not names of linked objects."""
    if relation is None and table.format in ("npy", "npz"):
        return KindGuess("table", _ARRAY)
    numbers = [at for at, kind in enumerate(table.kinds) if kind == "numbers"]
    guess = KindGuess("table", f"{len(numbers):,} of its {table.n_fields:,} columns hold numbers.")
    if relation is None:
        return guess if numbers else None
    if relation.format == "matrix":
        return guess if table.kinds and not _is_link_matrix(relation) else None
    named = relation.header and names_links(relation.column_names)
    edges = relation.format == "edges" and numbers and not named
    return guess if edges and _has_measurements(relation, table, numbers) else None


def _is_link_matrix(relation: Schema) -> bool:
    """Return whether the cells are 0 and 1 or yes and no, or the same names are at the top and at the left."""
    start = 0 if relation.row_column is None else 1
    cells = (cell for row in relation.rows for cell in row[start:])
    if value_kind(cells) in ("0/1", "yes/no"):
        return True
    left = [row[0] for row in relation.rows]
    return bool(start and relation.header) and left == list(relation.column_names[1 : len(left) + 1])


def _has_measurements(relation: Schema, table: Schema, numbers: Sequence[int]) -> bool:
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


def _judge_links(source: FileLike, filename: str, looking: dict[str, Any], schema: Schema) -> KindGuess:
    """Return whether the two sides of links are the same objects: the links are read for it."""
    content, whole = read_beginning(source, filename)
    what = "a matrix of links" if schema.format == "matrix" else "links, one a line"
    if content or whole:
        try:
            loaded = load_relation(content or source, filename=filename, **looking)
        except AcvbError as error:
            if schema.format == "npz":
                return KindGuess("table", _ARRAY)
            if "directed=" in getattr(error, "remedy", ""):  # its reader asks for the direction
                return KindGuess("network", f"It looks like {what}, between objects of one kind.")
            # Whoever reads it says what is wrong.
        else:
            reason = next(fact.sentence for fact in loaded.report.facts if fact.name == "domains")
            kind: DataKind = "relation" if loaded.data.network is None else "network"
            return KindGuess(kind, reason, loaded.report.facts if whole else ())
    return KindGuess("relation", f"It looks like {what}.")
