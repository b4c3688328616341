"""Texts that are not cut into words are told of; words come from a function of the user's, or as lists."""

from __future__ import annotations

import re

import pytest

import acvb_core
from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.corpora.readers import load_corpus
from acvb_core.data.corpora.tokenise import STOP_WORD_LANGUAGES, Tokeniser, stop_words_of
from tests.loops import for_each

#: Without blanks between words, …
WITHOUT_BLANKS = {
    "chinese": "机器学习是人工智能的一个分支。显然,机器学习是实现人工智能的一个途径。北京是中国的首都",
    "chinese with english": "我们在这里使用machine learning的方法来分析这些文本数据。深度学习deep learning是最",
    "classical chinese": "子曰學而時習之不亦說乎。有朋自遠方來,不亦樂乎。人不知而不慍,不亦君子乎",
    "japanese": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で",
    "korean": "한국어는대한민국과조선민주주의인민공화국의공용어이다. 오늘은날씨가매우좋아서친구들과함께공원에갔습니다",
    "thai": "ภาษาไทยเป็นภาษาที่ใช้ในประเทศไทย มีผู้พูดจำนวนมาก กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "lao": "ພາສາລາວເປັນພາສາທາງການຂອງສາທາລະນະລັດປະຊາທິປະໄຕປະຊາຊົນລາວ ວຽງຈັນເປັນນະຄອນຫຼວງຂອງປະເທດລາວ",
    "khmer": "ភាសាខ្មែរជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា រាជធានីភ្នំពេញគឺជាទីក្រុងធំបំផុតនៅក្នុងប្រទេស",
    "burmese": "မြန်မာဘာသာစကားသည် မြန်မာနိုင်ငံ၏ ရုံးသုံးဘာသာစကားဖြစ်သည်။ ရန်ကုန်မြို့သည် မြန်မာနိုင်ငံ၏",
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


@for_each("language", list(WITHOUT_BLANKS))
@for_each("pattern", [r"(?u)\b\w\w+\b", r"\S+"])
@for_each("ngrams", [1, 2])
def test_sentences_that_count_as_words_are_told_of(language, pattern, ngrams):
    tokeniser = Tokeniser(**EVERY, token_pattern=pattern, ngrams=ngrams)
    uncut = tokeniser.preview([WITHOUT_BLANKS[language], WITH_BLANKS["english"]]).uncut
    assert uncut is not None
    assert "tokeniser of your own" in uncut
    named = {
        "letters of a gene": "token pattern",
        "chinese with english": "Chinese",
        "classical chinese": "Chinese",
    }
    assert named.get(language, language.capitalize()) in uncut


@for_each("language", list(WITH_BLANKS))
@for_each("pattern", [r"(?u)\b\w\w+\b", r"\S+"])
@for_each("ngrams", [1, 3])
def test_words_between_blanks_are_not(language, pattern, ngrams):
    text = WITH_BLANKS[language]
    assert Tokeniser(**EVERY, token_pattern=pattern, ngrams=ngrams).preview([text, text[:40]]).uncut is None


def test_a_script_is_judged_by_itself():
    much = [WITH_BLANKS["english"]] * 3
    assert Tokeniser(**EVERY).preview([*much, WITHOUT_BLANKS["chinese"]]).uncut is not None
    assert Tokeniser(**EVERY).preview([*much * 10, WITHOUT_BLANKS["chinese"]]).uncut is None


TEXTS = [WITHOUT_BLANKS["chinese"], "机器学习是什么。显然,机器学习很好", "今天天气很好。机器学习是什么"]
LINES = "\n".join(TEXTS).encode()


def test_the_warning_stands_in_every_report(tmp_path):
    cut = Tokeniser(min_documents=1)
    told = [
        load_corpus(LINES, format="lines", tokeniser=cut).report.lines(),
        load_corpus(TEXTS, tokeniser=cut).report.lines(),
        acvb_core.read_to_disk(LINES, tmp_path / "disk", format="lines", tokeniser=cut).report.lines(),
    ]
    for lines in told:
        assert any("Chinese or Japanese text without blanks" in line for line in lines), lines


def test_it_comes_before_other_advice_where_no_word_is_left():
    with pytest.raises(DataError, match="without blanks between words cannot be cut"):
        load_corpus(["机器学习是什么", "今天天气很好"])


def test_stop_words_are_offered_for_languages_with_blanks():
    assert not {"chinese", "japanese", "thai"} & set(STOP_WORD_LANGUAGES)
    assert "的" in stop_words_of("chinese")
    words = load_corpus(
        TEXTS, tokeniser=Tokeniser(function=list, stop_words=["chinese"], max_share=1.0)
    ).data.vocabulary
    assert "习" in words
    assert "很" not in words


def test_marks_belong_to_their_letters():
    tokeniser = Tokeniser(**EVERY)
    assert tokeniser.preview(["cafe\u0301s d'e\u0301te\u0301"]).kept.words.tolist() == [
        "cafe\u0301s",
        "e\u0301te\u0301",
    ]
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
    loaded = load_corpus(["abc abd", "ABD"], tokeniser=Tokeniser(function=bigrams, **EVERY))
    assert loaded.data.vocabulary.tolist() == [" a", "ab", "bc", "bd", "c "]
    assert loaded.data.counts.toarray().tolist() == [[1, 2, 1, 1, 1], [0, 1, 0, 1, 0]]
    kept = Tokeniser(function=str.split, lowercase=False, **EVERY).preview(["Don't \u3000 bank", " "]).kept
    assert kept.words.tolist() == ["Don't", "bank"]
    stopped = Tokeniser(function=str.split, **EVERY | {"stop_words": ("english",)}, extra_stop_words=("x-y",))
    assert stopped.preview(["Don't x-y 1996 bank"]).kept.words.tolist() == ["bank"]


def test_its_words_are_found_again_in_the_text():
    tokeniser = Tokeniser(function=lambda text: ["went", "home" if "walk" in text else "house"], **EVERY)
    text = "Went to the house"
    assert [text[a:b] for a, b, _ in tokeniser.spans(text, ["house", "went"])] == ["Went", "house"]
    stems = Tokeniser(function=lambda text: ["go", "home"], **EVERY)
    assert [a for a, _, _ in stems.spans("went home " + "x" * 80 + " go", ["go", "home"])] == [5]


@for_each(
    "function, told",
    [
        (lambda text: text.upper(), "of the type str; it must give a list of str"),
        (lambda text: None, "of the type NoneType; it must give a list of str"),
        (lambda text: [text, 3], r"a list with a int \(3\); it must give a list of str"),
        (lambda text: [None], r"a list with a NoneType \(None\)"),
        (lambda text: text.nothing, "fails: AttributeError"),
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


def test_what_is_no_tokeniser_is_refused():
    with pytest.raises(ParameterError, match="must take a text"):
        load_corpus(["a text"], tokeniser=3)


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
    stream = acvb_core.StreamingLda("sdm", k=2, tokeniser=str.split).partial_fit(MANY)
    assert stream.transform(["dog house"])["tokens"].tolist() == [2]
    acvb_core.save_model(acvb_core.fit(MANY, "cvb0", k=2, max_sweeps=2), path)
    with pytest.raises(ParameterError, match="not cut by a function"):
        acvb_core.load_model(path, tokeniser=str.split)


def test_a_folder_made_with_a_function_needs_it_again(tmp_path):
    lines = "\n".join(MANY).encode()
    acvb_core.read_to_disk(lines, tmp_path / "disk", tokeniser=str.split)
    corpus = acvb_core.DiskCorpus.open(tmp_path / "disk")
    assert corpus.tokeniser.function == "builtins.str.split"
    assert not corpus.tokeniser.cuts_texts
    with pytest.raises(ParameterError, match=re.escape("DiskCorpus.open(…, tokeniser=function)")):
        corpus.tokeniser.spans("dog", ["dog"])
    corpus = acvb_core.DiskCorpus.open(tmp_path / "disk", tokeniser=str.split)
    assert corpus.tokeniser.spans("dog", ["dog"]) == [(0, 3, 0)]


LISTS = [["The", "cat", "1996"], ["The", "dog", "cat"], [], ["dog", "x y", "cat", "of"]]


def test_lists_of_words_are_taken_as_they_are():
    loaded = load_corpus(LISTS)
    assert loaded.data.vocabulary.tolist() == ["The", "cat", "dog"]
    assert loaded.data.counts.toarray().tolist() == [[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 1, 1]]
    assert (loaded.data.texts, loaded.report.count("dropped_too_rare")) == (None, 3)
    assert loaded.report.count("empty_documents") == 1
    asked = load_corpus(LISTS, tokeniser=Tokeniser(min_documents=1)).data
    assert asked.vocabulary.tolist() == ["cat", "dog", "x y"]
    pairs = load_corpus(LISTS, tokeniser=Tokeniser(token_pattern="", ngrams=2, **EVERY)).data
    assert "the cat" in pairs.vocabulary


def test_lists_of_words_and_texts_are_kept_apart():
    result = acvb_core.fit([line.split() for line in MANY], "cvb0", k=2, max_sweeps=5)
    assert result.transform([["dog", "house", "unseen"]])[["tokens", "unknown"]].to_numpy().tolist() == [
        [2, 1]
    ]
    with pytest.raises(ParameterError, match="were lists of words"):
        result.transform(["dog house"])
    for tokeniser in (Tokeniser(token_pattern=r"\S+"), str.split):
        with pytest.raises(ParameterError, match="lists of words already"):
            load_corpus(LISTS, tokeniser=tokeniser)
    with pytest.raises(ParameterError, match="lists of words"):
        load_corpus(["a text"], tokeniser=Tokeniser(token_pattern=""))
    with pytest.raises(ParameterError, match=r"document 2 is a list with a int \(3\)"):
        load_corpus([["a"], ["b", 3]])
