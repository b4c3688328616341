"""Decide whether the two sides of a relation are the same objects: as the user asks, the file says, or it looks."""

from __future__ import annotations

import re
from dataclasses import replace

from acvb_core.core.errors import DataError
from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import AssembledRelation, links_fact, missing_facts
from acvb_core.data.relations.guess import Heading, heading
from acvb_core.data.relations.layout import GRAPH_FORMATS, Layout, ReadOptions, Sides
from acvb_core.data.relations.networks import as_network, as_two_sided, goes_both_ways, spread_over_all
from acvb_core.data.relations.patterns import as_pattern
from acvb_core.data.report import Fact, plural

_SAME, _TWO = "Rows and columns are the same objects", "Rows and columns are two kinds of objects"
# Fewer links that go both ways can be chance.
_MIN_PAIRS = 3


def resolve_domains(
    found: AssembledRelation, layout: Layout, options: ReadOptions, head: bytes = b""
) -> tuple[Relation, list[Fact], Sides]:
    """Return the relation with one domain or two, what reading it found, and why it is taken so.

    `found` has two sides, as the file shows them; `head` holds the first bytes of a file. DataError where a network
    was asked for, but the file is a matrix that is not square.
    """
    headings = _read_heading(layout, head)
    named = _name_alike(found.relation, layout, options)
    sides = _choose_sides(found, named, layout, options, headings)
    declared, directed = found.declared, options.directed
    undirected = declared is not None and declared.directed is False
    each_way = found
    if undirected and layout.format in GRAPH_FORMATS and (sides.domains == "two" or directed):
        each_way = _link_both_ways(found)
        named = each_way.relation
    if sides.domains == "two":
        relation = each_way.relation
        return relation, [*_reading_facts(found, relation), _domains_fact(sides)], sides
    if named is None:
        rows, columns = found.relation.shape
        what = f"a network has the same objects on both sides, but this matrix is {rows:,} x {columns:,}"
        remedy = "Load a square matrix, or take rows and columns as two kinds of objects (domains='two')."
        raise DataError(what, source=layout.filename, remedy=remedy)
    origin = "the graph says so" if layout.container == "object" else "the file says so"
    if layout.format == "edges" and declared is not None:
        origin = declared.reason
    facts = []
    direction = "the names of the two columns give a direction" if headings == "directed" else None
    if directed is None and undirected:
        directed = False
        told = f"The network is undirected: {origin}."
        facts.append(Fact("direction", 0, told, {"directed": False}))
    elif directed is None and declared is not None and declared.directed:
        direction = origin
    elif undirected and directed:
        both, _ = goes_both_ways(named.ones)
        told = "The file says that its links have no direction: "
        told += f"{plural(both, 'pair is', 'pairs are')} linked both ways in the directed network that was asked for."
        facts.append(Fact("undirected_both_ways", both, told))
    # A table says something of each of its cells and nothing of others; so does a list that asks for it.
    silent = layout.format != "edges" or options.unlisted == "missing"
    network, told_of = as_network(
        named,
        directed=directed,
        self_links=options.self_links,
        zeros=each_way.zeros,
        unlisted="missing" if silent else "zero",
        direction=direction,
    )
    assert network.network is not None
    # Of an undirected graph the file has each edge once, and means both ways.
    each_once = directed is False and options.directed is None
    facts += [fact for fact in told_of if not (each_once and fact.name == "one_way")]
    sides = replace(sides, directed=network.network.directed, self_links=network.network.self_links)
    return network, [*_reading_facts(found, network), _domains_fact(sides), *facts], sides


def _link_both_ways(found: AssembledRelation) -> AssembledRelation:
    """Return an undirected graph with each link both ways: its file names one direction, and means both."""
    network, _ = as_network(found.relation, directed=False, self_links=True, zeros=found.zeros)
    zeros = None if found.zeros is None else as_pattern(found.zeros + found.zeros.T)
    return found._replace(relation=as_two_sided(network), zeros=zeros)


def _reading_facts(found: AssembledRelation, relation: Relation) -> list[Fact]:
    """Return the facts about reading, with those about the size as they are of `relation`."""
    if relation is found.relation:
        return found.facts
    facts = [links_fact(relation) if fact.name == "links" else fact for fact in found.facts]
    return [fact for fact in facts if fact.name != "missing"] + missing_facts(relation)


def _domains_fact(sides: Sides) -> Fact:
    return Fact("domains", 1 if sides.domains == "one" else 2, sides.reason, {"domains": sides.domains})


def _choose_sides(
    found: AssembledRelation, named: Relation | None, layout: Layout, options: ReadOptions, head: Heading
) -> Sides:
    if options.wants_network:
        return Sides("one", f"{_SAME}, as asked for.")
    if options.domains == "two":
        return Sides("two", f"{_TWO}, as asked for.")
    shape, row_nodes, column_nodes = options.shape, options.row_nodes, options.column_nodes
    if shape is not None and shape[0] != shape[1]:
        return Sides("two", f"{_TWO}: the given shape, {shape[0]:,} x {shape[1]:,}, is not square.")
    if row_nodes is not None and column_nodes is not None and set(row_nodes) != set(column_nodes):
        return Sides("two", f"{_TWO}: the given lists of row objects and of column objects differ.")
    relation = found.relation if named is None else named
    declared = found.declared
    # Two lists of different names speak louder than the symmetry of the matrix that they name.
    if declared is not None and (
        declared.domains == "two" or relation.row_labels.tolist() == relation.column_labels.tolist()
    ):
        return Sides(declared.domains, f"{_SAME if declared.domains == 'one' else _TWO}: {declared.reason}.")
    by_position = _unnamed_sides(layout, options) == {"row", "column"}
    return _guess_sides(relation, head, by_position=by_position, is_table=layout.format != "edges")


def _guess_sides(relation: Relation, head: Heading, *, by_position: bool, is_table: bool) -> Sides:
    """Return whether both sides are the same objects, by their names and links.

    `by_position`: the names are positions in a file without names; that they are on both sides says nothing.
    `is_table`: that a matrix has the same names on both sides says more than that a list has.
    """
    rows, columns = relation.row_labels.tolist(), relation.column_labels.tolist()
    if by_position:
        if len(rows) == len(columns) and _is_symmetric(relation):
            return Sides("one", f"{_SAME}: the matrix is square, and every link goes both ways.")
        return Sides("two", "Rows and columns are taken as two kinds of objects: the file names none.")
    other = set(columns)
    shared = [name for name in rows if name in other]
    if not shared:
        return Sides("two", f"{_TWO}: no name occurs on both.")
    fewer, union = min(len(rows), len(columns)), len(rows) + len(columns) - len(shared)
    occur = f"{len(shared):,} of {plural(union, 'name')} {'occurs' if len(shared) == 1 else 'occur'} on both"
    # A name or two in a hundred can be chance.
    if head and 100 * len(shared) >= fewer:
        return Sides("one", f"{_SAME}: the columns are named as those of a network, and {occur}.")
    words = sum(re.fullmatch(r"[+-]?\d+(\.\d*)?", name) is None for name in shared)
    if words >= 2 and 2 * words >= fewer:
        return Sides("one", f"{_SAME}: {occur}.")
    if is_table and len(shared) == len(rows) == len(columns) > 1:
        return Sides("one", f"{_SAME}: the matrix has the same names at the top and at the left.")
    if _is_symmetric(relation):
        return Sides("one", f"{_SAME}: every link goes both ways, and {occur}.")
    why = "numbers, and nothing else says" if not words and not head else "too few to say"
    taken = "Rows and columns are taken as two kinds of objects"
    return Sides("two", f"{taken}: {occur}, {why} that they are the same.")


def _is_symmetric(relation: Relation) -> bool:
    """Return whether every link between different objects goes both ways."""
    _, ones, *_ = spread_over_all(relation)
    both, one_way = goes_both_ways(ones)
    return both >= _MIN_PAIRS and one_way == 0


def _name_alike(relation: Relation, layout: Layout, options: ReadOptions) -> Relation | None:
    """Return the relation with the same names on both sides where only one has any; None if it is not square."""
    unnamed = _unnamed_sides(layout, options)
    if unnamed and relation.shape[0] != relation.shape[1]:
        return None
    labels = relation.column_labels if unnamed == {"row"} else relation.row_labels
    return replace(relation, row_labels=labels, column_labels=labels) if unnamed else relation


def _unnamed_sides(layout: Layout, options: ReadOptions) -> set[str]:
    """Return the sides whose objects the file, or a list, does not name: they are called by their positions."""
    if layout.format == "edges" or layout.format in GRAPH_FORMATS:
        return set()
    table = layout.format == "matrix"
    named = {
        "row": options.row_nodes is not None or (table and layout.row_column is not None),
        "column": options.column_nodes is not None or (table and layout.header),
    }
    return {side for side, has_names in named.items() if not has_names}


def _read_heading(layout: Layout, head: bytes) -> Heading:
    """Return what the names of the columns say; a comment above them may name them too."""
    if layout.format != "edges" or layout.row_column is None or layout.column_column is None:
        return None
    names = list(layout.column_names)
    if not layout.header:
        lines = head.decode("utf-8", errors="replace").splitlines()
        comments = [
            line.lstrip("#% \t").replace(",", " ").split() for line in lines if line.startswith(("#", "%"))
        ]
        names = next((words for words in reversed(comments) if len(words) == layout.n_fields), [])
    if max(layout.row_column, layout.column_column) >= len(names):
        return None
    return heading(names[layout.row_column], names[layout.column_column])
