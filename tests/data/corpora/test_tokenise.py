"""Texts are cut as scikit-learn cuts them, by a pattern or a function of the user's, and never for ever."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import acvb_core
from acvb_core.core.errors import ParameterError
from acvb_core.data.corpora import tokenise
from acvb_core.data.corpora.disk_build import read_to_disk
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import (
    TOKEN_PATTERN,
    Tokeniser,
    find_spans,
)
from tests.loops import for_each, rotate

TEXTS = [
    "The bank by the river: the river bank of 1996.",
    "A river boat, a river boat and 1996 boats.",
    "The bank lends; the bank takes. Don't bank on it!",
    "",
    "Of the and.",
]

# Words that come again, in both cases, with stop words, numbers and what only \w calls a letter.
words = st.sampled_from(
    ["river", "River", "bank", "boat", "the", "The", "of", "1996", "42", "über", "x_1", "Ó", "don't"]
)
texts = st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=8)


@st.composite
def tokenisers(draw):
    return Tokeniser(
        lowercase=draw(st.booleans()),
        numbers=draw(st.booleans()),
        stop_words=draw(st.sampled_from([(), ("english",), ("english", "german")])),
        extra_stop_words=draw(st.sampled_from([(), ("boat",)])),
        ngrams=draw(st.integers(1, 3)),
        min_documents=draw(st.integers(1, 3)),
        max_share=draw(st.sampled_from([0.3, 0.5, 0.75, 1.0])),
        max_words=draw(st.none() | st.integers(1, 4)),
    )


def by_scikit_learn(given_texts, tokeniser, listed):
    """The same counts by one `CountVectorizer` that is told everything at once, None when nothing is left."""
    vectorizer = CountVectorizer(
        lowercase=tokeniser.lowercase,
        token_pattern=tokeniser.token_pattern,
        stop_words=listed or None,
        ngram_range=(1, tokeniser.ngrams),
        min_df=tokeniser.min_documents,
        max_df=tokeniser.max_share,
    )
    try:
        return vectorizer.fit_transform(given_texts), vectorizer.get_feature_names_out()
    except ValueError:  # nothing is left, or the two limits leave room for nothing
        return None


def never_kept(given_texts, tokeniser):
    """The words to drop whatever their counts, spelt out without the tokeniser's own code."""
    spelt = {word for text in given_texts for word in text.replace("'", " ").split()}
    spelt |= {word.lower() for word in spelt}
    stops = set(tokeniser.extra_stop_words)
    stops |= {"the", "of", "don"} if "english" in tokeniser.stop_words else set()
    stops |= {"über"} if "german" in tokeniser.stop_words else set()
    return sorted(w for w in spelt if w.lower() in stops or (w in ("1996", "42") and not tokeniser.numbers))


@given(texts, tokenisers())
def test_the_same_words_are_kept_as_by_scikit_learn(given_texts, tokeniser):
    selection = tokeniser.select(given_texts)
    without_cap = by_scikit_learn(given_texts, tokeniser, never_kept(given_texts, tokeniser))
    if without_cap is None:
        assert len(selection.vocabulary) == 0
        return
    counts, vocabulary = without_cap
    totals = np.asarray(counts.sum(axis=0)).ravel()
    order = sorted(range(len(vocabulary)), key=lambda i: (-totals[i], vocabulary[i]))[: tokeniser.max_words]
    expected = sorted(order)
    assert selection.vocabulary.tolist() == vocabulary[expected].tolist()
    assert (selection.counts.toarray() == counts.toarray()[:, expected]).all()
    assert selection.preview.kept.words.tolist() == vocabulary[order].tolist()
    assert selection.preview.kept.counts.tolist() == totals[order].tolist()


def test_reasons():
    preview = Tokeniser(min_documents=2, max_share=0.5, extra_stop_words=("boat",), max_words=1).preview(
        TEXTS
    )
    assert preview.kept.top(9) == [("bank", 5, 2)]
    assert preview.dropped["stop_word"].top(3) == [("the", 6, 3), ("and", 2, 2), ("boat", 2, 1)]
    assert preview.dropped["number"].top(9) == [("1996", 2, 2)]
    assert preview.dropped["too_rare"].words.tolist() == ["boats", "lends", "takes"]
    assert preview.dropped["too_common"].n_words == 0
    assert preview.dropped["beyond_cap"].top(9) == [("river", 4, 2)]
    assert preview.empty.tolist() == [1, 3, 4]
    assert Tokeniser(min_documents=1, max_share=0.4).preview(TEXTS).dropped["too_common"].n_words == 0
    assert Tokeniser(min_documents=1, max_share=0.39).preview(TEXTS).dropped["too_common"].n_words == 2


@given(texts, tokenisers().filter(lambda t: t.ngrams == 1))
def test_spans_are_the_counts(given_texts, tokeniser):
    selection = tokeniser.select(given_texts)
    for row, text in enumerate(given_texts):
        spans = tokeniser.spans(text, selection.vocabulary)
        found = np.bincount([word for *_, word in spans], minlength=len(selection.vocabulary))
        assert (found == selection.counts[[row]].toarray().ravel()).all()
        for start, end, word in spans:
            spelt = text[start:end].lower() if tokeniser.lowercase else text[start:end]
            assert spelt == selection.vocabulary[word]


def test_spans_take_the_longest_phrase_from_the_left():
    tokeniser = Tokeniser(ngrams=3)
    text = "New York of new times; a new YORK times."
    index = {"new": 0, "york": 1, "times": 2, "new york": 3, "york new times": 4, "new york times": 5}
    spans = [(text[a:b], word) for a, b, word in tokeniser.spans(text, index)]
    assert spans == [("New York", 3), ("new", 0), ("times", 2), ("new YORK times", 5)]
    assert tokeniser.spans(text, ["york new times"]) == [(4, 21, 0)]
    assert Tokeniser().spans(text, index) == [s for s in Tokeniser().spans(text, index) if s[2] < 3]


@for_each(
    "settings",
    [
        {"ngrams": 4},
        {"max_share": 0.0},
        {"lowercase": "yes"},
        {"stop_words": "english"},
        {"stop_words": ("klingon",)},
        {"extra_stop_words": "the"},
        {"extra_stop_words": (1,)},
        {"token_pattern": "("},
        {"token_pattern": r"(a)(b)"},
        {"stemmer": "porter"},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ParameterError):
        Tokeniser.from_dict(settings)


#: Without blanks between words, …
WITHOUT_BLANKS = {
    "chinese": "机器学习是人工智能的一个分支。显然,机器学习是实现人工智能的一个途径。北京是中国的首都",
    "chinese with english": "我们在这里使用machine learning的方法来分析这些文本数据。深度学习deep learning是最",
    "japanese": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で",
    "korean": "한국어는대한민국과조선민주주의인민공화국의공용어이다. 오늘은날씨가매우좋아서친구들과함께공원에갔습니다",
    "thai": "ภาษาไทยเป็นภาษาที่ใช้ในประเทศไทย มีผู้พูดจำนวนมาก กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "lao": "ພາສາລາວເປັນພາສາທາງການຂອງສາທາລະນະລັດປະຊາທິປະໄຕປະຊາຊົນລາວ ວຽງຈັນເປັນນະຄອນຫຼວງຂອງປະເທດລາວ",
    "khmer": "ភាសាខ្មែរជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា រាជធានីភ្នំពេញគឺជាទីក្រុងធំបំផុតនៅក្នុងប្រទេស",
    "letters of a gene": "ACGTACGTTAGCTAGCTAGCATCGATCGATCGATCAGCTAGCATCGAT GATTACAGATTACAGATTACAGATTACAGATTACAGATTACA",
}
#: … and with them, or without such words.
WITH_BLANKS = {
    "chinese": "机器 学习 是 人工智能 的 一个 分支 。 显然 , 机器 学习 是 实现 人工智能 的 一个 途径 。 中华人民共和国",
    "japanese": "吾輩 は 猫 で ある 。 名前 は まだ 無い 。 どこ で 生れ た か とんと 見当 が つか ぬ 。",
    "korean": "한국어는 대한민국과 조선민주주의인민공화국의 공용어이다. 오늘은 날씨가 매우 좋아서 친구들과 함께",
    "thai": "ภาษา ไทย เป็น ภาษา ที่ ใช้ ใน ประเทศ ไทย มี ผู้ พูด จำนวน มาก กรุงเทพมหานคร เป็น เมืองหลวง ของ",
    "english": "Machine learning is a branch of artificial intelligence, electroencephalographically speaking.",
    "german": "Die Donaudampfschifffahrtsgesellschaft und die Geschwindigkeitsbegrenzung gelten überall hier",
    "greenlandic": "Inuit tamarmik inunngorput nammineersinnaassuseqarlutik assigiimmillu ataqqinassuseqarlutillu",
    "tamil": "தமிழ் மொழி உலகின் பழமையான மொழிகளில் ஒன்று. இலக்கியங்கள் ஈராயிரத்துக்கும் மேற்பட்ட ஆண்டுகளாகத்",
    "hindi": "हिन्दी भारत की राजभाषा है और यह देवनागरी लिपि में लिखी जाती है। विश्वविद्यालयों में अध्ययन",
}
EVERY = {"min_documents": 1, "max_share": 1.0, "stop_words": ()}


@for_each("language, pattern", rotate(WITHOUT_BLANKS, [r"(?u)\b\w\w+\b", r"\S+"]))
def test_texts_without_blanks_between_words_are_reported(language, pattern):
    tokeniser = Tokeniser(**EVERY, token_pattern=pattern)
    uncut = tokeniser.preview([WITHOUT_BLANKS[language], WITH_BLANKS["english"]]).uncut
    assert uncut is not None
    assert "tokeniser of your own" in uncut
    named = {"letters of a gene": "token pattern", "chinese with english": "Chinese"}
    assert named.get(language, language.capitalize()) in uncut


@for_each("language, pattern", rotate(WITH_BLANKS, [r"(?u)\b\w\w+\b", r"\S+"]))
def test_words_between_blanks_are_not_reported(language, pattern):
    text = WITH_BLANKS[language]
    assert Tokeniser(**EVERY, token_pattern=pattern).preview([text, text[:40]]).uncut is None


def test_marks_belong_to_their_letters():
    tokeniser = Tokeniser(**EVERY)
    hindi = load_corpus(
        [WITH_BLANKS["hindi"], "और हिन्दी"], tokeniser=Tokeniser(stop_words=["hindi"], max_share=1.0)
    )
    assert hindi.data.vocabulary.tolist() == ["हिन्दी"]
    text = "Cafe\u0301s, İstanbul"
    spans = tokeniser.spans(text, ["cafe\u0301s", "i\u0307stanbul"])
    assert [text[a:b] for a, b, _ in spans] == ["Cafe\u0301s", "İstanbul"]


def bigrams(text):
    return (text[i : i + 2] for i in range(len(text) - 1))


def test_a_function_gives_the_words():
    loaded = load_corpus(["abc abd", "ABD", "xyz"], tokeniser=bigrams)
    assert loaded.data.vocabulary.tolist() == ["ab", "bd"]
    assert loaded.data.tokeniser == Tokeniser(function=bigrams)
    kept = Tokeniser(function=str.split, lowercase=False, **EVERY).preview(["Don't \u3000 bank", " "]).kept
    assert kept.words.tolist() == ["Don't", "bank"]


@for_each(
    "function, told",
    [
        (lambda text: text.upper(), "of the type str; it must give a list of str"),
        (lambda text: [text, 3], r"a list with a int \(3\); it must give a list of str"),
        (lambda text: (1 / 0 for _ in text), "fails: ZeroDivisionError"),
    ],
)
def test_a_function_that_fails_is_named_with_the_text(function, told, tmp_path):
    def second_only(text):
        return ["fine"] if text == "first" else function(text)

    for read in (
        lambda: load_corpus(["first", "the second one"], tokeniser=second_only),
        lambda: acvb_core.read_to_disk(b"first\nthe second one\n", tmp_path / "disk", tokeniser=second_only),
    ):
        with pytest.raises(ParameterError, match=told) as caught:
            read()
        assert "second_only" in str(caught.value)
        assert "of text 2 ('the second one')" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


MANY = ["a cat and a dog", "a dog in a house", "the house of the cat", "cat dog house"] * 3


def test_a_model_made_with_a_function_needs_it_again(tmp_path):
    result = acvb_core.fit(load_corpus(MANY, tokeniser=str.split).data, "cvb0", k=2, max_sweeps=5)
    wanted = result.transform(["dog house"]).to_numpy()[:, 1:]
    assert result.prepared.data.identity()["tokeniser"]["function"] == "builtins.str.split"
    path = tmp_path / "model.npz"
    acvb_core.save_model(result, path)
    with pytest.raises(
        ParameterError, match=r"cut by builtins\.str\.split, a function of your own, which is not saved"
    ):
        acvb_core.load_model(path).transform(["dog house"])
    again = acvb_core.load_model(path, tokeniser=str.split)
    assert again.transform(["dog house"]).to_numpy()[:, 1:] == pytest.approx(wanted)
    lists = acvb_core.load_model(path).transform([["dog", "house"]])
    assert lists.to_numpy()[:, 1:] == pytest.approx(wanted)


#: On forty letters this takes 2^40 steps.
ENDLESS = r"(?:a+)+\b\d"
LONG = "a" * 40 + "!"
PATTERN_TEXTS = ["a river of 1996", "", "Don't über-bank İ x_1", "हिन्दी é \ud800 end"]


@pytest.fixture
def short_limit(monkeypatch):
    monkeypatch.setattr(tokenise, "SECONDS", 0.2)


@for_each(
    "pattern", [TOKEN_PATTERN + "(?:)", r"\S+", r"[A-Za-z]+", r"#?(\w)\w*", r"(?i)RIVER", r"\w+(-\w+)?"]
)
def test_spans_are_those_of_re(pattern):
    compiled = re.compile(pattern)
    wanted = [[match.span(compiled.groups) for match in compiled.finditer(text)] for text in PATTERN_TEXTS]
    assert list(find_spans(PATTERN_TEXTS, pattern)) == wanted


@pytest.mark.usefixtures("short_limit")
def test_an_endless_pattern_is_refused_and_names_the_text():
    with pytest.raises(ParameterError) as caught:
        list(find_spans(["a1", "fine", LONG, "a2"], ENDLESS))
    for part in (repr(ENDLESS), "text 3", "aaaa", "(a+)+"):
        assert part in str(caught.value)


TOKENISER = Tokeniser(token_pattern=ENDLESS, stop_words=(), min_documents=1, max_share=1.0)
FILE = f"a1 a2\n{LONG}\n".encode()


@pytest.mark.usefixtures("short_limit")
@for_each(
    "read",
    [
        lambda folder: TOKENISER.spans(LONG, ["a"]),
        lambda folder: load_corpus(FILE, tokeniser=TOKENISER),
        lambda folder: read_to_disk(FILE, folder / "disk", tokeniser=TOKENISER),
        lambda folder: read_to_disk(FILE, folder / "disk", tokeniser=TOKENISER, broken="skip"),
        lambda folder: Tokeniser(token_pattern=ENDLESS, extra_stop_words=(LONG,)).drops("a1"),
    ],
)
def test_every_way_to_cut_texts_refuses_it(read, tmp_path):
    with pytest.raises(ParameterError, match="takes more than"):
        read(tmp_path)
    assert list(tmp_path.iterdir()) == []
