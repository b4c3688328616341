"""Changes of words once texts are cut: phrases become one word, and words that mean the same are counted as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from acvb_core.core.errors import ParameterError

#: A word with where it begins and ends in a text.
Located = tuple[str, int, int]


class WordChange(NamedTuple):
    """One change that a reader of topics asks for.

    kind: "leave_out" drops the words, "join" makes one phrase of them, "merge" counts them all as the first.
    """

    kind: Literal["leave_out", "join", "merge"]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Rewriting:
    """Phrases and words of the same meaning; both as `Tokeniser` has them.

    A phrase is joined if its words follow each other directly; the longest one that begins at a word is taken.
    """

    phrases: tuple[str, ...] = ()
    same_words: tuple[tuple[str, str], ...] = ()

    @classmethod
    def build(cls, phrases: Any, same_words: Any, lowercase: bool) -> Rewriting:
        """Return the rules in their usual form: single blanks, lower case if texts are, none twice.

        Raises ParameterError: something is no text, a phrase has one word, or a word is counted as several others or
          as one that is itself counted as another.
        """
        pairs = list(same_words.items() if isinstance(same_words, Mapping) else same_words)
        # As they are typed: "colour=color".
        pairs = [pair.split("=", 1) if isinstance(pair, str) and "=" in pair else pair for pair in pairs]
        given = [pair for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
        texts = [phrases] if isinstance(phrases, str) else list(phrases)
        if isinstance(phrases, str) or not all(isinstance(word, str) for word in texts):
            raise ParameterError(f"phrases is {phrases!r}; it must be a list of phrases such as 'new york'.")
        named = all(isinstance(word, str) and word.strip() for pair in given for word in pair)
        if len(given) < len(pairs) or not named:
            wanted = "it must map words to the words that they are counted as: {'colour': 'color'}, or colour=color"
            raise ParameterError(f"same_words is {same_words!r}; {wanted}.")

        def tidy(text: str) -> str:
            short = " ".join(text.split())
            return short.lower() if lowercase else short

        joined = tuple(dict.fromkeys(map(tidy, texts)))
        if single := [phrase for phrase in joined if " " not in phrase]:
            raise ParameterError(f"phrases has {single[0]!r}; a phrase has two words or more.")
        same = dict.fromkeys((tidy(one), tidy(other)) for one, other in given if tidy(one) != tidy(other))
        targets = dict(list(same))
        if len(targets) < len(same) or not set(targets).isdisjoint(targets.values()):
            raise ParameterError(
                f"same_words is {same_words!r}; each word is counted as one other word, which stays as it is."
            )
        return cls(joined, tuple(same))

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[str, ...]]]:
        """The phrases by their first word, the longest first."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for parts in sorted((tuple(phrase.split()) for phrase in self.phrases), key=len, reverse=True):
            found.setdefault(parts[0], []).append(parts)
        return found

    def count_as(self, word: str) -> str:
        """Return the word that a word is counted as."""
        return dict(self.same_words).get(word, word)

    def join_words(self, words: list[str]) -> list[str]:
        """Return the words of a text with its phrases as one word each, and each word as it is counted."""
        if not (self.phrases or self.same_words):
            return words
        return [word for word, _, _ in self._join([(word, 0, 0) for word in words])]

    def join_spans(self, words: list[Located]) -> list[Located]:
        """Return the same for words with their places; a phrase reaches from its first word to the end of its last."""
        return list(self._join(words)) if self.phrases or self.same_words else words

    def _join(self, words: list[Located]) -> Iterator[Located]:
        phrases, same, at = self._by_first_word, dict(self.same_words), 0
        while at < len(words):
            word, begin, end = words[at]
            length = 1
            for parts in phrases.get(word, ()):
                if tuple(following for following, _, _ in words[at : at + len(parts)]) == parts:
                    word, end, length = " ".join(parts), words[at + len(parts) - 1][2], len(parts)
                    break
            yield same.get(word, word), begin, end
            at += length
