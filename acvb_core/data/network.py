"""Networks: decide whether both sides are the same objects, and turn a relation into a network and back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, ParameterError
from acvb_core.data.names import EndLabels, make_unique, name_ends
from acvb_core.data.relation import (
    Network,
    Relation,
    add_directions,
    as_pattern,
    canonical,
    check_attributes,
    intersect,
    subtract,
)
from acvb_core.data.relation_build import Entries, check_missing, links_fact, missing_facts
from acvb_core.data.relation_schema import ASK_DIRECTION, GRAPH_FORMATS, ReadOptions
from acvb_core.data.report import Fact, LoadedData, ReadReport, plural, take_apart, tell_count
from acvb_core.data.schema import Schema, Sides
from acvb_core.data.sources.arrays import to_sparse

# Names of the column of the objects that do not say what they are.
_NO_KIND = ("", "row", "column", "source", "src", "from", "sender")
Pattern: TypeAlias = sparse.csr_array


def as_network(
    relation: Relation,
    *,
    directed: bool | None = None,
    self_links: bool | None = None,
    zeros: Pattern | None = None,
    unlisted: Literal["zero", "missing"] = "zero",
    direction: str | None = None,
) -> LoadedData[Relation]:
    """Return a relation as a network, and what making it found: every name of either side is a node.

    A pair of an undirected network is linked if it is linked either way; else it is known not to be if either way
    says so; else it is missing. Its weight is the sum of both directions, or that of either if all weights are the
    same both ways. Links of a node to itself are left out if they do not count.

    Parameters
    ----------
    relation : Relation, shape (n_rows, n_cols)
        Objects of the same name on both sides are one node.
    directed : bool, optional
        Default: undirected if all links go both ways, or none does and nothing says that they have a direction.
    self_links : bool, optional
        Default: they count if there is one.
    zeros : csr_array of bool, shape (n_rows, n_cols), optional
        The entries that were given as 0. Those that are stored nowhere are then mere silence, which a missing
        entry in the other direction overrules. Default: all that is neither 1 nor missing was given as 0.
    unlisted : "zero" or "missing"
        Pairs without an entry in a relation whose sides differ are no links, or missing.
    direction : str, optional
        The reason to think that links have a direction, as the end of a sentence. It gives way to
        links that all go both ways.

    Raises
    ------
    DataError
        Too many pairs would be missing.
    """
    relation = take_apart(relation)[0]
    labels, links, missing, given = spread_over_all(relation, zeros, unlisted)
    facts: list[Fact] = []
    if not directed:
        directed, links, missing, facts = _compare_ways(links, missing, given, directed, direction)
    own = int(np.count_nonzero(links.diagonal()))
    if self_links is None:
        self_links = own > 0
    if self_links:
        told = "{object is linked to itself|objects are linked to themselves}: self-links count."
        facts += tell_count("self_links", own, told)
    elif own:
        links = canonical(sparse.triu(links, 1) + sparse.tril(links, -1))
        who = "{link of an object to itself was|links of objects to themselves were}"
        facts += tell_count("self_links_left_out", own, f"{who} left out: self-links do not count.")
    known = [
        EndLabels(name, axis, {one: value for one, value in zip(objects, values, strict=True) if value})
        for axis, objects in enumerate((relation.row_labels, relation.column_labels))
        for name, values in relation.attributes_of(("rows", "cols")[axis]).items()
    ]
    network = Relation.build(
        links,
        missing,
        threshold=0.0,
        row_labels=labels,
        name=relation.name,
        row_kind=_kind_of_nodes(relation),
        network=Network(directed, self_links),
        attributes=name_ends([labels], known)[0][0],
    )
    network = replace(network, numbered=(all(relation.numbered),) * 2, negative=relation.negative)
    return LoadedData(network, ReadReport(network.name, tuple(facts)))


def _kind_of_nodes(relation: Relation) -> str:
    """Return what the objects of both ends are called: importer and imported are nodes."""
    kind = relation.row_kind
    return "node" if kind.lower() in _NO_KIND or kind != relation.column_kind else kind


def as_two_sided(relation: Relation) -> Relation:
    """Return a network as a relation between two sets of objects that happen to have the same names.

    Missing entries stay missing: the diagonal of a network without self-links.
    """
    relation = take_apart(relation)[0]
    if relation.network is None:
        return relation
    return replace(relation, network=None, column_attributes=relation.attributes)


def with_attributes(
    relation: Relation, attributes: Mapping[str, ArrayLike], domain: str = "rows"
) -> Relation:
    """Return the relation with more known labels of its objects; one of the same name is replaced.

    Parameters
    ----------
    relation : Relation, shape (n_rows, n_cols)
    attributes : mapping of str to sequence of str
        One label for each object of the domain.
    domain : "rows" or "cols"
        Whose labels these are; the nodes of a network are its rows and its columns.

    Raises
    ------
    DataError
        An attribute does not have one label for each object.
    ParameterError
        There is no such domain.
    """
    if domain not in ("rows", "cols"):
        raise ParameterError(f"there is no domain {domain!r}; there are rows and cols.")
    relation = take_apart(relation)[0]
    added = check_attributes(attributes, relation.shape[domain == "cols"], relation.name)
    known = {**relation.attributes_of(domain), **added}
    if domain == "cols" and relation.network is None:
        return replace(relation, column_attributes=known)
    return replace(relation, attributes=known)


def with_names(relation: Relation, *, rows: str | None = None, cols: str | None = None) -> Relation:
    """Return the relation with a known label of its objects in place of their ids, which become a known label.

    An object without such a label keeps its id, and objects that share one have their ids behind it: "Ball (17)". The
    attribute with the ids is called as the objects were (`name_ids`).

    Parameters
    ----------
    relation : Relation, shape (n_rows, n_cols)
    rows, cols : str, optional
        The attribute of the row objects, and of the column objects; the nodes of a network are its rows. None: the
        side stays as it is.

    Raises
    ------
    ParameterError
        There is no such attribute, or the columns of a network are to have other names than its rows.

    Examples
    --------
    >>> relation = Relation.build([[1, 0, 1]], row_kind="shop", column_kind="item", column_labels=["1", "2", "3"])
    >>> relation = with_attributes(relation, {"name": ["Ball", "Doll", "Ball"]}, "cols")
    >>> with_names(relation, cols="name").column_labels.tolist()
    ['Ball (1)', 'Doll', 'Ball (3)']
    """
    relation = take_apart(relation)[0]
    if cols is not None and relation.network is not None:
        raise ParameterError("a network has one set of objects: give rows alone, for rows and columns.")
    for domain, attribute in (("rows", rows), ("cols", cols)):
        if attribute is not None:
            relation = _swap_names(relation, domain, attribute)
    return relation


def name_ids(relation: Relation, domain: str) -> str:
    """Return what the ids of a domain's objects are called next to their known labels."""
    kind = relation.column_kind if domain == "cols" else relation.row_kind
    kind = "id" if kind.lower() in ("column", *_NO_KIND) else kind
    known = relation.attributes_of(domain)
    return make_unique([*known, kind])[0][-1]


def _swap_names(relation: Relation, domain: str, attribute: str) -> Relation:
    known = dict(relation.attributes_of(domain))
    if attribute not in known:
        ready = f"there are {', '.join(map(repr, known))}" if known else "there is none"
        raise ParameterError(f"the {domain} have no known label {attribute!r}; {ready}.")
    labels = relation.column_labels if domain == "cols" else relation.row_labels
    side = int(domain == "cols")
    id_name = relation.id_names[side] or name_ids(relation, domain)
    ids = known.get(id_name, labels)
    names = [name.strip() or one for name, one in zip(known.pop(attribute).tolist(), ids, strict=True)]
    times = Counter(names)
    names = [name if times[name] == 1 else f"{name} ({one})" for name, one in zip(names, ids, strict=True)]
    named = np.array(make_unique(names)[0], dtype=object)
    known = {name_ids(relation, domain): labels, **known}
    changed: dict[str, Any] = {("attributes", "column_attributes")[side]: known}
    numbered, id_names = list(relation.numbered), list(relation.id_names)
    for at in (side,) if relation.network is None else (0, 1):
        changed |= {("row_labels", "column_labels")[at]: named, ("row_kind", "column_kind")[at]: attribute}
        numbered[at], id_names[at] = False, "" if attribute == id_name else id_name
    changed |= {"numbered": tuple(numbered), "id_names": tuple(id_names)}
    return replace(relation, **changed)


def _count_ways(ones: Pattern) -> tuple[int, int]:
    """Return how many pairs of different objects are linked both ways, and how many one way only."""
    own = int(ones.diagonal().sum())
    both = ones.multiply(ones.T).nnz - own if ones.nnz else 0
    return both // 2, ones.nnz - own - both


def _compare_ways(
    links: Pattern, missing: Pattern, zeros: Pattern | None, directed: bool | None, direction: str | None
) -> tuple[bool, Pattern, Pattern, list[Fact]]:
    """Return whether links have a direction, the links and the missing entries then, and why; guessed for None.

    Both entries of a pair decide; without `zeros`, an entry that is not given counts as 0.
    """
    ones = as_pattern(links)
    zeros = None if zeros is None else subtract(zeros, ones)
    unsure = intersect(ones, missing.T).nnz  # links whose other direction is missing
    both, one_way = _count_ways(ones)
    denied = 0 if zeros is None else intersect(ones, zeros.T).nnz
    linked = plural(both + one_way, "linked pair")
    facts = []
    guessed = directed is None
    if directed is None:
        # A cell of a matrix that is missing contradicts nothing; that a list is silent may well mean a direction.
        unknown = unsure if zeros is None and direction is None else 0
        directed, why = True, "no linked pair goes both ways, on either side of the diagonal"
        if both and one_way <= unknown:
            directed, why = False, "every link goes both ways"
        elif both:
            why = f"{both:,} of {linked} {'goes' if both == 1 else 'go'} both ways"
        elif direction is not None:
            why = direction
        elif denied:
            who = plural(denied, "linked pair is", "linked pairs are")
            why = f"{who} given as no link the other way"
        elif zeros is not None:
            directed, why = False, "no linked pair is listed both ways, and no direction is named"
        # A triangle of a matrix says every pair once; zeros on both sides of the diagonal speak of each direction.
        elif sparse.triu(ones, 1).nnz in (0, one_way):
            directed, why = False, "all links are on one side of the diagonal"
        told = f"The network is {'directed' if directed else 'undirected'}: {why}."
        facts.append(Fact("direction", int(directed), told, {"directed": directed}))
    if directed:
        return True, links, missing, facts
    if one_way and (both or not guessed):  # else the guess has said that every pair is listed once
        told = f"{one_way:,} of {linked} {'is' if one_way == 1 else 'are'} linked one way only: either way counts."
        facts.append(Fact("one_way", one_way, told, {"both_ways": both}))
    added = add_directions(links)
    if both and links.dtype != np.bool_:
        told = "{pair is|pairs are} linked both ways: the weight is the sum of both directions."
        if added is links:
            told = "{pair is|pairs are} linked both ways with the same weight: it is the weight of the pair."
        facts += tell_count("weights_both_ways", both, told, added=added is not links)
    told = "{pair is a link|pairs are links} one way and given as no link the other way: linked."
    facts += tell_count("denied_one_way", denied, told)
    if zeros is None:
        left = intersect(missing, missing.T)
        known = missing.nnz - left.nnz
    else:
        said = as_pattern(ones + zeros)
        left = subtract(as_pattern(missing + missing.T), as_pattern(said + said.T))
        known = intersect(missing, said.T).nnz
    told = "{pair is|pairs are} missing one way and known the other way: what is known counts."
    facts += tell_count("known_one_way", known, told)
    return False, added, left, facts


def spread_over_all(
    relation: Relation, zeros: Pattern | None = None, unlisted: Literal["zero", "missing"] = "zero"
) -> tuple[NDArray[Any], Pattern, Pattern, Pattern | None]:
    """Return all objects, the rows first, and over them the links, the missing entries and the given zeros.

    The links have their weights as values, if they have any.
    """
    n_rows, n_cols = relation.shape
    place = {label: i for i, label in enumerate(relation.row_labels)}
    found = [place.setdefault(label, len(place)) for label in relation.column_labels]
    columns, n = np.array(found, dtype=np.int32), len(place)

    def spread(pattern: Pattern) -> Pattern:
        if n == n_rows == n_cols and (columns == np.arange(n)).all():
            return pattern
        ends = np.append(pattern.indptr, np.full(n - n_rows, pattern.nnz, dtype=pattern.indptr.dtype))
        return canonical(Pattern((pattern.data, columns[pattern.indices], ends), shape=(n, n)))

    missing = spread(relation.missing)
    if unlisted == "missing" and n * n > n_rows * n_cols:
        # The pairs of nodes that are no pair of a row object and a column object.
        check_missing(n * n - n_rows * n_cols, relation.name)
        others = np.ones((1, n), dtype=np.bool_)
        others[0, columns] = False
        of_rows = sparse.kron(np.ones((n_rows, 1), dtype=np.bool_), Pattern(others))
        of_others = Pattern(np.ones((n - n_rows, n), dtype=np.bool_))
        missing = as_pattern(missing + sparse.vstack([of_rows, of_others]))
    given = None if zeros is None else spread(as_pattern(to_sparse(zeros, relation.name)))
    return np.array(list(place), dtype=object), spread(relation.links), missing, given


_SAME, _TWO = "Rows and columns are the same objects", "Rows and columns are two kinds of objects"
# Fewer links that go both ways, or are sorted, can be chance.
_MIN_PAIRS = 3
#: Links that are compared at a time.
_PIECE = 1 << 16


def resolve_domains(
    relation: Relation, entries: Entries, schema: Schema, options: ReadOptions
) -> tuple[Relation, list[Fact], Sides]:
    """Return the relation with one domain or two, what reading it found, and why it is taken so.

    DataError if a network was asked for, but the source is a matrix that is not square, or if nothing says
    whether links have a direction.
    """
    named = _name_alike(relation, entries)
    sides = _choose_sides(relation if named is None else named, entries, schema, options)
    facts = [Fact("domains", 2 if sides.domains == "two" else 1, sides.reason, {"domains": sides.domains})]
    declared, directed = entries.declared, options.directed
    undirected = declared is not None and declared.directed is False
    zeros = entries.given_zeros
    is_two = sides.domains == "two"
    if named is not None and undirected and schema.format in GRAPH_FORMATS and (is_two or directed):
        # The file names one direction of each link, and means both.
        named = as_two_sided(as_network(named, directed=False, self_links=True, zeros=zeros).data)
        zeros = None if zeros is None else as_pattern(zeros + zeros.T)
        relation, entries.facts = named, _size_facts(entries.facts, named)
    if is_two:
        return relation, entries.facts + facts, sides
    if named is None:
        rows, columns = relation.shape
        what = f"a network has the same objects on both sides, but this matrix is {rows:,} x {columns:,}"
        remedy = "Load a square matrix, or take rows and columns as two kinds of objects (domains='two')."
        raise DataError(what, source=schema.filename, remedy=remedy)
    origin = "the graph says so" if schema.container == "object" else "the file says so"
    if schema.format == "edges" and declared is not None:
        origin = declared.reason
    direction = (
        "the names of the two columns give a direction" if entries.heading in ("directed", "ends") else None
    )
    if directed is None and undirected:
        directed = False
        facts.append(Fact("direction", 0, f"The network is undirected: {origin}.", {"directed": False}))
    elif directed is None and declared is not None and declared.directed:
        direction = origin
    elif directed is None and entries.heading == "ends":
        _refuse_sorted_pairs(named, zeros, schema)
    elif undirected and directed:
        both, _ = _count_ways(named.ones)
        told = "The file says that its links have no direction: "
        told += f"{plural(both, 'pair is', 'pairs are')} linked both ways in the directed network that was asked for."
        facts.append(Fact("undirected_both_ways", both, told))
    # A table says something of each of its cells and nothing of others; so does a list that asks for it.
    silent = schema.format != "edges" or options.unlisted == "missing"
    made = as_network(
        named,
        directed=directed,
        self_links=options.self_links,
        zeros=zeros,
        unlisted="missing" if silent else "zero",
        direction=direction,
    )
    network = made.data
    assert network.network is not None
    # A file of an undirected graph has each edge once, and means both ways.
    each_once = directed is False and options.directed is None
    facts += [fact for fact in made.report.facts if not (each_once and fact.name == "one_way")]
    sides = replace(sides, directed=network.network.directed, self_links=network.network.self_links)
    return network, _size_facts(entries.facts, network) + facts, sides


def _refuse_sorted_pairs(relation: Relation, zeros: Pattern | None, schema: Schema) -> None:
    """Raise DataError for pairs that are sorted as in undirected lists, below names that may give a direction."""
    given = relation.ones if zeros is None else relation.ones + zeros
    rows, columns = relation.row_labels, relation.column_labels
    if all(label.isdecimal() and len(label) < 19 for labels in (rows, columns) for label in labels):
        rows, columns = (np.array([int(label) for label in labels]) for labels in (rows, columns))
    links, n = given.tocoo(), 0
    for at in range(0, links.nnz, _PIECE):
        first, second = rows[links.row[at : at + _PIECE]], columns[links.col[at : at + _PIECE]]
        if (first > second).any():
            return
        n += int((first != second).sum())
    if n >= _MIN_PAIRS:
        names = [f" {schema.column_names[at or 0]!r}" for at in (schema.row_column, schema.column_column)]
        called = f"the columns{' and'.join(names)}" if schema.header else "the names of the columns"
        what = f"{called} may give links a direction or not: no pair is listed both ways, "
        what += "and the first name is always the smaller, as in lists of undirected links"
        raise DataError(what, source=schema.filename, remedy=ASK_DIRECTION)


def _size_facts(facts: list[Fact], relation: Relation) -> list[Fact]:
    """Return the facts about reading, with those about the size as they are of `relation`."""
    facts = [links_fact(relation) if fact.name == "links" else fact for fact in facts]
    return [fact for fact in facts if fact.name != "missing"] + missing_facts(relation)


def _choose_sides(relation: Relation, entries: Entries, schema: Schema, options: ReadOptions) -> Sides:
    if options.wants_network:
        return Sides("one", f"{_SAME}, as asked for.")
    if options.domains == "two":
        return Sides("two", f"{_TWO}, as asked for.")
    shape, row_nodes, column_nodes = options.shape, options.row_nodes, options.column_nodes
    if shape is not None and shape[0] != shape[1]:
        return Sides("two", f"{_TWO}: the given shape, {shape[0]:,} x {shape[1]:,}, is not square.")
    if row_nodes is not None and column_nodes is not None and set(row_nodes) != set(column_nodes):
        return Sides("two", f"{_TWO}: the given lists of row objects and of column objects differ.")
    declared = entries.declared
    # Two lists of different names speak louder than the symmetry of the matrix that they name.
    if declared is not None and (
        declared.domains == "two" or relation.row_labels.tolist() == relation.column_labels.tolist()
    ):
        return Sides(declared.domains, f"{_SAME if declared.domains == 'one' else _TWO}: {declared.reason}.")
    return _guess_sides(relation, entries, is_table=schema.format != "edges")


def _guess_sides(relation: Relation, entries: Entries, *, is_table: bool) -> Sides:
    """Return whether both sides are the same objects, by their names and links.

    `is_table`: that a matrix has the same names on both sides says more than that a list has.
    """
    rows, columns = relation.row_labels.tolist(), relation.column_labels.tolist()
    if not any(entries.named):  # positions in a file without names: that they are on both sides says nothing
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
    if entries.heading and 100 * len(shared) >= fewer:
        return Sides("one", f"{_SAME}: the columns are named as those of a network, and {occur}.")
    words = sum(re.fullmatch(r"[+-]?\d+(\.\d*)?", name) is None for name in shared)
    if words >= 2 and 2 * words >= fewer:
        return Sides("one", f"{_SAME}: {occur}.")
    if is_table and len(shared) == len(rows) == len(columns) > 1:
        return Sides("one", f"{_SAME}: the matrix has the same names at the top and at the left.")
    if _is_symmetric(relation):
        return Sides("one", f"{_SAME}: every link goes both ways, and {occur}.")
    why = "numbers, and nothing else says" if not words and not entries.heading else "too few to say"
    taken = "Rows and columns are taken as two kinds of objects"
    return Sides("two", f"{taken}: {occur}, {why} that they are the same.")


def _is_symmetric(relation: Relation) -> bool:
    """Return whether every link between different objects goes both ways."""
    _, links, *_ = spread_over_all(relation)
    both, one_way = _count_ways(as_pattern(links))
    return both >= _MIN_PAIRS and one_way == 0


def _name_alike(relation: Relation, entries: Entries) -> Relation | None:
    """Return the relation with the same names on both sides if only one has any; None if it is not square."""
    if all(entries.named):
        return relation
    if relation.shape[0] != relation.shape[1]:
        return None
    labels = relation.column_labels if entries.named[1] else relation.row_labels
    return replace(relation, row_labels=labels, column_labels=labels)
