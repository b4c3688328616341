"""Reading relations and networks: the meaning of their links, and what is known of it before they are loaded."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import streamlit as st

from acvb_core.data.infer import DataKind
from acvb_core.data.relation import Relation
from acvb_core.data.relation_readers import inspect_source, load_relation
from acvb_core.data.relation_schema import holds_texts
from acvb_core.data.sources.values import read_value
from pages.ui.irm.known_labels import carry_attributes
from pages.ui.upload.reader import Draft, OpenFile, Reader, ask_options

_OF_NETWORKS = ("directed", "self_links")


class RelationReader(Reader):
    """Edge lists, matrices, sparse files and graph files."""

    model = "irm"
    kinds: ClassVar[dict[DataKind, str]] = {"relation": "Relation", "network": "Network"}
    kind = "relation"
    read_at_once = ("domains", *_OF_NETWORKS)
    inspector = staticmethod(inspect_source)

    def ask(self, opened: OpenFile) -> dict[str, Any]:
        """Draw the meanings of the columns, the threshold, and what the links of a network are, with the reasons."""
        schema, choice = opened.schema, opened.kind
        if schema.format == "edges" and any(map(holds_texts, zip(*schema.rows, strict=True))):
            st.warning(
                "A column holds long texts. To find topics in them, choose Texts above. To read links, choose the "
                "columns of their two objects here.",
                icon=":material/help:",
            )
        own = choice.find_sentence("self_links", "self_links_left_out")
        if choice.facts and not own:
            own = "No object is linked to itself: self-links do not count."
        reasons = {"directed": choice.find_sentence("direction"), "self_links": own}
        notes = {name: f"Recognised. {reason}" for name, reason in reasons.items() if reason}
        skip = {*_OF_NETWORKS} if choice.kind == "relation" else set()
        loading = ask_options(opened, skip=skip, notes=notes)
        usual = "two" if choice.kind == "relation" else "one"
        loading["domains"] = "auto" if choice.recognised else usual
        amounts = _find_amounts(opened, loading)
        if amounts is not None:
            threshold = loading.get("threshold", 0)
            of = (
                f"the {threshold} quantile of the amounts" if isinstance(threshold, str) else f"{threshold:g}"
            )
            st.caption(
                f"The values are amounts, {amounts}. Above the threshold, {of}, two objects are linked; up to it they "
                "are not. Models of counts use the amounts as weights; others use linked or not linked only."
            )
        if schema.container != "text" and loading.get("value_column") is not False:
            # The 0 that is shown counts: typed columns of other values than 0 and 1 are not read without it.
            loading.setdefault("threshold", 0.0)
        return loading

    def prepare(self, opened: OpenFile) -> Draft:
        """Return how the file would be loaded: there is nothing more to choose."""
        return Draft(partial(load_relation, **opened.options))

    def carry_over(self, before: Any, data: Relation) -> Relation:
        """Return a relation that was read again, with the labels that were uploaded for the one before."""
        return carry_attributes(before, data) if isinstance(before, Relation) else data


def _find_amounts(opened: OpenFile, loading: dict[str, Any]) -> str | None:
    """Return which values other than 0 and 1 links have, if they have such: in the file, or in its first lines."""
    schema = opened.schema
    chosen = {name: loading.get(name, getattr(schema, name)) for name in ("row_column", "value_column")}
    fact = next((fact for fact in opened.kind.facts if fact.name == "values"), None)
    if fact is not None and chosen["value_column"] == schema.value_column:
        return f"from {fact.details['lowest']:g} to {fact.details['highest']:g}"
    # False is no column, and 0 the first one.
    at = {name: None if place is False else place for name, place in chosen.items()}
    if schema.format == "edges":
        cells = [row[at["value_column"]] for row in schema.rows if at["value_column"] is not None]
    else:
        cells = [cell for row in schema.rows for place, cell in enumerate(row) if place != at["row_column"]]
    numbers = [number for cell in cells if not math.isnan(number := read_value(cell).number)]
    if {*numbers} <= {0, 1}:
        return None
    return f"from {min(numbers):g} to {max(numbers):g} in the first lines"
