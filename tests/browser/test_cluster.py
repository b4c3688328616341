"""An app that was told of a cluster: the choice where runs compute, and runs on either place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing

import pytest
from distributed import Client, LocalCluster
from playwright.sync_api import Page, expect

from acvb_core.cluster.local import start_cluster
from tests.browser.steps import (
    LONG_MS,
    choose_methods,
    rows_that_say,
    run_example,
    run_rows,
    settled,
    start_runs,
    visit,
)


def test_runs_compute_where_the_workspace_chose(
    open_page: Callable[..., AbstractContextManager[Page]],
    start_app: Callable[[], AbstractContextManager[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(start_cluster(1, 1)) as cluster:
        monkeypatch.setenv("ACVB_SCHEDULER", cluster.scheduler_address)
        with start_app() as url, open_page() as page:
            page.goto(url)
            run_example(page, "Find the clusters of a network")
            page.get_by_text("Where runs compute").click()
            expect(page.get_by_text("1 worker · 1 core · ")).to_be_visible()
            assert (
                page.get_by_role("link", name="Dask's dashboard").get_attribute("href")
                == cluster.dashboard_link
            )
            assert count_runs(cluster) == 3
            page.locator(".st-key-places").get_by_text("This machine").click()
            settled(page)
            visit(page, "Run")
            page.get_by_text("New runs", exact=True).click()
            choose_methods(page, "VB")
            start_runs(page, "Start VB")
            expect(run_rows(page)).to_have_count(4)
            expect(rows_that_say(page, "converged")).to_have_count(4, timeout=LONG_MS)
            assert count_runs(cluster) == 3


def count_runs(cluster: LocalCluster) -> int:
    """Return how many runs have said to the scheduler on which worker they are."""
    with Client(cluster) as client:
        return sum(len(events) for topic, events in client.get_events().items() if topic.startswith("acvb-"))
