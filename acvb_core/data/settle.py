"""Settle what the two sides of a relation are: as the user asks, as the file says, or as it looks."""

from __future__ import annotations

from dataclasses import replace

from acvb_core.data.assemble import Assembled, links_fact, missing_fact
from acvb_core.data.byte_source import ByteSource
from acvb_core.data.layout import Layout
from acvb_core.data.networks import as_network
from acvb_core.data.options import ReadOptions
from acvb_core.data.relation import Relation
from acvb_core.data.report import Fact
from acvb_core.data.sides import Heading, Sides, guess_sides, heading
from acvb_core.errors import DataError


def settled(
    found: Assembled, layout: Layout, options: ReadOptions, source: ByteSource
) -> tuple[Relation, list[Fact], Sides]:
    """Return the relation with one domain or two, what reading it found, and why it is taken so.

    Parameters
    ----------
    found : Assembled
        The relation with two sides, as the file shows it.
    layout : Layout
    options : ReadOptions
    source : ByteSource

    Raises
    ------
    DataError
        A network was asked for, but the file is a matrix that is not square.
    """
    head = _heading(layout, source)
    named = _named_alike(found.relation, layout, options)
    sides = _sides(found.relation if named is None else named, layout, options, head)
    if sides.domains == "two":
        return found.relation, [*found.facts, _domains_fact(sides)], sides
    if named is None:
        rows, columns = found.relation.shape
        raise DataError(
            f"a network has the same objects on both sides, but this matrix is {rows:,} x {columns:,}",
            source=source.name,
            remedy="Load a square matrix, or take the sides as two kinds of objects (domains='two').",
        )
    # A table says something of each of its cells and nothing of others; so does a list that asks for it.
    silent = layout.format != "edges" or options.unlisted_missing
    says_so = options.symmetric and options.directed is None
    network, facts = as_network(
        named,
        directed=False if says_so else options.directed,
        self_links=options.self_links,
        zeros=found.zeros,
        unlisted="missing" if silent else "zero",
        has_direction=head.directed,
    )
    if says_so:
        facts = (
            Fact("direction", 0, "The network is undirected: the file says so.", {"directed": False}),
            *facts,
        )
    assert network.network is not None
    told = [
        links_fact(network) if fact.name == "links" else fact
        for fact in found.facts
        if fact.name != "missing"
    ]
    told += [_domains_fact(sides), *facts]
    missing = missing_fact(network)
    kind = network.network
    sides = replace(sides, directed=kind.directed, self_links=kind.self_links)
    return network, told if missing is None else [*told, missing], sides


def _sides(relation: Relation, layout: Layout, options: ReadOptions, head: Heading) -> Sides:
    if options.domains == "one" or (
        options.domains == "auto"
        and (options.same_nodes or options.directed is not None or options.self_links is not None)
    ):
        return Sides("one", "The two sides are the same objects, as asked for.")
    if options.domains == "two":
        return Sides("two", "The two sides are taken as two kinds of objects, as asked for.")
    if options.symmetric:
        return Sides("one", "The two sides are the same objects: the file says that the matrix is symmetric.")
    by_position = "row" in _unnamed(layout, options) and "column" in _unnamed(layout, options)
    return guess_sides(relation, head, by_position=by_position, is_table=layout.format != "edges")


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
    if layout.format == "edges":
        return set()
    table = layout.format == "matrix"
    found = set()
    if options.row_nodes is None and not (table and layout.row_column is not None):
        found.add("row")
    if options.column_nodes is None and not (table and layout.header):
        found.add("column")
    return found


def _heading(layout: Layout, source: ByteSource) -> Heading:
    """Return what the names of the columns say; a comment above them may name them too."""
    if layout.format != "edges" or layout.row_column is None or layout.column_column is None:
        return Heading(False, False)
    chosen = layout.row_column, layout.column_column
    if layout.header:
        names = list(layout.column_names)
    else:
        comments = [
            line.lstrip("#% \t").replace(",", " ").split()
            for line in source.head.decode("utf-8", errors="replace").splitlines()
            if line.startswith(("#", "%"))
        ]
        names = next((words for words in reversed(comments) if len(words) == layout.n_fields), [])
    if max(chosen) >= len(names):
        return Heading(False, False)
    return heading(names[chosen[0]], names[chosen[1]])


def _domains_fact(sides: Sides) -> Fact:
    return Fact("domains", 1 if sides.domains == "one" else 2, sides.reason, {"domains": sides.domains})
