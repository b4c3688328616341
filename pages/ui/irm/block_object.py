"""One object of a run, chosen by name: why it is in its cluster, the alternatives, and its links by surprise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from acvb_core.data.relation import Relation
from acvb_core.engine.result import Result
from acvb_core.models.irm.answer.membership import Membership
from acvb_core.models.irm.answer.naming import choose_labels
from acvb_core.models.irm.export import add_degrees
from acvb_core.models.irm.scores import count_samples
from acvb_core.views.parts import plain_name
from pages.ui.shared.charts import name_width
from pages.ui.shared.failures import contain_failure
from pages.ui.shared.picking import Key, choose_one, choose_way, offer_table, show_download
from pages.ui.workspace.entrance import name_choice, take_choice

SIDES = {"rows": "Rows", "cols": "Columns"}
# Two tables side by side if there is room.
_STYLE = """
<style>
.st-key-object_tables { display: grid; gap: 1rem 1.5rem; align-items: start; }
.st-key-object_tables { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.st-key-object_tables > div { width: 100% !important; min-width: 0; }
</style>
"""
#: Objects up to which a list has all names; of more, it has those that are searched for.
_LISTED, _FOUND = 2000, 300
#: Alternatives that are offered, and pairs of a table.
_MOST_ALTERNATIVES, _MOST_PAIRS = 20, 1000


@contain_failure("part of the page")
def show_object(key: Key, result: Result, loaded: Relation) -> None:
    """Draw the choice of an object, and what is known of it.

    `loaded`: the relation with its objects named by their ids, which the address has.
    """
    found = choose_object(result, loaded)
    if found is None:
        st.info("No name contains this text.", icon=":material/search_off:")
        return
    domain, at = found
    member = find_membership(key, domain, at, result)
    with st.container(border=True, key="object_words"):
        st.text(describe_membership(key, domain, at, member))
        _show_facts(member)
    st.html(_STYLE)
    why, links = st.tabs(["Why this cluster?", "Its links"])
    with why, contain_failure("table"):
        others = [int(number) for number in member.alternatives["cluster"][1:]]
        if not others:
            st.caption("There is no other cluster.")
        else:
            with st.container(key="object_tables"):
                with st.container(gap="small", key="object_which"):
                    _show_alternatives(member)
                with st.container(gap="small", key="object_why"):
                    _show_reasons(member, others[:_MOST_ALTERNATIVES])
    with links, contain_failure("table"):
        _show_links(key, member)


def choose_object(result: Result, loaded: Relation) -> tuple[str, int] | None:
    """Draw the choice of an object; return its domain and position, None if no object has the name in the address."""
    domains = result.posterior.n_clusters()
    labels: dict[str, Any] = {"rows": loaded.row_labels, "cols": loaded.column_labels}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="object_choice"):
        _take_address({domain: labels[domain] for domain in domains})
        domain = "rows"
        if len(domains) > 1:
            domain = str(choose_way("Objects", SIDES, "object_domain", persist_state="session"))
        data = result.prepared.data
        names = data.row_labels if domain == "rows" else data.column_labels
        others = labels[domain] if data is not loaded else choose_labels(data, domain)
        key = f"object_{domain}"
        places: Sequence[int] = range(len(names))
        if len(names) > _LISTED:
            wanted = st.text_input("Search", key=f"{key}_search", placeholder="part of a name", width=260)
            lowered = wanted.strip().lower()
            texts = enumerate(zip(names, others, strict=True))
            places = [at for at, both in texts if lowered in " ".join(both).lower()][:_FOUND]
            if st.session_state.get(key) in range(len(names)) and not lowered:
                places = list(dict.fromkeys([st.session_state[key], *places]))
        if not places:
            return None

        def write(place: int) -> str:
            name = str(names[place])
            return name if name == others[place] else f"{name} · {others[place]}"

        at = choose_one("Object", list(places), write, key, width=340)
    name_choice("object", str(labels[domain][at]), str(labels["rows"][0]))
    return domain, at


def _take_address(labels: dict[str, Sequence[str]]) -> None:
    """Choose the object that the address names."""
    places = {
        str(name): (domain, at) for domain in reversed(labels) for at, name in enumerate(labels[domain])
    }
    asked = take_choice("object", places)
    if asked is not None:
        domain, at = asked
        st.session_state["object_domain"], st.session_state[f"object_{domain}"] = domain, at


@st.cache_resource(show_spinner=False, max_entries=32)
def find_membership(key: Key, domain: str, at: int, _result: Result) -> Membership:
    """Return the reasons for the cluster of an object."""
    return Membership(_result, domain, at)


@st.cache_resource(show_spinner=False, max_entries=32)
def describe_membership(key: Key, domain: str, at: int, _member: Membership) -> str:
    """Return the reasons in sentences."""
    return _member.describe()


def _show_facts(member: Membership) -> None:
    """Draw the degree of an object and its known labels."""
    line = add_degrees(member.result, member.domain).iloc[member.at]
    words = {"links": "links", "links_out": "links out", "links_in": "links in", "weight": "sum of weights"}
    words |= {"weight_out": "weight out", "weight_in": "weight in"}
    facts = [f"{text}: {line[name]:,.6g}" for name, text in words.items() if name in line.index]
    known = member.result.prepared.data.attributes_of(member.domain)
    facts += [f"{name}: {values[member.at]}" for name, values in known.items() if values[member.at]]
    st.text(" · ".join(facts))


def _show_alternatives(member: Membership) -> None:
    """Draw the clusters that the object may be in."""
    table = member.alternatives
    st.caption("The clusters that it may be in, the best first.")
    names = member.result.names[member.domain]
    shown = table.assign(shown=[plain_name(int(number), names) for number in table["cluster"]])
    sampled = bool(count_samples(member.result.posterior))
    st.dataframe(
        shown,
        hide_index=True,
        column_order=["shown", *(["together"] if sampled else []), "probability", "log_odds"],
        key="object_alternatives",
        height=min(318, 38 + 35 * len(shown)),
        column_config={
            "shown": st.column_config.TextColumn("Cluster", width=name_width()),
            "together": st.column_config.ProgressColumn(
                "With its members",
                min_value=0.0,
                max_value=1.0,
                format="percent",
                help="How often the object is with the members of this cluster over the samples of the run.",
            ),
            "probability": st.column_config.NumberColumn(
                "Probability", format="percent", help="With all other objects where they are."
            ),
            "log_odds": st.column_config.NumberColumn(
                "Log odds for its own",
                format="%.2f",
                help="How much better its own cluster fits, in nats: 2.3 is ten times, 4.6 a hundred times.",
            ),
        },
    )


def _show_reasons(member: Membership, others: Sequence[int]) -> None:
    """Draw what speaks for the object's cluster and against another one, by the clusters it is linked to."""
    own = member.result.names[member.domain]
    other = choose_one(
        "Compare with",
        others,
        lambda number: plain_name(number, own, long=True),
        f"object_against_{member.domain}",
        width=340,
    )
    names = member.result.names[member.other_domain]
    reasons = member.reasons(other)
    total, sizes = reasons["log_odds"].sum(), reasons["log_odds"].iloc[-1]
    table = reasons.iloc[:-1]
    texts = [plain_name(int(k), names) for k in table["cluster"]]
    links = [name for name in table.columns if name.startswith("links")]
    what = "Weight" if member.is_weighted else "Links"
    titles = {"links": what, "links_out": f"{what} out", "links_in": f"{what} in"}
    st.dataframe(
        table.assign(shown=texts),
        hide_index=True,
        column_order=["shown", "log_odds", *links, "expected_here", "expected_there"],
        key="object_reasons",
        height=min(248, 38 + 35 * len(table)),
        column_config={
            "shown": st.column_config.TextColumn("Links with", width=name_width()),
            "log_odds": st.column_config.NumberColumn(
                "Speaks for its cluster",
                format="%+.2f",
                help="In nats; below 0 it speaks for the other cluster.",
            ),
            **{name: st.column_config.NumberColumn(titles[name], format="%.3g") for name in links},
            "expected_here": st.column_config.NumberColumn(
                "Expected in its cluster",
                format="%.3g",
                help="Links that a member of its cluster would have.",
            ),
            "expected_there": st.column_config.NumberColumn(
                "Expected in the other",
                format="%.3g",
                help="Links that a member of the other cluster would have.",
            ),
        },
    )
    st.caption(
        f"The numbers in *Speaks for its cluster* and {sizes:+.2f} for the sizes of the clusters add up to the log "
        f"odds of the two clusters, {total:.2f}.{_describe_held_out(member)}"
    )


def _describe_held_out(member: Membership) -> str:
    return "" if member.result.prepared.heldout is None else " Held-out pairs count as unknown here."


@st.cache_resource(show_spinner="Scoring its pairs", max_entries=16)
def rank_pairs(key: Key, domain: str, at: int, _member: Membership) -> pd.DataFrame:
    """Return the pairs of an object, the most surprising first."""
    return _member.links()


def _show_links(key: Key, member: Membership) -> None:
    """Draw the pairs of the object: links, unlinked pairs and unknown ones."""
    table = rank_pairs(key, member.domain, member.at, member)
    names = member.result.names[member.other_domain]
    table = table.assign(shown=[plain_name(int(k), names) for k in table["cluster"]])
    linked = table["linked"]
    tables = {
        "Links, least expected first": table[linked.eq(True).fillna(False)],
        "Not linked, likely first": table[linked.eq(False).fillna(False)].sort_values(
            "probability", ascending=False
        ),
        "Unknown, likely first": table[linked.isna()].sort_values("probability", ascending=False),
    }
    tables = {title: own for title, own in tables.items() if len(own)}
    for tab, (title, own) in zip(
        st.tabs([f"{t} ({len(o):,})" for t, o in tables.items()]), tables.items(), strict=True
    ):
        with tab:
            show_pairs(own.head(_MOST_PAIRS), f"object_pairs_{list(tables).index(title)}")
    offer = offer_table("All its pairs as CSV", "object-pairs.csv", lambda: table.drop(columns="shown"))
    show_download(member.result, offer)


def show_pairs(table: pd.DataFrame, key: str) -> None:
    """Draw a table of pairs of one object."""
    order = ["object", "shown", "direction", "tail", "count", "expected", "probability"]
    st.dataframe(
        table,
        hide_index=True,
        column_order=[name for name in order if name in table],
        key=key,
        height=min(283, 38 + 35 * len(table)),
        column_config={
            "object": st.column_config.TextColumn("With", width=name_width()),
            "shown": st.column_config.TextColumn("Its cluster", width=name_width()),
            "direction": st.column_config.TextColumn("Direction"),
            "tail": st.column_config.NumberColumn(
                "Probability of such a weight",
                format="%.2g",
                help="Of this weight or one farther from the expected.",
            ),
            "count": st.column_config.NumberColumn("Weight", format="%g"),
            "expected": st.column_config.NumberColumn("Expected weight", format="%.3g"),
            "probability": st.column_config.ProgressColumn(
                "Link probability", min_value=0.0, max_value=1.0, format="%.4f"
            ),
        },
    )
