"""The guess of an encoding: the right one first, with words that read well."""

from __future__ import annotations

from acvb_core.data.infer import guess_encodings
from tests.loops import for_each

FRENCH = "nom;fête\nZoé;Noël\nFrançois;Pâques\nHélène;Été\n"
CHINESE = "姓名,城市\n王小明,北京\n李华,上海\n张伟,广州\n"
JAPANESE = "名前,場所\nたろう,とうきょう\n花子,大阪のまち\n"
RUSSIAN = "имя;город\nАнна;Москва\nИгорь;Казань\nСергей;Тверь\n"
ASCII = "a;b\nx;yes\nz;no\n"
TEXTS = [
    (FRENCH, "cp1252"),
    ("mot;n\nlà;1\noù;2\ntrès;3\n", "cp1252"),
    ("mot\nà\n", "cp1252"),
    ("Person,Ort\nJürgen,Köln\nBjörn,München\nKäthe,Straße\n", "cp1252"),
    ("nombre;año\nPeña;¿qué?\nNúñez;mañana\n¡Olé!;corazón\n", "cp1252"),
    ("navn;by\nSøren;København\nÆgir;Århus\nPå;grød\n", "cp1252"),
    ("nafn;staður\nÞórður;Reykjavík\nGuðrún;Ísafjörður\nævi;þýða\n", "cp1252"),
    ("a,b\nit’s,“so”\n", "cp1252"),
    ("osoba;miasto\nŁukasz;Łódź\nGrażyna;Poznań\nWiesław;Gdańsk\n", "cp1250"),
    ("jméno;město\nJiří;Praha\nTomáš;Plzeň\nAndrea;Jihlava\nMarek;Kladno\nLukáš;Zlín\n", "cp1250"),
    ("číslo;článek\nzpráva;škola\nnádraží;jízdenka\nútočník;hřiště\nzpoždění;déšť\n", "cp1250"),
    ("nume;oraş\nIoană;Iaşi\nŞtefan;Târgu Mureş\npiaţă;maşină\n", "cp1250"),
    ("ime;grad\nĐuro;Čakovec\nŽeljko;Šibenik\nkuća;život\n", "cp1250"),
    (RUSSIAN, "cp1251"),
    ("имя;город\nанна;москва\nигорь;казань\n", "cp1251"),
    ("ИМЯ;ГОРОД\nАННА;МОСКВА\nИГОРЬ;КАЗАНЬ\n", "cp1251"),
    (RUSSIAN, "koi8-r"),
    ("όνομα;πόλη\nΓιώργος;Αθήνα\nΕλένη;Θεσσαλονίκη\nλόγος;αρχή\n", "cp1253"),
    ("اسم;مدينة\nمحمد;القاهرة\nفاطمة;بغداد\n", "cp1256"),
    *((text, encoding) for encoding in ("shift_jis", "euc_jp") for text in (
        JAPANESE, "題名,本文\n東京の天気,今日は晴れです\n会議の記録,来週またやります\n",
        "名前,会社\nデータ,システム\nコンピュータ,東京\n",
    )),
    *(("東京都,大阪府\n京都市,神戸市\n", encoding) for encoding in ("shift_jis", "euc_jp")),
    (CHINESE, "gb18030"),
    ("我们的学校,今天天气很好\n你好世界,谢谢大家\n中华人民共和国,上海市\n", "gb18030"),
    ("姓名,城市\n陳小明,臺北\n李國華,高雄\n學校,讀書\n", "big5"),
    *((text, f"utf-16-{end}") for end in ("le", "be") for text in (FRENCH, RUSSIAN, CHINESE, JAPANESE, ASCII)),
]  # fmt: skip


@for_each("text, encoding", TEXTS)
def test_the_right_encoding_comes_first_and_its_words_are_shown(text: str, encoding: str) -> None:
    best = guess_encodings(text.encode(encoding))[0]
    assert best.encoding == encoding
    assert bool(best.words) == (text != ASCII)
    assert all(word in text for word in best.words)


@for_each("content", [FRENCH.encode(), b"a,b\n1,2\n", FRENCH.encode("utf-16"), FRENCH.encode()[:10]])
def test_nothing_is_guessed_of_a_text_that_is_utf_8_or_says_its_encoding(content: bytes) -> None:
    assert guess_encodings(content) == []


def test_encodings_that_do_not_allow_the_bytes_are_left_out() -> None:
    offered = [guess.encoding for guess in guess_encodings(b"a;b\nZo\xe9;F\xeate\n\x81;x\n")]
    assert "cp1252" not in offered
    assert "latin-1" in offered


def test_long_words_are_not_shown() -> None:
    (best, *_) = guess_encodings(f"Zoé;{'é' * 40}\n".encode("cp1252"))
    assert best.words == ("Zoé",)


@for_each("text, encoding", [
        ("ad;şehir\nAyşe;İstanbul\n", "cp1254"), ("שם;עיר\nדוד;ירושלים\n", "cp1255"),
        ("vārds;pilsēta\nJānis;Rīga\n", "cp1257"), ("이름,도시\n김철수,서울\n", "euc_kr"),
    ])  # fmt: skip
def test_encodings_that_are_not_told_apart_can_be_chosen(text: str, encoding: str) -> None:
    guess = next(guess for guess in guess_encodings(text.encode(encoding)) if guess.encoding == encoding)
    assert guess.words
    assert all(word in text for word in guess.words)
