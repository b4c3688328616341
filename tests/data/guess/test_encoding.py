"""The guess of an encoding: the right one first, with words that read well."""

from __future__ import annotations

import pytest

from acvb_core.data.guess.encoding import guess_encodings

FRENCH = "nom;fête\nZoé;Noël\nFrançois;Pâques\nHélène;Été\n"
GERMAN = "Person,Ort\nJürgen,Köln\nBjörn,München\nKäthe,Straße\n"
POLISH = "osoba;miasto\nŁukasz;Łódź\nGrażyna;Poznań\nWiesław;Gdańsk\n"
RUSSIAN = "имя;город\nАнна;Москва\nИгорь;Казань\nСергей;Тверь\n"
JAPANESE = "名前,場所\nたろう,とうきょう\n花子,大阪のまち\n"
CHINESE = "姓名,城市\n王小明,北京\n李华,上海\n张伟,广州\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"), (GERMAN, "cp1252"), ("a,b\nit’s,“so”\n", "cp1252"), (POLISH, "cp1250"),
        (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (JAPANESE, "shift_jis"), (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"), (FRENCH, "utf-16-le"), (FRENCH, "utf-16-be"),
    ],
)  # fmt: skip
def test_the_right_encoding_comes_first_and_its_words_are_shown(text: str, encoding: str) -> None:
    best = guess_encodings(text.encode(encoding))[0]
    assert best.encoding == encoding
    assert best.words
    assert all(word in text for word in best.words)


@pytest.mark.parametrize(
    "content", [FRENCH.encode(), b"a,b\n1,2\n", FRENCH.encode("utf-16"), FRENCH.encode()[:10]]
)
def test_nothing_is_guessed_of_a_text_that_is_utf_8_or_says_its_encoding(content: bytes) -> None:
    assert guess_encodings(content) == []


def test_encodings_that_do_not_allow_the_bytes_are_left_out() -> None:
    offered = [guess.encoding for guess in guess_encodings(b"a;b\nZo\xe9;F\xeate\n\x81;x\n")]
    assert "cp1252" not in offered
    assert "latin-1" in offered


@pytest.mark.parametrize(
    ("text", "usual", "other"),
    [(FRENCH, "cp1252", "latin-1"), ("имя;город\nанна;москва\n", "cp1251", "koi8-r")],
)
def test_of_two_that_read_equally_well_the_usual_one_comes_first(text: str, usual: str, other: str) -> None:
    offered = [guess.encoding for guess in guess_encodings(text.encode(usual))]
    assert offered[:2] == [usual, other]
