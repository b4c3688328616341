"""Settle what the two sides of a relation are: as the user asks, as the file says, or as it looks."""

from __future__ import annotations

from dataclasses import replace

from acvb_core.data.relation import Relation
from acvb_core.data.relations.assemble import Assembled, links_fact, missing_fact
from acvb_core.data.relations.headings import Heading, heading
from acvb_core.data.relations.layout import GRAPH_FORMATS, Layout
from acvb_core.data.relations.link_values import as_pattern
from acvb_core.data.relations.networks import as_network, as_two_sided, goes_both_ways
from acvb_core.data.relations.options import ReadOptions
from acvb_core.data.relations.sides import Sides, guess_sides
from acvb_core.data.report import Fact, plural
from acvb_core.errors import DataError


def settled(
    found: Assembled, layout: Layout, options: ReadOptions, head: bytes = b""
) -> tuple[Relation, list[Fact], Sides]:
    """Return the relation with one domain or two, what reading it found, and why it is taken so.

    Parameters
    ----------
    found : Assembled
        The relation with two sides, as the file shows it.
    layout : Layout
    options : ReadOptions
    head : bytes
        The first bytes of a file.

    Raises
    ------
    DataError
        A network was asked for, but the file is a matrix that is not square.
    """
    headings = _heading(layout, head)
    named = _named_alike(found.relation, layout, options)
    sides = _sides(found, named, layout, options, headings)
    directed = options.directed
    undirected = found.says is not None and found.says.directed is False
    each_way = found
    if undirected and layout.format in GRAPH_FORMATS and (sides.domains == "two" or directed):
        each_way = _both_ways(found)
    if sides.domains == "two":
        relation = each_way.relation
        return relation, [*_read_facts(found, relation), _domains_fact(sides)], sides
    if named is None:
        rows, columns = found.relation.shape
        raise DataError(
            f"a network has the same objects on both sides, but this matrix is {rows:,} x {columns:,}",
            source=layout.filename,
            remedy="Load a square matrix, or take the sides as two kinds of objects (domains='two').",
        )
    if each_way is not found:
        named = each_way.relation
    origin = "graph" if layout.container == "object" else "file"
    facts = []
    direction = "the names of the two columns give a direction" if headings.directed else None
    if found.says is not None and found.says.directed is not None and directed is None:
        if found.says.directed:
            direction = f"the {origin} says so"
        else:
            directed = False
            facts.append(
                Fact("direction", 0, f"The network is undirected: the {origin} says so.", {"directed": False})
            )
    elif undirected and directed:
        facts.append(_both_ways_fact(named))
    # A table says something of each of its cells and nothing of others; so does a list that asks for it.
    silent = layout.format != "edges" or options.unlisted_missing
    network, told = as_network(
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
    facts += [fact for fact in told if not (each_once and fact.name == "one_way")]
    facts = [*_read_facts(found, network), _domains_fact(sides), *facts]
    kind = network.network
    return network, facts, replace(sides, directed=kind.directed, self_links=kind.self_links)


def _both_ways(found: Assembled) -> Assembled:
    """Return an undirected graph with each link both ways: its file names one direction, and means both."""
    network, _ = as_network(found.relation, directed=False, self_links=True, zeros=found.zeros)
    zeros = found.zeros
    if zeros is not None:
        zeros = as_pattern(zeros + zeros.T)
    return found._replace(relation=as_two_sided(network), zeros=zeros)


def _both_ways_fact(relation: Relation) -> Fact:
    """Say that a file's links have no direction, though the network that is asked for has one."""
    both, _ = goes_both_ways(relation.ones)
    told = (
        f"The file says that its links have no direction: {plural(both, 'pair is', 'pairs are')} linked both ways "
        "in the directed network that was asked for."
    )
    return Fact("undirected_both_ways", both, told)


def _read_facts(found: Assembled, relation: Relation) -> list[Fact]:
    """Return the facts about reading, with those about the size as they are of `relation`."""
    if relation is found.relation:
        return found.facts
    missing = missing_fact(relation)
    kept = [fact for fact in found.facts if fact.name != "missing"]
    facts = [links_fact(relation) if fact.name == "links" else fact for fact in kept]
    return facts if missing is None else [*facts, missing]


def _sides(
    found: Assembled, named: Relation | None, layout: Layout, options: ReadOptions, head: Heading
) -> Sides:
    same, two = "The two sides are the same objects", "The two sides are two kinds of objects"
    if options.wants_network:
        return Sides("one", f"{same}, as asked for.")
    if options.domains == "two":
        return Sides("two", f"{two}, as asked for.")
    differ = _given_apart(options)
    if differ is not None:
        return Sides("two", f"{two}: {differ}.")
    relation = found.relation if named is None else named
    says = found.says
    # Two lists of different names speak louder than the symmetry of the matrix that they name.
    if says is not None and (
        says.domains == "two" or relation.row_labels.tolist() == relation.column_labels.tolist()
    ):
        return Sides(says.domains, f"{same if says.domains == 'one' else two}: {says.reason}.")
    by_position = _unnamed(layout, options) == {"row", "column"}
    return guess_sides(relation, head, by_position=by_position, is_table=layout.format != "edges")


def _given_apart(options: ReadOptions) -> str | None:
    """Return what the user gave that only two kinds of objects can have; None where nothing is such."""
    if options.shape is not None and options.shape[0] != options.shape[1]:
        rows, columns = options.shape
        return f"the given shape, {rows:,} x {columns:,}, is not square"
    rows_given, columns_given = options.row_nodes, options.column_nodes
    if rows_given is not None and columns_given is not None and set(rows_given) != set(columns_given):
        return "the given lists of row objects and of column objects differ"
    return None


def _named_alike(relation: Relation, layout: Layout, options: ReadOptions) -> Relation | None:
    """Return the relation with the same names on both sides where only one has any; None if it is not square."""
    unnamed = _unnamed(layout, options)
    if not unnamed:
        return relation
    if relation.shape[0] != relation.shape[1]:
        return None
    if unnamed == {"row"}:
        return replace(relation, row_labels=relation.column_labels)
    return replace(relation, column_labels=relation.row_labels)


def _unnamed(layout: Layout, options: ReadOptions) -> set[str]:
    """Return the sides whose objects the file, or a list, does not name: they are called by their positions."""
    if layout.format == "edges" or layout.format in GRAPH_FORMATS:
        return set()
    table = layout.format == "matrix"
    found = set()
    if options.row_nodes is None and not (table and layout.row_column is not None):
        found.add("row")
    if options.column_nodes is None and not (table and layout.header):
        found.add("column")
    return found


def _heading(layout: Layout, head: bytes) -> Heading:
    """Return what the names of the columns say; a comment above them may name them too."""
    if layout.format != "edges" or layout.row_column is None or layout.column_column is None:
        return Heading(False, False)
    chosen = layout.row_column, layout.column_column
    if layout.header:
        names = list(layout.column_names)
    else:
        comments = [
            line.lstrip("#% \t").replace(",", " ").split()
            for line in head.decode("utf-8", errors="replace").splitlines()
            if line.startswith(("#", "%"))
        ]
        names = next((words for words in reversed(comments) if len(words) == layout.n_fields), [])
    if max(chosen) >= len(names):
        return Heading(False, False)
    return heading(names[chosen[0]], names[chosen[1]])


def _domains_fact(sides: Sides) -> Fact:
    return Fact("domains", 1 if sides.domains == "one" else 2, sides.reason, {"domains": sides.domains})
