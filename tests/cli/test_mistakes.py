"""Every mistake on the command line is one line on stderr, which names the flag, the file or the place in it."""

from __future__ import annotations

from pathlib import Path

import networkx
import pandas as pd
import pytest

from acvb_core.samples.planted_mixtures import block_images
from tests.cli.support import WOMEN, Run
from tests.loops import for_each

BARS, BLOCKS = "sample:bars", "sample:block_images"
TABLE = "table.csv --model lfm"
TEXTS = "texts.csv --model lda"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of links, of texts, of counts and of numbers, and faulty ones."""
    monkeypatch.chdir(tmp_path)
    graph = networkx.karate_club_graph()
    texts = {
        "links.csv": "a,b\n" + "".join(f"m{i},m{j}\n" for i, j in graph.edges),
        "texts.csv": "title,text\n" + "".join(f"t{i},ship sail harbour wave\n" for i in range(12)),
        "docword.talks.txt": "2\n2\n2\n1 1 2\n2 2 1\n",
        "vocab.txt": "ship\nsail\n",
        "others.csv": "who,group\nnobody,1\nno one,2\n",
        "bad.csv": "a,b,value\nx,y,1\nx,z\n",
        "m.mtx": "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    table = pd.DataFrame(
        block_images(60, noise=0.2, seed=3).table.values, columns=[f"p{d}" for d in range(36)]
    )
    table["p0"] = 5.0
    table.assign(name=[f"row {n}" for n in range(60)], kind=["odd", "even"] * 30).to_csv(
        "table.csv", index=False
    )
    return tmp_path


@for_each("command, words", [
        ("", "COMMAND"),
        ("explode", "invalid choice: 'explode'"),
        ("fit", "FILE"),
        # Files, folders and samples
        ("fit nowhere.csv", "nowhere.csv: the file cannot be opened"),
        ("fit nowhere.csv --model lda", "nowhere.csv: the file cannot be opened"),
        ("read nowhere.csv x", "nowhere.csv: the file cannot be opened"),
        ("fit two\nlines.csv", "two lines.csv"),
        ("fit bad.csv", "acvb: bad.csv, line 3"),
        ("fit m.mtx --model lda --format counts", "this is a sparse matrix"),
        ("fit sample:nothing", "no sample 'nothing'; choose among southern_women"),
        (f"fit {WOMEN} --out bad.csv/below", "bad.csv"),
        (f"fit {WOMEN} --shape 3x3", "A sample is read as it is; leave --shape out"),
        (f"fit {BARS} --vocab words", "leave --vocabulary out"),
        (f"fit {BARS} --ngrams 2", "leave --ngrams out"),
        (f"fit {BARS} --name mine", "leave --name out"),
        (f"fit {BARS} --broken skip", "leave --broken out"),
        (f"fit {BARS} --labels clubs", "leave --labels out"),
        (f"fit {WOMEN} --image 8x8", "leave --image out"),
        (f"fit {BLOCKS} --row-labels none", "leave --row-labels out"),
        # Models and methods
        (f"fit {WOMEN} --model magic", "no model 'magic'; there are irm, network, poisson, poisson-network, lda"),
        (f"fit {WOMEN} --method magic", "model 'irm' has no method 'magic'; it has acvb0"),
        (f"fit {WOMEN} --model lda", "model 'lda' is for a corpus; this is a relation"),
        (f"fit {BARS} --model network", "model 'network' is for a relation; this is a corpus"),
        (f"fit {BLOCKS} --model irm", "model 'irm' is for a relation; this is a table"),
        (f"fit {BLOCKS} --method acvb0", "model 'lfm' has no method 'acvb0'; it has fab, em"),
        (f"compare {WOMEN} --methods vb,magic", "no method 'magic'"),
        (f"compare {WOMEN} --methods ,", "name at least one"),
        (f"compare {WOMEN} --seeds a", "'a' is neither a number of seeds"),
        (f"compare {BARS} --methods sdm,gibbs --on-disk x", "only methods that stream or have --shards"),
        (f"fit {BARS} --on-disk x --method cvb", "only methods that stream or have --shards can take"),
        (f"tune {BARS} --method cvb0", "method 'cvb0' has nothing to tune"),
        (f"tune {BLOCKS}", "methods of model 'lfm' have no steps to tune; those of lda have"),
        (f"tune {BARS} --trials 0", "is not a whole number of at least 1"),
        # Settings
        (f"fit {WOMEN} --k-row 3", "unrecognized arguments: --k-row 3"),
        (f"fit {WOMEN} --method vb --burn-in 3", "--burn-in is not a setting of vb; acvb0, acvb, gibbs have it"),
        (f"fit {BARS} --method sdm --max-sweeps 3", "--max-sweeps is not a setting of sdm"),
        (f"compare {WOMEN} --methods vb,cvb0 --burn-in 3", "--burn-in is not a setting of vb and cvb0"),
        (f"fit {BARS} --k-rows 3", "which has --k; irm, network, poisson, poisson-network have it"),
        ("fit links.csv --domains one --k-cols 3", "; irm has it (--domains two)"),
        ("fit links.csv --model poisson-network --k-cols 3", "; poisson has it (--domains two)"),
        (f"fit {WOMEN} --k-rows 0", "k_rows is 0; it must be from 1 to 1000"),
        (f"fit {WOMEN} --k-rows inf", "--k-rows is 'inf'; it must be a whole number"),
        (f"fit {WOMEN} --tol small", "--tol is 'small'; it must be a number"),
        (f"fit {WOMEN} --tol nan", "tol is nan; it must be a number"),
        (f"fit {WOMEN} --hyper minka", "hyper is 'minka'; it must be one of tied"),
        (f"fit {WOMEN} --heldout 1", "at least 0 and below 1"),
        (f"fit {WOMEN} --heldout x", "'x' is not a number"),
        (f"fit {WOMEN} --heldout-seed -1", "must be at least 0"),
        (f"fit {WOMEN} --seed x", "invalid int value: 'x'"),
        (f"fit {WOMEN} --restarts 0", "--restarts"),
        (f"fit {BLOCKS} --method em --restarts 2", "2 restarts are to race, but nothing is held out"),
        ("fit texts.csv --start nowhere.npz", "nowhere.npz is not there"),
        (f"fit {BARS} --heldout .1 --heldout-documents .1", "whole documents; give one of the two"),
        (f"fit {BARS} --method sdm --heldout-documents 1", "at least 0 and below 1"),
        # Ways of reading that are for other data
        (f"fit {TEXTS} --row-column 0", "--row-column is for a relation, but FILE is to be read as a corpus"),
        (f"fit {TEXTS} --format edges", "--format edges is for a relation"),
        (f"fit {TEXTS} --links 3 --out x", "--links is for a relation"),
        ("fit texts.csv --vocab words", "but FILE is to be read as a relation. Leave it out, or give --model"),
        ("fit links.csv --no-lowercase", "--lowercase is for a corpus"),
        ("fit links.csv --model irm --on-disk x", "--on-disk is for a corpus, but FILE is to be read as"),
        (f"fit {WOMEN} --on-disk x", "--on-disk is for a corpus; sample:southern_women is a relation"),
        (f"fit {TABLE} --heldout-documents 0.1", "--heldout-documents is for a corpus, but FILE is to be read"),
        (f"fit {TABLE} --stop-words none", "--stop-words is for a corpus"),
        (f"fit {WOMEN} --no-standardise", "--no-standardise is for a table; sample:southern_women is a relation"),
        ("fit links.csv --model irm --row-labels 0", "give --model lfm"),
        # Reading
        ("fit links.csv --shape 3by3", "write it as 1892x1892"),
        ("fit links.csv --format word", "invalid choice: 'word'"),
        ("fit links.csv --domains two --directed", "--directed is for one set of objects, but --domains two reads"),
        ("fit links.csv --domains two --no-self-links", "--no-self-links is for one set of objects"),
        ("fit links.csv --domains two --model network", "--model network is for one set of objects"),
        ("fit sample:karate --domains two --directed", "give --domains one"),
        ("fit links.csv --directed --undirected", "--directed and --undirected answer one question: give one"),
        ("fit links.csv --labels others.csv", "is an object of the relation"),
        ("fit links.csv --links 3", "--links writes files, but there is no folder for them. Give one with --out"),
        ("fit links.csv --links 0 --out x", "--links is 0; it must be at least 1"),
        (f"fit {TEXTS} --max-share 2", "max_share is 2.0; it must be from 0.01 to 1"),
        (f"fit {TEXTS} --stop-words klingon", "no stop words for the language 'klingon'"),
        (f"fit {TEXTS} --token-pattern (", "not a regular expression"),
        (f"fit {TEXTS} --text-column body", "there is no column of this name"),
        (f"fit {TEXTS} --vocab vocab.txt", "A vocabulary is for word counts; texts.csv is read as table"),
        (f"fit {TEXTS} --word-column 1", "word_column does not apply"),
        ("fit docword.talks.txt --model lda --ngrams 2", "A tokeniser is for texts; docword.talks.txt is read as"),
        (f"fit {TABLE}", "2 columns of text"),
        (f"fit {TABLE} --leave-out kind,name", "1 column has no two different values: 'p0'"),
        (f"fit {TABLE} --leave-out kind,name,p0 --image 6x6", "a picture of 6 x 6 has 36 pixels, but there are"),
        (f"fit {TABLE} --image six", "A picture's size is its height and width"),
        (f"fit {TABLE} --categories drop", "invalid choice: 'drop'"),
    ])  # fmt: skip
def test_every_mistake_is_one_line(files: Path, run: Run, command: str, words: str) -> None:
    before = sorted(files.iterdir())
    failed = run(*command.split(" ")) if command else run()
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith("acvb: ")
    assert failed.err.count("\n") == 1
    assert words in failed.err
    assert sorted(files.iterdir()) == before
