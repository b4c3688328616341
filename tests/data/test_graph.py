"""GraphML, GEXF, GML, Pajek and node-link files: what NetworkX writes is read back, and broken ones say where."""

from __future__ import annotations

import gzip
import io
import json

import networkx as nx
import numpy as np
import pytest

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data import graph
from acvb_core.data.relation import Network
from acvb_core.data.relation_readers import inspect_source, load_relation
from tests.loops import for_each


def write_node_link(found: nx.Graph, out: io.BytesIO) -> None:
    out.write(json.dumps(nx.node_link_data(found, edges="links")).encode())


WRITERS = {
    "graphml": nx.write_graphml,
    "gexf": nx.write_gexf,
    "gml": nx.write_gml,
    "pajek": nx.write_pajek,
    "node-link": write_node_link,
}
ENDINGS = {"graphml": ".graphml", "gexf": ".gexf", "gml": ".gml", "pajek": ".net", "node-link": ".json"}
FORMATS = for_each("format", list(WRITERS))
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def written(found: nx.Graph, format: str) -> bytes:
    out = io.BytesIO()
    WRITERS[format](found, out)
    return out.getvalue()


def xml(inside: str, keys: str = "", kind: str = "directed") -> bytes:
    return f'{HEAD}{keys}\n<graph edgedefault="{kind}">\n{inside}\n</graph></graphml>'.encode()


def loaded(text: str | bytes, **options):
    return load_relation(text.encode() if isinstance(text, str) else text, **options)


def assert_same(relation, found: nx.Graph) -> None:
    nodes = [str(node) for node in found]
    assert relation.row_labels.tolist() == relation.column_labels.tolist() == nodes
    np.testing.assert_array_equal(relation.ones.toarray(), nx.to_numpy_array(found, weight=None) > 0)


@FORMATS
@for_each("directed", [False, True])
@for_each("packed", [False, True])
def test_files_of_networkx_are_read_back(format, directed, packed, tmp_path):
    drawn = nx.gnp_random_graph(12, 0.3, seed=4, directed=directed)
    drawn.add_edge(2, 2)
    for node in drawn:
        drawn.nodes[node]["team"] = "even" if node % 2 == 0 else "odd"
    path = tmp_path / f"graph{ENDINGS[format]}{'.gz' if packed else ''}"
    content = written(drawn, format)
    path.write_bytes(gzip.compress(content) if packed else content)
    found = load_relation(path)
    assert_same(found.data, drawn)
    assert found.data.network == Network(directed, True)
    assert found.data.name == "graph"
    assert found.data.attributes["team"].tolist() == ["even", "odd"] * 6
    assert (found.schema.format, found.schema.gzipped) == (format, packed)
    assert inspect_source(content).format == format  # by its content, without a name
    json.dumps(found.schema.to_dict())
    assert any("file says so" in line or "go both ways" in line for line in found.report.lines())


@FORMATS
def test_a_weight_of_zero_is_no_link(format):
    drawn = nx.DiGraph()
    drawn.add_weighted_edges_from([("a", "b", 3.0), ("b", "c", 0.0), ("c", "a", 1.0)])
    found = loaded(written(drawn, format))
    assert found.data.n_links == 2
    assert found.report.lines()[0] == (
        "Values from 0 to 3 are read by the threshold 0: 2 above it as linked. "
        "Models of counts use the values of links as weights; others use linked or not linked only."
    )
    assert loaded(written(drawn, format), threshold=1).data.n_links == 1
    assert loaded(written(drawn, format), value_column=False).data.n_links == 3
    with pytest.raises(DataError, match="'weight'"):
        loaded(written(drawn, format), value_column="strength")
    with pytest.raises(ParameterError, match="name"):
        loaded(written(drawn, format), value_column=2)


@for_each("format", ["graphml", "gexf", "gml", "node-link"])
def test_two_sides_stay_two(format):
    women = nx.davis_southern_women_graph()
    women.graph.clear()
    for node in women:
        women.nodes[node]["kind"] = "woman" if women.nodes[node]["bipartite"] == 0 else "event"
        women.nodes[node]["age"] = len(node) % 3
    found = loaded(written(women, format))
    assert found.data.size_text == "18 × 14 · 89 links"
    for i, j in zip(*found.data.ones.nonzero(), strict=True):
        assert women.has_edge(found.data.row_labels[i], found.data.column_labels[j])
    assert found.data.attributes["age"].tolist() == [str(len(name) % 3) for name in found.data.row_labels]
    assert found.schema.sides.domains == "two"
    assert "which node is on which side" in found.schema.sides.reason
    nx.set_node_attributes(women, 0, "bipartite")
    assert loaded(written(women, format)).data.network == Network(False)
    women.nodes["E1"]["bipartite"] = 1  # now edges run inside a side
    women.add_edge("E2", "E3")
    assert loaded(written(women, format)).data.network == Network(False)


@FORMATS
def test_an_undirected_file_asked_for_as_directed_has_every_link_both_ways(format):
    drawn = nx.Graph()
    drawn.add_weighted_edges_from(
        [("c", "a", 2.0), ("b", "a", 1.0), ("c", "b", 0.0), ("b", "b", 1.0), ("d", "c", 1.0)]
    )
    found = loaded(written(drawn, format), directed=True)
    weights = nx.to_numpy_array(drawn, weight="weight")
    np.testing.assert_array_equal(found.data.ones.toarray(), weights > 0)
    assert found.data.network == Network(True, True)
    assert found.data.n_links == found.report.count("links") == 7
    assert found.report.count("undirected_both_ways") == 3
    assert "its links have no direction: 3 pairs are linked both ways" in " ".join(found.report.lines())


def test_columns_that_group_or_name_the_nodes_become_attributes():
    drawn = nx.path_graph(4)
    rows = [("red", 1, 0.5, True, "a", "p", 1.5), ("red", 2, 1.0, False, "a", "q", 2.5)] * 2
    for node, row in enumerate(rows):
        names = ("colour", "level", "share", "old", "same", "mail", "x")
        drawn.nodes[node].update(zip(names, row, strict=True))
        drawn.nodes[node]["mail"] = f"{node}@example.org"
    del drawn.nodes[3]["level"]
    found = loaded(written(drawn, "graphml"))
    assert {name: values.tolist() for name, values in found.data.attributes.items()} == {
        "level": ["1", "2", "1", ""],
        "share": ["0.5", "1", "0.5", "1"],
        "old": ["true", "false"] * 2,
        "mail": [f"{node}@example.org" for node in range(4)],
    }
    assert "Known of the nodes: level, share, old, mail." in found.report.lines()
    assert "neither groups nor names the nodes: colour, same, x." in " ".join(found.report.lines())


def test_defaults_of_a_graphml_file_count():
    keys = (
        '<key id="k" for="node" attr.name="team" attr.type="string"><default>red</default></key>'
        '<key id="w" for="edge" attr.name="weight" attr.type="int"><default>0</default></key>'
    )
    nodes = '<node id="a"/><node id="b"><data key="k">blue</data></node><node id="c"/>'
    edges = '<edge source="a" target="b"/><edge source="b" target="c"><data key="w">2</data></edge>'
    found = loaded(xml(nodes + edges, keys)).data
    assert found.attributes["team"].tolist() == ["red", "blue", "red"]
    assert found.n_links == 1


def test_nodes_are_named_by_labels_of_their_own():
    def text(*labels):
        nodes = "".join(f'node [ id {i} label "{label}" ]\n' for i, label in enumerate(labels))
        return f"graph [\n{nodes}edge [ source 0 target 1 ]\n]"

    assert loaded(text("Bob", "Bob", "Zoë")).data.row_labels.tolist() == ["Bob (0)", "Bob (1)", "Zoë"]
    assert loaded(text("Bob", "Bob", "Bob (1)")).data.row_labels.tolist() == ["0", "1", "2"]
    with pytest.raises(DataError, match="UTF-8"):
        loaded(text("Zoë", "Bob").encode("latin-1"))


PAJEK = '*Vertices 3\n1 "Ann Lee" 0.1 0.2 ellipse team red\n2 Bob 0.3 0.4 box team red\n3 Cy team blue\n'


def test_pajek_lists_matrices_and_partitions():
    head = "% a comment\n*Network friends\n" + PAJEK
    listed = loaded(head + "*Arcslist\n1 2 3\n*Edgeslist\n")
    assert (listed.data.n_links, listed.data.network) == (2, Network(True))
    assert loaded(head + "*Edgeslist\n1 2 3\n").data.network == Network(False)
    square = loaded(head + "*Matrix\n0 1 0\n1 0 2\n0 1 0\n")
    assert (square.data.n_links, square.data.network) == (2, Network(False))
    with_groups = loaded(
        head
        + "*Edges\n1 2 0.5\n2 3\n\n*Partition club\n*Vertices 3\n1\n1\n2\n*Vector v\n*Vertices 3\n.1\n.2\n.3\n"
    )
    assert with_groups.data.attributes["club"].tolist() == ["1", "1", "2"]
    assert with_groups.data.attributes["team"].tolist() == ["red", "red", "blue"]
    assert with_groups.report.count("sections_left_aside") == 1


@for_each(
    "declared, line",
    [
        ('<!ENTITY a "ha">\n<!ENTITY b "&a;&a;&a;">', 3),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', 3),
        ('<!ENTITY % a SYSTEM "http://localhost/a.dtd">', 3),
        ('<!NOTATION n SYSTEM "n">\n<!ENTITY a SYSTEM "a.gif" NDATA n>', 4),
    ],
)
def test_an_xml_bomb_is_not_let_off(declared, line):
    for root in ("graphml", "gexf"):
        text = f"<?xml version='1.0'?>\n<!DOCTYPE {root} [\n{declared}\n]>\n"
        text += f"<{root}><graph><node id='&a;'/></graph></{root}>"
        with pytest.raises(DataError, match="declares an entity") as told:
            loaded(text)
        assert told.value.line == line


GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment -->
<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
<meta><creator>Gephi 0.10</creator></meta>
<graph defaultedgetype="directed">
<attributes class="node"><attribute id="t" title="team" type="string"><default>red</default></attribute></attributes>
<nodes>
<node id="0" label="Ann"><viz:color hex="#ff0000"/><viz:size value="3"/></node>
<node id="1" label="Bob"><attvalues><attvalue for="t" value="blue"/></attvalues>
<viz:color r="1" g="2" b="3"></viz:color></node>
<node id="2" label="Cy"/>
</nodes>
<edges>
<edge id="0" source="0" target="1" weight="2.0"/><edge id="1" source="2" target="1" weight="0.0"/>
</edges>
</graph>
</gexf>
"""


def test_files_of_gephi_are_read():
    found = loaded(GEXF)
    assert found.data.row_labels.tolist() == ["Ann", "Bob", "Cy"]
    assert found.data.attributes["team"].tolist() == ["red", "blue", "red"]
    assert (found.schema.format, found.data.n_links) == ("gexf", 1)


BROKEN = {
    "net": [
        ("*Vertices 2\n*Edges\n1 3\n", 3, "numbers from 1 to 2"),
        ("*Vertices 2\n*Edges\n1\n", 3, "two vertices"),
        ("*Vertices 99999999\n", 1, "from 1 to"),
        ("*Vertices 2\n1 a\n1 b\n", 3, "listed twice"),
        ("*Vertices 2\n*Loops\n1 1\n", 2, "no such section"),
        ("*Edges\n1 2\n", 1, r"no \*Vertices"),
        ("*Vertices 2\n*Matrix\n0 1\n", 3, "1 rows instead of 2"),
        ("*Vertices 2\n*Matrix\n0 1 1\n", 3, "has 3 numbers"),
        ("*Vertices 2\n*Matrix\n0 x\n", 3, "not a number"),
        ("*Network a\n*Vertices 1\n*Network b\n", 3, "second network"),
        ("*Vertices 2\n*Edges\n1 2\n*Partition p\n*Vertices 2\n1\n", 6, "1 values for 2"),
        ("*Vertices 2 2\n", 1, "first mode"),
    ],
    "json": [
        ('{"nodes": [{"id": 1},\n], "links": []}', 2, "not well-formed JSON"),
        ('{"nodes": [' + "[" * 100_000, None, "nested too deeply"),
        ('{"nodes": [1, 2]}', None, "a JSON file, but no graph"),
        ('{"nodes": [1], "links": []}', None, r"node 1 is not an object \(found '1'"),
        ('{"nodes": [{"id": 1}, {"id": 1}], "links": []}', None, "node 2 has the id of node 1"),
        ('{"nodes": [{"id": ' + "1" * 5_000 + '}], "links": []}', None, "too many digits"),
        ('{"nodes": [{"id": 1}], "links": [[1, 1]]}', None, "link 1 is not an object"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', None, "link 1 has no target"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', None, "not hold"),
    ],
    "gml": [
        ("graph [\nnode [ id 1 ]\nnode [ id ? ]\n]", 3, "tokenize"),
        ("graph [\nnode [ id 1 ]\nedge [ source 1 target 2 ]\n]", None, "undefined target 2"),
        ("graph [\nnode [ id 1 ]\nnode [ id 1 ]\n]", None, "duplicated"),
        ("graph [\nnode [ id 1 ]\n", 3, "expected"),
        ("graph [\nnode [ label 1 ]\n]", None, "no 'id'"),
    ],
    "graphml": [
        (xml("<node id='a'>"), 4, "well-formed"),
        (xml("<node id='a'/>\n<edge source='a' target='b'/>"), 4, r"not hold \(found 'b'\)"),
        (xml("<node id='a'/>\n<node id='a'/>"), 4, "id of another"),
        (xml("<node id='a'/>\n<edge source='a'/>"), 4, "no target"),
        (xml("</graph>\n<graph edgedefault='directed'>"), 4, "second graph"),
        (xml("<node id='a'><graph><node id='b'/></graph></node>"), 3, "nested"),
        (xml("<node id='a'><data key='k'>1</data></node>"), 3, "no key k"),
        (xml("<node id='a'/><hyperedge/>"), 3, "hyperedges"),
        (xml(""), None, "no nodes"),
    ],
    "gexf": [
        (GEXF.replace('target="1" weight="2.0"', 'target="9"'), 14, r"not hold \(found '9'\)"),
        (GEXF.replace('id="2" label', 'id="1" label'), 11, "id of another"),
        (GEXF.replace("</nodes>", ""), 16, "well-formed"),
        (GEXF.replace('for="t"', 'for="u"'), 9, "no key u for nodes"),
        (GEXF.replace('type="string"', 'type="int"'), 6, "no value of the type int"),
        (GEXF.replace('weight="2.0"', 'type="undirected"'), 14, "some edges have a direction"),
    ],
}


@for_each("format, case", [(format, case) for format, cases in BROKEN.items() for case in cases])
def test_a_broken_file_says_where(format, case):
    text, line, what = case
    with pytest.raises(DataError, match=what) as told:
        loaded(text, filename=f"a.{format}")
    assert (told.value.source, told.value.line) == (f"a.{format}", line)


def test_a_graph_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(graph, "MAX_GRAPH_BYTES", 300)
    for format in WRITERS:
        content = gzip.compress(written(nx.complete_graph(30), format))
        with pytest.raises(DataError, match="larger than"):
            loaded(content)


XML = {
    "graphml": (
        f'{HEAD}<graph edgedefault="BASE">\n<node id="a"/><node id="b"/><node id="c"/>\n'
        '<edge source="a" target="b" directed="ONE"/>\n<edge source="b" target="c" directed="TWO"/></graph></graphml>',
        {"directed": "true", "undirected": "false"},
    ),
    "gexf": (
        '<gexf><graph defaultedgetype="BASE">\n<nodes><node id="a"/><node id="b"/><node id="c"/></nodes>\n<edges>'
        '<edge source="a" target="b" type="ONE"/>\n<edge source="b" target="c" type="TWO"/></edges></graph></gexf>',
        {"directed": "directed", "undirected": "undirected"},
    ),
}


@for_each("format", list(XML))
def test_edges_say_by_themselves_whether_they_have_a_direction(format: str) -> None:
    text, words = XML[format]

    def content(base: str, one: str, two: str) -> bytes:
        said = text.replace("BASE", base).replace("ONE", words[one]).replace("TWO", words[two])
        return said.encode()

    kinds = "directed", "undirected"
    for base in kinds:
        for said in kinds:
            assert loaded(content(base, said, said)).data.network == Network(said == "directed")
        with pytest.raises(
            DataError, match="some edges have a direction and some have none, as on line 3"
        ) as told:
            loaded(gzip.compress(content(base, *kinds)))
        assert told.value.line == 4
        assert "(directed=True) or that they have none (directed=False)" in told.value.remedy
        arrows = loaded(content(base, *kinds), directed=True)
        assert sorted(zip(*arrows.data.ones.nonzero(), strict=True)) == [(0, 1), (1, 2), (2, 1)]
        assert arrows.report.count("edges_both_ways") == 1
        assert loaded(content(base, *kinds), directed=False).data.network == Network(False)


def test_labels_that_yed_writes_are_names() -> None:
    keys = '<key id="d0" for="node" yfiles.type="nodegraphics"/><key id="d1" for="edge" yfiles.type="edgegraphics"/>'
    shape = '<y:ShapeNode><y:NodeLabel x="1">\n{}<y:LabelModel><y:Free/></y:LabelModel>\n</y:NodeLabel></y:ShapeNode>'
    nodes = [
        f'<node id="n{i}"><data key="d0">{shape.format(name)}</data></node>'
        for i, name in enumerate(("Ann", "Bob"))
    ]
    edge = '<edge source="n0" target="n1"><data key="d1"><y:EdgeLabel>kin</y:EdgeLabel></data></edge>'
    found = loaded(
        xml("".join(nodes) + edge, keys).replace(b"<graphml ", b'<graphml xmlns:y="http://y.org" ')
    )
    assert found.data.row_labels.tolist() == ["Ann", "Bob"]
    assert "Values of the edges not used: label." in found.report.lines()
