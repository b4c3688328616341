"""From the entries of a source to a relation: the objects of each side, the links, and the facts about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from acvb_core.core.errors import DataError, shorten
from acvb_core.data.names import EndLabels, FurtherColumns, plain_ids, text_of
from acvb_core.data.relation import Codes, Pairs, Relation, as_pattern, canonical, intersect, subtract
from acvb_core.data.relation_schema import (
    ASK_DIRECTION,
    Heading,
    ReadOptions,
    Threshold,
    inspect,
    no_data_fault,
    read_direction,
    read_heading,
)
from acvb_core.data.report import Fact, plural, tell_count
from acvb_core.data.schema import Schema, Sides
from acvb_core.data.sources.containers import open_records, reading_facts
from acvb_core.data.sources.frames import (
    Frame,
    FrameRecords,
    FrameSource,
    batch_texts,
    column_types,
    read_texts,
)
from acvb_core.data.sources.parse import RecordReader
from acvb_core.data.sources.source import ByteSource
from acvb_core.data.sources.values import (
    LINK,
    MISSING,
    ZERO,
    LabelTable,
    RecordBatch,
    ValueReader,
    checked_threshold,
)

#: Returns the `source`, `line` and `column` of a label code, for an error.
Place = Callable[[int], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Side:
    """The objects of one side: their `labels` (object array of str), and the object of each label code of the file."""

    labels: NDArray[Any]
    final: NDArray[np.int32]

    @property
    def n(self) -> int:
        """Number of objects."""
        return len(self.labels)


def make_side(
    labels: Sequence[str] | None, nodes: Sequence[str] | None, place: Place, size: int | None = None
) -> Side:
    """Return the objects that the labels of a source, by code, are names of.

    They are those of a node list; or `size` objects named "0", "1", …, whose labels are the 0-based indices; or
    else the labels themselves. Without labels, the codes are the positions of the `size` objects.
    """
    names: Sequence[str]
    codes: Sequence[int]
    if labels is None:
        codes = range(size or 0)
        names = list(map(str, codes)) if nodes is None else nodes
        if len(names) != len(codes):
            what = f"there are {len(codes):,} objects but the node list has {len(names):,} labels"
            remedy = "Give one label for each object, in order."
            raise DataError(what, source=place(0)["source"], remedy=remedy)
    elif nodes is not None:
        index = {node: i for i, node in enumerate(nodes)}
        names, codes = nodes, [index.get(label, -1) for label in labels]
        if -1 in codes:
            code = codes.index(-1)
            what = "this label is not in the node list"
            remedy = f"Add it to the node list ({len(nodes):,} labels), or leave the list out."
            raise DataError(what, **place(code), value=labels[code], remedy=remedy)
    elif size is not None:
        for code, label in enumerate(labels):
            if not (label.isascii() and label.isdigit() and len(label) <= 12 and int(label) < size):
                what = f"with a given shape every label is an index from 0 to {size - 1:,}"
                remedy = "Give a larger shape, or leave it out where labels are names."
                raise DataError(what, **place(code), value=label, remedy=remedy)
        names, codes = list(map(str, range(size))), list(map(int, labels))
    else:
        ids = plain_ids(labels, place)
        index = {label: code for code, label in enumerate(dict.fromkeys(ids))}
        names, codes = list(index), [index[label] for label in ids]
    return Side(np.array(names, dtype=object), np.array(codes, dtype=np.int32))


MAX_MISSING = 50_000_000  # pairs held as missing because nothing is said of them; 5 bytes each


@dataclass
class Entries:
    """Entries in the order in which a source gives them, as label codes, and what it says of its two sides."""

    threshold: float = 0.0  # numbers above it are links
    links: Pairs = field(default_factory=Pairs)
    zeros: Pairs = field(default_factory=Pairs)
    missing: Pairs = field(default_factory=Pairs)
    # Rows, columns and numbers above 0 that do not exceed the threshold by themselves (their pairs are zeros too).
    small: list[tuple[Codes, Codes, NDArray[np.float64]]] = field(default_factory=list)
    lowest: float = np.inf  # of the numbers
    highest: float = -np.inf
    whole: bool = True
    n_above: int = 0  # numbers above the threshold, others than 0, and those of them below 0
    n_below: int = 0
    n_negative: int = 0
    facts: list[Fact] = field(default_factory=list)
    # Entries of the relation given as 0, which other lines may have made links; None: all that are neither 1 nor
    # missing.
    given_zeros: sparse.csr_array | None = None
    # Rows, and columns, have names and are not called by their positions.
    named: tuple[bool, ...] = (True, True)
    declared: Sides | None = None  # what is said of the two sides; the reason ends a sentence
    heading: Heading = None  # what the names of a list's two columns say
    end_labels: list[EndLabels] = field(
        default_factory=list
    )  # what further columns of a list say of its ends

    @property
    def counts(self) -> bool:
        """Return whether the numbers are counts: whole, none negative and one above 1."""
        return self.whole and self.lowest >= 0 and self.highest > 1

    def judge(self, verdicts: Any, numbers: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return verdicts in which numbers are compared with the threshold; those of words stay."""
        known = np.where(numbers > self.threshold, LINK, ZERO)
        return np.where(np.isnan(numbers), verdicts, known).astype(np.uint8)

    def add(self, rows: Codes, columns: Codes, verdicts: Any, numbers: Any, keep_zeros: bool = True) -> None:
        """Append entries: int32 codes, verdicts of words and float64 numbers (NaN for words), all of shape (n,).

        Zeros matter only if a pair can be given twice; a dense matrix need not keep them.
        """
        verdicts = self.judge(verdicts, numbers)
        for verdict, pairs in ((LINK, self.links), (ZERO, self.zeros), (MISSING, self.missing)):
            chosen = verdicts == verdict
            if (keep_zeros or verdict != ZERO) and chosen.any():
                own = np.where(np.isnan(numbers[chosen]), 1.0, numbers[chosen]) if verdict == LINK else None
                pairs.add(rows[chosen], columns[chosen], own)
        small = (verdicts == ZERO) & (numbers > 0)
        if small.any():
            self.small.append((rows[small], columns[small], numbers[small]))
        real = numbers[~np.isnan(numbers)]
        self.lowest = min(self.lowest, real.min(initial=np.inf))
        self.highest = max(self.highest, real.max(initial=-np.inf))
        self.whole = self.whole and bool((real == np.floor(real)).all())
        above = int(((verdicts == LINK) & ~np.isnan(numbers)).sum())
        self.n_above += above
        self.n_below += int(np.count_nonzero(np.nan_to_num(numbers))) - above
        self.n_negative += int((numbers < 0).sum())

    def sum_small(self, row_map: Codes, column_map: Codes, shape: tuple[int, int]) -> sparse.csr_array:
        """Return the sum of each pair's small numbers."""
        rows, columns, numbers = (np.concatenate(part) for part in zip(*self.small, strict=True))
        return canonical(sparse.csr_array((numbers, (row_map[rows], column_map[columns])), shape=shape))

    def tell_values(self) -> list[Fact]:
        """Return how numbers that are not all 0 and 1 are used, and how many are negative."""
        low, high, threshold = float(self.lowest), float(self.highest), self.threshold
        if self.whole and low >= 0 and high <= 1:
            return []
        told = f"Values from {low:g} to {high:g} are read by the threshold {threshold:g}: "
        told += f"{self.n_above:,} above it as linked"
        told += f", {self.n_below:,} other than 0 as not linked." if self.n_below else "."
        told += " Models of counts use the values of links as weights; others use linked or not linked only."
        n, known = self.n_above + self.n_below, {"lowest": low, "highest": high, "threshold": threshold}
        facts = tell_count("values", n, told, **known)
        told = "{value is|values are} negative: taken as no link. Models of counts refuse such data."
        return facts + tell_count("negative", self.n_negative, told)


def open_entries(asked: Threshold, source: str, numbers: Iterable[NDArray[Any]]) -> Entries:
    """Return entries that hold none; a threshold that is a quantile is found among the positive `numbers`."""
    if not isinstance(asked, str):
        return Entries(checked_threshold(asked))
    positive = np.concatenate([np.empty(0), *(part[(part > 0) & (part < np.inf)] for part in numbers)])
    if not len(positive):
        what = f"no value is above 0, so that there is no threshold of {asked}"
        raise DataError(what, source=source, remedy="Leave the threshold out, or give a number.")
    number = float(np.quantile(positive, float(asked.rstrip("% ")) / 100))
    told = f"The threshold is {number:g}, the {asked} quantile of {{positive value}}."
    return Entries(number, facts=tell_count("quantile", len(positive), told, threshold=number))


def open_list(
    source: ByteSource | FrameSource, schema: Schema, options: ReadOptions, further: Sequence[int] = ()
) -> RecordReader | FrameRecords:
    """Return the records of a list of links or of a matrix, from the first one; with some `further` columns."""
    used = None
    if schema.used_columns is not None:
        used = [*(at for at in schema.used_columns if at is not None), *further]
    return open_records(source, schema, encoding=options.encoding, used=used, block_bytes=options.block_bytes)


def open_values(
    source: ByteSource | FrameSource, schema: Schema, options: ReadOptions, columns: Sequence[int]
) -> tuple[ValueReader, Entries]:
    """Return a reader of some columns of values, and the entries to add them to (`open_entries`)."""
    # In columns of numbers, a year or a price would be taken for links.
    only_bits = isinstance(source, FrameSource) and options.threshold is None
    values = ValueReader(source.name, only_bits=only_bits, style=schema.style)

    def read_numbers() -> Iterator[NDArray[np.float64]]:
        for batch in open_list(source, schema, options):
            yield read_values(batch, values, columns)[1]

    return values, open_entries(options.threshold, source.name, read_numbers())


def read_values(
    batch: RecordBatch, values: ValueReader, columns: Sequence[int]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return verdicts and numbers of some columns, record by record: one table of values serves all columns."""
    try:
        return values.read(batch.interleave(*columns), 0)
    except DataError as problem:  # it names the line, but saw one field a record
        fields = batch.record(int(np.flatnonzero(batch.lines == problem.line)[0]))
        at = next(i for i in columns if shorten(fields[i]) == problem.value)
        raise problem.change_parts(column=at + 1) from None


def assemble(
    entries: Entries,
    sides: Sequence[Side],
    fault: Callable[[int, int], DataError],
    name: str,
    kinds: tuple[str, str] = ("row", "column"),
    *,
    unlisted_missing: bool = False,
) -> Relation:
    """Return the relation of some entries, whose facts then tell what was merged on the way.

    A pair given more than once:

    * counts (whole numbers, none negative, one above 1) are added up, then compared with the threshold;
    * otherwise every line is judged by itself: lines that agree are merged, a link and a 0 are the `fault` of a pair;
    * the weight of a link is the sum of its values, 1 for each word; without values other than 1 there are no weights;
    * a known value prevails over a missing one.

    A pair that is not given is an observed 0, or missing when `unlisted_missing`.
    """
    rows, columns = sides
    place, counts = (rows.final, columns.final, (rows.n, columns.n)), entries.counts
    all_pairs, n_missing = (entries.links, entries.zeros, entries.missing), entries.missing.n
    given = sum(pairs.n for pairs in all_pairs)
    links, zeros, missing = (pairs.to_csr(*place) for pairs in all_pairs)
    ones = as_pattern(links)
    if counts and entries.small:
        # Counts of one pair that are each below the threshold may exceed it together.
        small = entries.sum_small(*place)
        ones = as_pattern(ones + (small > entries.threshold))
        links = (links + small).multiply(ones)
    clash = intersect(ones, zeros)
    if clash.nnz and not counts:
        raise fault(*(int(indices[0]) for indices in clash.nonzero()))
    known = intersect(missing, ones) + intersect(missing, zeros)
    missing = subtract(missing, known)
    n_given = ones.nnz + zeros.nnz - clash.nnz + missing.nnz
    n_unlisted = rows.n * columns.n - n_given
    taken = "as no link (choose unlisted pairs as missing if they are unknown)"
    if unlisted_missing and n_unlisted:
        taken, missing = "as missing", _find_unlisted(ones, zeros, n_unlisted, name)
    relation = Relation.build(
        links,
        missing,
        threshold=0.0,
        row_labels=rows.labels,
        column_labels=columns.labels,
        name=name,
        row_kind=kinds[0],
        column_kind=kinds[1],
    )
    relation = replace(relation, negative=entries.n_negative)
    told = f"The data give zeros one by one, but {{pair is|pairs are}} not listed: taken {taken}."
    facts = [*entries.facts, links_fact(relation)]
    facts += tell_count("unlisted", n_unlisted if zeros.nnz else 0, told) + entries.tell_values()
    how = "their counts were added" if counts else "they agree and were merged"
    how += "; the weight of a link is the sum of its values" if links.dtype != np.bool_ and not counts else ""
    told = f"{{entry repeats|entries repeat}} a pair that was already given; {how}."
    facts += tell_count("duplicates", given - n_given - known.nnz, told)
    told = "{pair is|pairs are} missing in one place and known in another; the known value was kept."
    facts += tell_count("known_over_missing", known.nnz, told)
    if n_missing or relation.n_unknown:
        facts += missing_facts(relation) or [Fact("missing", 0, "0 entries are missing.")]
    entries.facts, entries.given_zeros = facts, zeros
    return relation


def object_facts(relation: Relation, *, same_objects: bool = False) -> list[Fact]:
    """Return what to know about the objects: those without links, names that occur on both sides, self-links.

    Self-links are those of a network, or of two sides that hold the same objects (`same_objects`): elsewhere a
    row object and a column object of one name are two objects.
    """
    ones = relation.ones
    unlinked, unreached = np.diff(ones.indptr) == 0, np.ones(relation.shape[1], dtype=np.bool_)
    unreached[ones.indices] = False
    if relation.network is not None:
        isolated = int((unlinked & unreached).sum())
        return tell_count("isolated", isolated, "{node has|nodes have} no link.")
    shared = len(set(relation.row_labels) & set(relation.column_labels))
    own = int(ones.diagonal().sum()) if same_objects else 0
    return [
        *tell_count("empty_rows", int(unlinked.sum()), "{row object has|row objects have} no link."),
        *tell_count(
            "empty_columns", int(unreached.sum()), "{column object has|column objects have} no link."
        ),
        *tell_count("shared_labels", shared, "{name occurs|names occur} on both sides."),
        *tell_count("self_links", own, "{object is linked to itself|objects are linked to themselves}."),
    ]


def missing_facts(relation: Relation) -> list[Fact]:
    """Return how many entries are missing, if any is; self-links that do not count are none."""
    things = "{entry is|entries are}" if relation.network is None else "{pair is|pairs are}"
    return tell_count("missing", relation.n_unknown, f"{things} missing.")


def links_fact(relation: Relation) -> Fact:
    """Return the size of a relation: objects and links."""
    (rows, columns), n = relation.shape, relation.n_links
    objects, share, of = f"{rows:,} row objects, {columns:,} column objects", relation.density, "entries"
    if relation.network is not None:
        objects, share, of = plural(rows, "node"), n / max(relation.n_known, 1), "pairs"
    told = f"{objects}, {plural(n, 'link')} ({share:.3%} of the known {of})."
    return Fact("links", n, told, {"n_rows": rows, "n_columns": columns})


def check_missing(n: int, name: str) -> None:
    """Refuse more unmentioned pairs than can be kept as missing."""
    if n > MAX_MISSING:
        what = f"nothing is said of {n:,} pairs, too many to hold as missing"
        raise DataError(what, source=name, remedy="Take unlisted pairs as no link, or load fewer objects.")


def _find_unlisted(ones: sparse.csr_array, zeros: sparse.csr_array, n: int, name: str) -> sparse.csr_array:
    """Return the pattern of all pairs that are neither a link nor an observed 0."""
    check_missing(n, name)
    unknown = ~(ones + zeros).toarray()
    pointers = np.concatenate([[0], np.cumsum(unknown.sum(axis=1))]).astype(np.int32)
    indices = np.broadcast_to(np.arange(ones.shape[1], dtype=np.int32), ones.shape)[unknown]
    return sparse.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=ones.shape)


def read_edge_list(
    source: ByteSource | FrameSource, schema: Schema, options: ReadOptions
) -> tuple[Relation, Entries]:
    """Return the relation of a list of links whose columns its schema chooses."""
    at = schema.value_column
    values, entries = open_values(source, schema, options, () if at is None else (at,))
    links, further = _LinkList(source, schema, options), _choose_further(source, schema)
    reader = open_list(source, schema, options, further.at)
    for batch in reader:
        codes = links.read_codes(batch)
        further.add(batch, codes)
        if at is None:
            entries.links.add(*codes)
        else:
            entries.add(*codes, *values.read(batch, at))
    if reader.records == 0:
        raise no_data_fault(source.name)
    rows = links.build_side(0, options.row_nodes)
    columns = rows if options.same_nodes else links.build_side(1, options.column_nodes)
    row_kind, column_kind = (reader.header[i] for i in links.at) if reader.header else ("", "")
    entries.declared, entries.heading = links.find_direction(), read_heading(schema, source.head)
    entries.facts = [*reading_facts(reader, schema), *links.facts, *entries.facts]
    entries.end_labels = further.find_labels([side.labels[side.final] for side in (rows, columns)])
    relation = assemble(
        entries,
        (rows, columns),
        lambda *pair: links.find_contradiction(pair, (rows, columns), values, entries),
        options.name,
        (row_kind or "row", "column" if column_kind in ("", "col") else column_kind),
        unlisted_missing=options.unlisted == "missing",
    )
    unnamed = isinstance(source, ByteSource) or not source.frame.named
    guessed = unnamed and not isinstance(options.header, bool)
    if guessed and not schema.header and at is None:
        entries.facts += links.find_lone_first_line(relation, rows, columns)
    return relation, entries


def _choose_further(source: ByteSource | FrameSource, schema: Schema) -> FurtherColumns:
    """Return the named columns of a list of links that have no role."""
    used = schema.used_columns
    if not schema.header or used is None:
        return FurtherColumns({})
    types = column_types(source) if isinstance(source, FrameSource) else []
    names = {i: schema.column_names[i].strip() for i in range(schema.n_fields) if i not in used}
    return FurtherColumns(
        {i: name for i, name in names.items() if name and not (types and _is_nested(types[i]))}
    )


def _is_nested(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind))


class _LinkList:
    """A list of links as it is read: the labels of each side become codes; `facts` tells what was done to them."""

    def __init__(self, source: ByteSource | FrameSource, schema: Schema, options: ReadOptions) -> None:
        assert schema.row_column is not None
        assert schema.column_column is not None
        self.at = schema.row_column, schema.column_column
        self.facts: list[Fact] = []
        self._source, self._schema, self._options = source, schema, options
        self._directions, table = LabelTable(), LabelTable()
        # The number of lines of each text in the column of directions.
        self._n_saying: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._tables = (table, table if options.same_nodes else LabelTable())
        self._unit = source.frame.unit if isinstance(source, FrameSource) else "line"

    def read_codes(self, batch: RecordBatch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the codes of the row labels and of the column labels; a blank label is a DataError."""
        for i in self.at:
            blank = batch.blank(i)
            if blank.any():
                name, line = self._source.name, int(batch.lines[blank.argmax()])
                remedy = "Give every object a name, or remove the line."
                raise DataError("a label is blank", source=name, line=line, column=i + 1, remedy=remedy)
        if self._schema.direction_column is not None:
            codes = self._directions.codes(batch, self._schema.direction_column)
            counts = np.bincount(codes, minlength=len(self._directions))
            counts[: len(self._n_saying)] += self._n_saying
            self._n_saying = counts
        if self._options.same_nodes:
            both = self._tables[0].codes(batch.interleave(*self.at), 0)
            return both[0::2], both[1::2]
        return self._tables[0].codes(batch, self.at[0]), self._tables[1].codes(batch, self.at[1])

    def find_direction(self) -> Sides | None:
        """Return what the column of directions says of all links; None if there is none, or not all say the same.

        Raises DataError: they do not, and nobody says how all of them are read.
        """
        at = self._schema.direction_column
        if at is None:
            return None
        heading, texts = self._schema.column_names[at], self._directions.labels()
        said = {code: read_direction(heading, text) for code, text in enumerate(texts) if text.strip()}
        if len(set(said.values())) == 1 and None not in said.values():
            return Sides("one", f"the column {heading!r} says so", directed=next(iter(said.values())))
        if self._options.directed is not None or not said:
            n = sum(int(self._n_saying[code]) for code, directed in said.items() if directed is False)
            told = "{link has no direction: it is|links have no direction: they are} read from the first object to "
            told += "the second only."
            self.facts += tell_count("undirected_as_directed", n if self._options.directed else 0, told)
            return None
        first = next(iter(said))
        code = next(code for code in said if said[code] is None or said[code] is not said[first])
        what = f"some links have a direction and some have none, as on line {self._directions.first_line(first):,}"
        if said[code] is None:
            what = f"{texts[code]!r} says neither that a link has a direction nor that it has none"
        raise DataError(
            what,
            source=self._source.name,
            line=self._directions.first_line(code),
            column=at + 1,
            value=texts[code],
            remedy=ASK_DIRECTION,
        )

    def build_side(self, axis: int, nodes: list[str] | None) -> Side:
        """Return the objects of a side, once all of them were read."""
        table, shape, same = self._tables[axis], self._options.shape, self._options.same_nodes

        def place(code: int) -> dict[str, Any]:
            line = table.first_line(code) if code < len(table) else None
            # A table that serves both sides met the label in either column.
            return {"source": self._source.name, "line": line, "column": None if same else self.at[axis] + 1}

        labels = table.labels()
        if nodes is not None or shape is not None:
            return make_side(labels, nodes, place, None if shape is None else shape[axis])
        for column in self.at if same else self.at[axis : axis + 1]:
            labels += find_unused_categories(self._source, column, labels, self.facts)
        side = make_side(labels, None, place)
        if side.labels.tolist() != labels and all(fact.name != "whole_ids" for fact in self.facts):
            told = "Ids are whole numbers: a .0 was left out, so that 1.0 and 1 are one object."
            self.facts.append(Fact("whole_ids", 1, told))
        return side

    def find_lone_first_line(self, relation: Relation, rows: Side, columns: Side) -> list[Fact]:
        """Return a note if only the first line has two names that occur nowhere else, as names of columns do.

        Raises DataError: all other names occur again, so that the first line is a heading, most likely.
        """
        # Codes are given in the order of first occurrence.
        first = int(rows.final[0]), int(columns.final[:2][-1 if self._options.same_nodes else 0])
        names = [shorten(rows.labels[first[0]]), shorten(columns.labels[first[1]])]
        if np.diff(relation.ones.indptr)[first[0]] != 1 or any(name.isdecimal() for name in names):
            return []
        links = relation.ones.tocoo()
        times: Counter[str] = Counter()  # of each name, whichever side it is on
        for side, at in zip((rows, columns), links.coords, strict=True):
            times.update(dict(zip(side.labels, np.bincount(at, minlength=side.n).tolist(), strict=True)))
        alone = [np.array([times[name] == 1 for name in side.labels]) for side in (rows, columns)]
        lone = np.flatnonzero(alone[0][links.row] & alone[1][links.col])
        if len(lone) != 1 or (links.row[lone[0]], links.col[lone[0]]) != first:
            return []
        if len(times) > 4 and list(times.values()).count(1) == 2:
            raise DataError(
                f"the first {self._unit} may hold the names of the columns: all names but these two occur again",
                source=self._source.name,
                line=self._schema.first_line,
                value=", ".join(names),
                remedy="Say whether it holds names (header=True) or data (header=False).",
            )
        told = "on the first line, occur with each other only. They may be names of columns, and not data."
        return [Fact("lone_first_line", 1, f"{' and '.join(names)}, {told}")]

    def find_contradiction(
        self, pair: tuple[int, int], sides: tuple[Side, Side], values: ValueReader, entries: Entries
    ) -> DataError:
        """Return the error for a pair that is a link on one line and none on another.

        The file is read once more to name both lines: no line number is kept for 20 million pairs.
        """
        lines: dict[int, int] = {}  # by verdict
        at = self._schema.value_column or 0
        for batch in open_list(self._source, self._schema, self._options):
            ends = [side.final[codes] for side, codes in zip(sides, self.read_codes(batch), strict=True)]
            verdicts = entries.judge(*values.read(batch, at))
            for i in np.flatnonzero((ends[0] == pair[0]) & (ends[1] == pair[1])):
                lines.setdefault(int(verdicts[i]), int(batch.lines[i]))
        unit = self._unit
        return DataError(
            f"the pair is a link on {unit} {lines[LINK]:,} and no link on {unit} {lines[ZERO]:,}",
            source=self._source.name,
            line=max(lines[LINK], lines[ZERO]),
            column=at + 1,
            value=", ".join(side.labels[at] for side, at in zip(sides, pair, strict=True)),
            remedy=f"Keep one of the two {unit}s.",
        )


def find_unused_categories(
    source: ByteSource | FrameSource, column: int, labels: Sequence[str], facts: list[Fact]
) -> list[str]:
    """Return the categories that a column of a data frame declares and no row has: objects without links."""
    if not isinstance(source, FrameSource) or source.frame.container != "frame":
        return []
    array = next(source.frame.batches()).column(column)
    if not hasattr(array, "dictionary"):
        return []
    known = set(labels)
    declared = (text.strip() for text in read_texts(array.dictionary, source, column).to_pylist())
    unused = [text for text in dict.fromkeys(declared) if text and text not in known]
    told = "{category|categories} of a column that no row has: kept as objects without links."
    facts += tell_count("unused_categories", len(unused), told)
    return unused


def open_pairs(given: Iterable[Any], name: str) -> tuple[FrameSource, Schema]:
    """Return pairs, or triples with a value, as the columns of a list of links.

    A label is a text, a number or any object that `str` tells from others; None and NaN are missing values.
    """
    items = iter(given)
    first = next(items, None)
    if first is None:
        raise DataError("there are no pairs", source=name, remedy="Give at least one pair (label, label).")
    width = len(first) if _is_pair(first) else 2

    def write(number: int, row: Any) -> tuple[int, list[str]]:
        if not _is_pair(row) or len(row) != width:
            what = f"this is not a {'pair' if width == 2 else 'triple'}"
            remedy = "Give pairs (label, label), or triples (label, label, value), all of one length."
            if isinstance(row, str):
                remedy = "Give pairs (label, label). A list of texts is a corpus: read it with load_corpus."
            raise DataError(what, source=name, line=number, unit="row", value=repr(row), remedy=remedy)
        texts = [text_of(value) for value in row]
        if width == 3 and isinstance(row[2], float | np.floating) and texts[2]:
            texts[2] = repr(float(row[2]))  # with all its digits
        return number, texts

    rows = (write(number, row) for number, row in enumerate(chain([first], items), start=1))
    batches = list(batch_texts(rows, width))
    names = tuple(batches[0].schema.names[:width])
    source = FrameSource(Frame("pairs", "a list of pairs", names, False, lambda: iter(batches)), name)
    schema = inspect(source, ReadOptions(format="edges", header=False))
    return source, replace(schema, value_column=2 if width == 3 else None)


def _is_pair(row: Any) -> bool:
    return isinstance(row, tuple | list | np.ndarray) and len(row) in (2, 3)
