"""The kind of data and the encoding of a file are guessed from its content, with the reason."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from acvb_core.data.infer import guess_encodings, guess_kind, read_beginning
from tests.data.support import saved, zipped
from tests.loops import for_each

WORDS = "the harbour was quiet and the boats lay close together while somebody sang about rain".split()  # noqa: SIM905
LONG = [" ".join(WORDS[(i * 7 + j * (i + 3)) % len(WORDS)] for j in range(200)) for i in range(30)]
STORIES = pd.DataFrame(
    {"id": range(30), "date": "2024-01-01", "party": ["left", "right"] * 15, "speech_text": LONG}
)
ANSWERS = pd.DataFrame({"nr": range(30), "says": [text[:90] + str(i) for i, text in enumerate(LONG)]})
FLOWERS = "length,width,kind\n" + "".join(f"{4 + i / 10},{3 - i / 20},{'ab'[i % 2]}\n" for i in range(20))
ORDERS = "id,from_user,to_item,weight\n" + "".join(f"{i + 7},u{i // 3},i{i % 5},{i % 4}\n" for i in range(20))
GRAPHML = (
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    b'<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'
)


@for_each(
    "name, content, kind, reason",
    [
        ("speeches.csv", STORIES.to_csv(index=False), "texts", "The column “speech_text” holds texts of more than"),
        ("answers.csv", ANSWERS.to_csv(index=False), "texts", "“says”"),
        (
            "numbered.csv",
            "country;region;year 1;year 2;year 3\nA;north;1,5;2,25;\nB;south;2,5;;3,5\nC;south;0,5;1,5;2,5\n",
            "table", "3 of its 5 columns hold numbers",
        ),
        ("lines.txt", "\n".join(LONG), "texts", "Each line is a text of about"),
        ("talks.txt", "机器学习是人工智能的一个分支\n今天天气很好\n", "texts", "Each line is a text"),
        ("counts.csv", "doc,word,count\na,cat,2\nb,cat,1\n", "counts", "documents and words"),
        ("words.csv", "doc,sea,ship,corn\na,2,0,0\nb,0,1,0\nc,0,0,3\n", "counts", "its columns count words"),
        ("names.csv", "person,sea,ship,corn\na,2,0,0\nb,0,1,0\nc,0,0,3\n", "table", "hold numbers"),
        ("sizes.csv", "id,x1,x2,x3\na,2,0,0\nb,0,1,0\nc,0,0,3\n", "table", "hold numbers"),
        ("dense.csv", "doc,sea,ship,corn\na,2,1,1\nb,1,1,2\nc,1,2,3\n", "table", "hold numbers"),
        ("docword.txt", "2\n3\n3\n1 1 2\n1 2 1\n2 3 1\n", "counts", "UCI docword"),
        ("x.ldac", "2 0:2 1:1\n1 2:1\n", "counts", "LDA-C"),
        ("outings.csv", "person,event,times\nAnn,Fair,2\nBob,Ball,1\n", "relation", "no name occurs on both"),
        ("ratings.csv", "user,item,rating\n1,7,4.5\n1,8,2\n2,7,3\n", "relation", ""),
        ("orders.csv", ORDERS, "relation", "no name occurs on both"),
        ("who.csv", "Ann,Bob\nBob,Cyd\nCyd,Ann\n", "network", "3 of 3 names occur on both"),
        ("mail.csv", "source,target,weight,time\n1,2,3,10\n2,3,1,11\n3,1,1,12\n", "network", "columns are named"),
        ("matrix.csv", "name,Fair,Ball,Race\nAnn,1,0,1\nBob,0,1,0\nCyd,0,1,1\n", "relation", ""),
        ("near.csv", ",a,b,c\na,0,2.5,1\nb,2.5,0,3\nc,1,3,0\n", "network", "same objects"),
        ("flowers.csv", FLOWERS, "table", "2 of its 3 columns hold numbers."),
        ("commas.csv", "a;b\n1,5;2\n2,5;7\n-4;1,25\n", "table", "2 of its 2"),
        ("people.csv", "name,kind,age,pay,size\nAnn,a,30,9,2\nBob,b,40,8,3\nCyd,a,50,7,1\n", "table", "3 of its 5"),
        ("big.csv", "id,fox,dog,cat\na,0,0,9 000\nb,0,1,0\nc,0,0,1\n", "counts", "words"),
    ],
)  # fmt: skip
def test_text_files_are_recognised_with_the_reason(name: str, content: str, kind: str, reason: str) -> None:
    guess = guess_kind(content.encode(), name)
    assert guess.kind == kind
    assert reason in guess.reason
    assert guess.reason.endswith(".")
    packed = guess_kind(gzip.compress(content.encode(), mtime=0), f"{name}.gz")
    assert packed.kind == kind


@for_each("name, content, kind", [
        ("speeches.parquet", saved(STORIES.to_parquet), "texts"),
        ("flowers.parquet", saved(pd.read_csv(io.StringIO(FLOWERS)).to_parquet), "table"),
        ("books.zip", zipped({"one.txt": "Some words", "two.txt": "Other words"}), "texts"),
        ("friends.graphml", GRAPHML, "network"),
        ("cells.npy", saved(np.save, np.eye(3)), "table"),
        ("cells.npz", saved(np.savez, np.eye(3) + 0.5), "table"),
        ("sparse.npz", saved(sparse.save_npz, sparse.csr_array(np.eye(3, 4))), "relation"),
    ])  # fmt: skip
def test_other_files_are_recognised(name: str, content: bytes, kind: str) -> None:
    assert guess_kind(content, name).kind == kind


def test_a_large_file_is_judged_by_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(f"p{i % 50},p{(i * 7 + 1) % 50}\n" for i in range(2_000)).encode()
    assert read_beginning(content) == (content, True)
    assert guess_kind(content, "n.csv").facts
    monkeypatch.setattr("acvb_core.data.infer.MOST_BYTES", 5_000)
    start, whole = read_beginning(content)
    assert not whole
    assert content.startswith(start)
    assert start.endswith(b"\n")
    guess = guess_kind(content, "n.csv")
    assert (guess.kind, guess.facts) == ("network", ())


FRENCH = "nom;fête\nZoé;Noël\nFrançois;Pâques\nHélène;Été\n"
CHINESE = "姓名,城市\n王小明,北京\n李华,上海\n张伟,广州\n"
JAPANESE = "名前,場所\nたろう,とうきょう\n花子,大阪のまち\n"
RUSSIAN = "имя;город\nАнна;Москва\nИгорь;Казань\nСергей;Тверь\n"
ASCII = "a;b\nx;yes\nz;no\n"
TEXTS = [
    (FRENCH, "cp1252"),
    ("mot;n\nlà;1\noù;2\ntrès;3\n", "cp1252"),
    ("Person,Ort\nJürgen,Köln\nBjörn,München\nKäthe,Straße\n", "cp1252"),
    ("navn;by\nSøren;København\nÆgir;Århus\nPå;grød\n", "cp1252"),
    ("a,b\nit’s,“so”\n", "cp1252"),
    ("osoba;miasto\nŁukasz;Łódź\nGrażyna;Poznań\nWiesław;Gdańsk\n", "cp1250"),
    ("jméno;město\nJiří;Praha\nTomáš;Plzeň\nAndrea;Jihlava\nMarek;Kladno\nLukáš;Zlín\n", "cp1250"),
    ("nume;oraş\nIoană;Iaşi\nŞtefan;Târgu Mureş\npiaţă;maşină\n", "cp1250"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    ("όνομα;πόλη\nΓιώργος;Αθήνα\nΕλένη;Θεσσαλονίκη\nλόγος;αρχή\n", "cp1253"),
    ("اسم;مدينة\nمحمد;القاهرة\nفاطمة;بغداد\n", "cp1256"),
    *((text, encoding) for encoding in ("shift_jis", "euc_jp") for text in (
        JAPANESE, "名前,会社\nデータ,システム\nコンピュータ,東京\n", "東京都,大阪府\n京都市,神戸市\n",
    )),
    (CHINESE, "gb18030"),
    ("姓名,城市\n陳小明,臺北\n李國華,高雄\n學校,讀書\n", "big5"),
    *((text, f"utf-16-{end}") for end in ("le", "be") for text in (FRENCH, RUSSIAN, CHINESE, JAPANESE, ASCII)),
]  # fmt: skip


@for_each("text, encoding", TEXTS)
def test_the_right_encoding_comes_first_and_its_words_are_shown(text: str, encoding: str) -> None:
    best = guess_encodings(text.encode(encoding))[0]
    assert best.encoding == encoding
    assert bool(best.words) == (text != ASCII)
    assert all(word in text for word in best.words)


#: One line of another encoding: its reader names the line.
MIXED = "Zoé\nAnaïs\n".encode() + b"Bj\xf6rn\n"


@for_each("content", [FRENCH.encode(), b"a,b\n1,2\n", FRENCH.encode("utf-16"), FRENCH.encode()[:10], MIXED])
def test_nothing_is_guessed_of_a_text_that_is_utf_8_or_says_its_encoding(content: bytes) -> None:
    assert guess_encodings(content) == []
