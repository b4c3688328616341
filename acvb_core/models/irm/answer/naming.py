"""Names of clusters, made of their members, and the columns of tables that have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acvb_core.core.display import cut_label
from acvb_core.data.network import with_names
from acvb_core.data.relation import Relation
from acvb_core.engine.prepared import Binding
from acvb_core.engine.result import Result
from acvb_core.evaluate.agreement import are_names
from acvb_core.models.irm.answer.contrasts import compare_clusters, count_strong_links

if TYPE_CHECKING:
    import pandas as pd

#: Members that a name consists of, characters of one, and of all; the name of a cluster without members.
_NAMED, _LONGEST, _CHARACTERS, _EMPTY = 3, 20, 40, "no members"
#: Labels that are looked at to see whether labels are readable, what is no part of a word, and a word.
_JUDGED, _DIGITS, _WORD = 1000, re.compile(r"[\W\d_]+"), re.compile(r"[^\W\d_]{3}")
#: What paths and dotted names begin with.
_PATH = re.compile(r".*[^\W\d].*?[./:\\](?=\w|$)")
#: Members by which a cluster is recognised.
_MARKS = 200


def name_parts(result: Result) -> dict[str, tuple[str, ...]]:
    """Return a name for every cluster of each domain, all different.

    It consists of the members with most links in what sets the cluster apart. If labels are ids, those of an attribute
    take their place (`choose_labels`), or the other side that the cluster is linked to most.
    """
    domains = list(result.posterior.averaged)
    labels = {domain: choose_labels(result.prepared.data, domain) for domain in domains}
    readable = {domain: are_readable(own) for domain, own in labels.items()}
    members: dict[str, list[NDArray[Any]]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for domain in sorted(domains, key=lambda one: not readable[one]):
        typical = count_strong_links(result, domain)
        order = [own[np.argsort(-typical[own], kind="stable")] for own in _members(result, domain)]
        members[domain] = [labels[domain][own] for own in order]
        names = [_join(own) for own in members[domain]]
        if not readable[domain] and any(readable[other] for other in found):
            names = _name_by_links(result, domain, members, names)
        found[domain] = _distinguish(names)
    return {domain: found[domain] for domain in domains}


def choose_labels(relation: Relation, domain: str) -> NDArray[Any]:
    """Return the labels of a domain's objects, or a known attribute in their place if only that is readable."""
    name = choose_name(relation, domain)
    if name:
        return relation.attributes_of(domain)[name]
    return relation.column_labels if domain == "cols" else relation.row_labels


def choose_name(relation: Relation, domain: str) -> str:
    """Return the attribute that names the objects of a domain if only that is readable, "" for their labels."""
    labels = relation.column_labels if domain == "cols" else relation.row_labels
    names = [] if are_readable(labels) else list_names(relation, domain)
    return next((name for name in names if are_readable(relation.attributes_of(domain)[name])), "")


def list_names(relation: Relation, domain: str) -> list[str]:
    """Return the attributes that can name the objects of a domain: more than half of the objects have their own."""
    return [name for name, values in relation.attributes_of(domain).items() if are_names(values, 0.5)]


def show_names(result: Result, names: Mapping[str, str]) -> Result:
    """Return a result whose objects are named by an attribute of theirs (`with_names`), by domain."""
    prepared = result.prepared
    data, find = with_names(prepared.data, **names), prepared.binding.find
    labels = {name: getattr(data, name) for name in ("row_labels", "column_labels", "numbered")}

    def name_model() -> Any:
        model = find("model")
        return replace(model, relation=replace(model.relation, **labels))

    binding = Binding(split=partial(find, "split"), algorithm=partial(find, "algorithm"), model=name_model)
    return result.with_state(prepared=replace(prepared, data=data, binding=binding))


def are_readable(labels: NDArray[Any]) -> bool:
    """Return whether labels are words rather than ids: most differ in their letters, and most have three in a row."""
    some = [str(label) for label in labels[:_JUDGED]]
    words = [word for word in (_DIGITS.sub("", label).lower() for label in some) if _WORD.search(word)]
    return len(words) > len(some) / 2 and len(set(words)) > len(some) / 4


def _name_by_links(
    result: Result, domain: str, members: Mapping[str, Sequence[NDArray[Any]]], names: Sequence[str]
) -> list[str]:
    """Return names by the clusters of the other side that each cluster is linked to most, with the user's names.

    Clusters that are linked to none more than others keep their names.

    `members`: labels of the members of each cluster, the most typical first, by domain.
    """
    (contrasts,) = compare_clusters(result, domain)
    (other,) = (one for one in members if one != domain)
    given = result.given_names.get(other, ())
    named, start = list(names), f"links {contrasts.end} "
    for k, strong in enumerate(contrasts.is_strong):
        if strong.any():
            best = int(np.where(strong, contrasts.weight[k], -np.inf).argmax())
            room, own = _CHARACTERS - len(start), given[best] if given else None
            named[k] = start + (cut_label(own, room) if own else _join(members[other][best], room))
    return named


def _distinguish(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of which no two are the same: later ones get a number."""
    seen: set[str] = set()
    found = []
    for name in names:
        shown, number = name or _EMPTY, 2
        while shown in seen:
            end = f" ({number})"
            shown, number = cut_label(name or _EMPTY, _CHARACTERS - len(end)) + end, number + 1
        seen.add(shown)
        found.append(shown)
    return tuple(found)


def mark_parts(result: Result) -> dict[str, list[list[int]]]:
    """Return the objects by which each cluster is recognised, by domain: its members, of a large one some of them."""
    found = {}
    for domain in result.posterior.averaged:
        members = _members(result, domain)
        # The same objects are chosen whatever the cluster, so clusters that share half of their members share half of
        # their marks.
        rank = np.random.default_rng(0).permutation(sum(map(len, members)))
        found[domain] = [own[np.argsort(rank[own])][:_MARKS].tolist() for own in members]
    return found


def add_names(
    tables: Mapping[str, pd.DataFrame], names: Mapping[str, Sequence[str]]
) -> dict[str, pd.DataFrame]:
    """Return the tables with the names of clusters beside their numbers."""
    across = "cols" if "cols" in names else "rows"
    named = dict(tables)
    for table, number, name, domain in (
        ("rows", "cluster", "name", "rows"),
        ("columns", "cluster", "name", "cols"),
        ("blocks", "row_cluster", "row_name", "rows"),
        ("blocks", "column_cluster", "column_name", across),
    ):
        if table in named:
            named[table] = insert_names(named[table], number, name, names[domain])
    return named


def insert_names(table: pd.DataFrame, number: str, name: str, names: Sequence[str]) -> pd.DataFrame:
    """Return a table with a column of names right of one of numbers (from 1)."""
    table = table.copy()
    texts = np.array([*names, ""], dtype=object)[table[number].to_numpy() - 1]  # 0 has none
    table.insert(int(table.columns.get_loc(number)) + 1, name, texts)
    return table


def _members(result: Result, domain: str) -> list[NDArray[np.int64]]:
    """Return the objects of each cluster, in the order of the data."""
    clusters = result.posterior.labels(domain)
    return [np.flatnonzero(clusters == k) for k in range(result.posterior.n_clusters()[domain])]


def _join(labels: NDArray[Any], most: int = _CHARACTERS) -> str:
    """Return the first labels as a name of so many characters at most, and that there are more.

    What labels such as paths begin with in common is written once: "pandas.io: html, json …".
    """
    texts = [str(label) for label in labels[:_NAMED]]
    # Not only of whole parts of a path: _PATH takes those.
    start, head = _PATH.match(commonprefix(texts)), ""  # noqa: RUF071
    if start and len(texts) > 1:
        texts = [text.removeprefix(start[0]) for text in texts]
        head = cut_label(start[0][:-1], _LONGEST) + ": "
    room = most - len(head) - 2
    shown = [cut_label(text, _LONGEST) for text in texts]
    while len(shown) > 1 and len(", ".join(shown)) > room:
        shown.pop()
    if len(shown) == 1:  # it has the room of the others
        shown = [cut_label(texts[0], max(room, _LONGEST))]
    name = head + ", ".join(shown)
    return name if len(labels) <= len(shown) or name.endswith("…") else f"{name} …"
