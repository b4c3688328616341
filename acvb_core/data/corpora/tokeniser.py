"""How a text is cut into words, and which words are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from acvb_core.data.corpora.cutting import (
    NO_PATTERN,
    TOKEN_PATTERN,
    WordFunction,
    check_pattern,
    name_of,
    places_of,
    spans_of,
    words_by,
)
from acvb_core.data.corpora.languages import is_number, stop_set, stop_words_of
from acvb_core.errors import ParameterError
from acvb_core.parameters import Parameter

if TYPE_CHECKING:
    from acvb_core.data.corpora.text_cut import CutTexts, TokeniserPreview

TOKENISER_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "lowercase", "bool", True, "Write everything in lower case, so that The and the are one word.", "Lower case",
    ),
    Parameter(
        "numbers", "bool", False, "Keep words of digits only, such as years. Usually they are no topic.",
        "Keep numbers",
    ),
    Parameter(
        "ngrams", "int", 1,
        "The longest run of neighbouring words that counts as a word too: 2 adds pairs such as new york.",
        "Longest phrase", low=1, high=3,
    ),
    Parameter(
        "min_documents", "int", 2,
        "Drop words that stand in fewer documents. A word of one document says nothing about what documents share.",
        "Fewest documents", low=1, advanced=False,
    ),
    Parameter(
        "max_share", "float", 0.95,
        "Drop words that stand in more than this share of the documents: they tell none of them apart.",
        "Largest share of documents", low=0.01, high=1.0, advanced=False,
    ),
    Parameter(
        "max_words", "int", 0, "Keep only so many words, the most frequent ones. 0 keeps all.", "Most words",
        low=0, advanced=False,
    ),
)  # fmt: skip
_BY_NAME = {parameter.name: parameter for parameter in TOKENISER_PARAMETERS}


@dataclass(frozen=True)
class Tokeniser:
    r"""Settings of how texts become word counts; the cutting is scikit-learn's `CountVectorizer`.

    The defaults drop words of a single document and words of more than 95 % of them: on texts of any number
    that is what only adds noise, and in a corpus of three documents something is still left.

    Attributes
    ----------
    lowercase : bool
    token_pattern : str
        A regular expression; what it matches (or its one group) is a word. "" where documents are lists of words.
    numbers : bool
        Keep words that have digits and no letter.
    stop_words : tuple of str
        Languages whose stop words are dropped (`STOP_WORD_LANGUAGES`), whatever their case.
    extra_stop_words : tuple of str
        Further words to drop. They are cut like the texts: "don't" drops "don".
    ngrams : int
        Runs of up to so many neighbouring words are words too. Stop words and numbers are taken out before.
    min_documents : int
        Words of fewer documents are dropped.
    max_share : float
        Words of more than this share of the documents are dropped.
    max_words : int or None
        Most words kept, the most frequent ones (alphabetical among equals); None, or 0: all.
    function : callable or str, optional
        Takes a text (in lower case with `lowercase`) and gives its words, in place of the pattern: `jieba.lcut`. It is
        not saved: a str is the name of one that has to be given again before a text can be cut.

    Raises
    ------
    ParameterError
        A setting outside its range, an unknown language, or a pattern that is none.

    Examples
    --------
    >>> Tokeniser(min_documents=1, max_share=1.0).preview(["The cat sat.", "A cat!"]).kept.words.tolist()
    ['cat', 'sat']
    """

    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    numbers: bool = False
    stop_words: tuple[str, ...] = ("english",)
    extra_stop_words: tuple[str, ...] = ()
    ngrams: int = 1
    min_documents: int = 2
    max_share: float = 0.95
    max_words: int | None = None
    function: WordFunction | str | None = None

    def __post_init__(self) -> None:
        for name, parameter in _BY_NAME.items():
            given = getattr(self, name)
            value = parameter.check(0 if name == "max_words" and given is None else given)
            object.__setattr__(self, name, None if name == "max_words" and value == 0 else value)
        for name in ("stop_words", "extra_stop_words"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(word, str) for word in given):
                raise ParameterError(f"{name} is {given!r}; it must be a list of words.")
            object.__setattr__(self, name, tuple(dict.fromkeys(given)))
        for language in self.stop_words:
            stop_words_of(language)
        if self.function is not None and not (callable(self.function) or isinstance(self.function, str)):
            raise ParameterError(
                f"function is {self.function!r}; it must take a text and give a list of words."
            )
        if self.token_pattern != NO_PATTERN:
            check_pattern(self.token_pattern)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Tokeniser:
        """Return the tokeniser with these settings; what is missing has its default.

        Raises
        ------
        ParameterError
            A name is unknown, or a value not allowed.
        """
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise ParameterError(
                    f"A tokeniser has no setting {name!r}; it has {', '.join(sorted(known))}."
                )
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-able values, of a function its name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        found |= {name: list(found[name]) for name in ("stop_words", "extra_stop_words")}
        function = found.pop("function")
        return found if function is None else found | {"function": name_of(function)}

    @property
    def cuts_texts(self) -> bool:
        """Whether texts can be cut: not where documents were lists of words, or the function is to be given again."""
        return callable(self.function) or (self.function is None and self.token_pattern != NO_PATTERN)

    def check_cuts_texts(self) -> None:
        """Raise ParameterError where texts cannot be cut."""
        if self.cuts_texts:
            return
        if self.function is None:
            raise ParameterError("The documents were lists of words, so give lists of words, not texts.")
        raise ParameterError(
            f"The texts were cut by {self.function}, a function of your own, which is not saved. Give it again, as "
            "load_model(…, tokeniser=function) or DiskCorpus.open(…, tokeniser=function) do, or give lists of words."
        )

    def without_limits(self) -> Tokeniser:
        """Return the tokeniser that cuts alike, but drops no word for how often it stands in the texts.

        For texts beside those that a vocabulary was made of: that vocabulary says which words matter.
        """
        return replace(self, min_documents=1, max_share=1.0, max_words=None)

    def cut(self, texts: Sequence[str] | Sequence[list[str]], *, first: int = 1) -> CutTexts:
        """Return texts cut into words and counted: what `preview` filters without cutting again.

        Parameters
        ----------
        texts : sequence of str, or of lists of str
            Lists of words are not cut.
        first : int
            Number of the first text, for messages.

        Raises
        ------
        ParameterError
            The pattern takes too long, or the function fails (any method that cuts texts raises this).
        """
        from acvb_core.data.corpora.text_cut import CutTexts

        return CutTexts(texts, self, first)

    def preview(self, texts: Sequence[str] | CutTexts) -> TokeniserPreview:
        """Return what is kept and what is dropped, and why.

        Parameters
        ----------
        texts : sequence of str, or CutTexts
            Texts cut once (`cut`) are only filtered: settings other than the case and the pattern can change
            without a second cutting.
        """
        from acvb_core.data.corpora.text_cut import CutTexts

        cut = texts if isinstance(texts, CutTexts) else self.cut(texts)
        return cut.select(self).preview

    def drops(self, word: str) -> str | None:
        """Return why a single word is never kept: "stop_word", "number", or None when it may be."""
        pattern = NO_PATTERN if self.function else self.token_pattern
        if word.lower() in stop_set(self.stop_words, self.extra_stop_words, pattern):
            return "stop_word"
        if not self.numbers and is_number(word):
            return "number"
        return None

    def spans(self, text: str, vocabulary: Sequence[str] | Mapping[str, int]) -> list[tuple[int, int, int]]:
        """Return where words of a vocabulary stand in a text.

        Parameters
        ----------
        text : str
        vocabulary : sequence of str, or mapping of word to index
            A mapping saves making one of a sequence at each call.

        Returns
        -------
        list of (start, end, index)
            In order and without overlap: text[start:end] is word `index`. The longest phrase that begins at a
            word is taken, and the next one begins behind it.
        """
        index = vocabulary if isinstance(vocabulary, Mapping) else {w: i for i, w in enumerate(vocabulary)}
        tokens = [found for found in self._tokens(text) if self.drops(found[0]) is None]
        spans = []
        at = 0
        while at < len(tokens):
            for length in range(min(self.ngrams, len(tokens) - at), 0, -1):
                phrase = index.get(" ".join(token[0] for token in tokens[at : at + length]))
                if phrase is not None:
                    spans.append((tokens[at][1], tokens[at + length - 1][2], phrase))
                    at += length
                    break
            else:
                at += 1
        return spans

    def _tokens(self, text: str) -> list[tuple[str, int, int]]:
        """Return every word of a text with its start and end there."""
        self.check_cuts_texts()
        lowered = text.lower() if self.lowercase else text
        if callable(self.function):
            found = places_of(next(words_by(self.function, [lowered])), lowered)
        else:
            found = [(lowered[start:end], start, end) for start, end in spans_of(lowered, self.token_pattern)]
        if len(lowered) == len(text):
            return found
        # A few letters are longer in lower case (İ): places there are not the places in the text.
        origin = [at for at, letter in enumerate(text) for _ in letter.lower()]
        return [(word, origin[start], origin[end - 1] + 1) for word, start, end in found]


def with_function(tokeniser: Tokeniser | None, function: WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser that was read from a file with its function, of which the file has only the name.

    Raises
    ------
    ParameterError
        It has none.
    """
    if function is None:
        return tokeniser
    if tokeniser is None or tokeniser.function is None:
        raise ParameterError("The texts were not cut by a function of your own; leave the tokeniser out.")
    return replace(tokeniser, function=function)


def as_tokeniser(given: Tokeniser | WordFunction | None) -> Tokeniser | None:
    """Return a tokeniser; a function stands for `Tokeniser(function=…)`.

    Raises
    ------
    ParameterError
        It is neither.
    """
    if given is None or isinstance(given, Tokeniser):
        return given
    return Tokeniser(function=given)
