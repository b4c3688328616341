"""Features in a real browser: a table of one's own from an upload to the files, and pictures that can be clicked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Locator, Page, expect

from acvb_core.engine.fitting import fit
from acvb_core.samples.catalogue import load_sample
from tests.browser.steps import (
    POINTS,
    KeepRuns,
    bring,
    cells,
    choose,
    choose_methods,
    plot,
    press,
    rows_that_say,
    screenshot,
    settled,
    start_runs,
    table,
    take,
    visit,
    wait_for,
)

HOSTILE = "<img src=x onerror=alert(1)>"
N, SD = 150, 0.2
COLUMNS = ("weight (kg)", "height (m)", HOSTILE, "=1+1", "speed", "noise level")
WEIGHTS = np.array([[30.0, 0.4, 0.0, 0.0, 9.0, 8.0], [0.0, 0.0, 5.0, -6.0, 0.0, 4.0]])
# Where the pointer meets a picture of the grid of features.
TILE = """(feature) => {
  const plot = document.querySelector('[class*="st-key-feature_images_"] .js-plotly-plot');
  const { xaxis, yaxis } = plot._fullLayout;
  const tiles = plot._fullData.find((trace) => trace.customdata);
  const at = tiles.customdata.indexOf(feature);
  return [xaxis._offset + xaxis.l2p(tiles.x[at]), yaxis._offset + yaxis.l2p(tiles.y[at])];
}"""


def planted_file(folder: Path) -> Path:
    """Two features in six columns of different units; a few cells missing, a constant, text, all kinds of names."""
    rng = np.random.default_rng(2)
    z = rng.random((N, 2)) < (0.6, 0.4)
    sizes = np.abs(WEIGHTS).max(axis=0)
    values = pd.DataFrame(z @ WEIGHTS + SD * 0.5 * sizes * rng.standard_normal((N, 6)) + 100, columns=COLUMNS)
    values.iloc[3, 1] = values.iloc[10:20, 4] = np.nan
    values.insert(0, "name", [f"object {i}" for i in range(N)])
    values.loc[1, "name"] = HOSTILE
    values["kind"] = np.where(z[:, 0], "heavy", "light")
    values["always"] = 7
    path = folder / "planted.csv"
    values.to_csv(path, index=False)
    return path


def head(page: Page) -> Locator:
    """The number of the feature that is shown, which stands before its name."""
    return page.locator(".feature-head span")


def test_a_table_of_ones_own_from_upload_to_files(page: Page, tmp_path: Path) -> None:
    bring(page, planted_file(tmp_path), "table of numbers")
    expect(page.get_by_role("combobox", name="Known groups", exact=True)).to_have_value("kind")
    choose(page, "Constant columns", "refuse the file")
    expect(page.get_by_role("button", name="Load", exact=True)).to_be_disabled()
    expect(page.get_by_text("1 column has no two different values: 'always'")).to_be_visible()
    choose(page, "Constant columns", "leave them out")
    expect(
        page.get_by_text(f"With these settings, it is a table of {N} rows × 6 columns · 11 missing cells")
    ).to_be_visible()
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text(f"{N} rows × 6 columns")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Share of the known cells, %")).to_have_value("30")

    page.get_by_role("button", name="Go to Run", exact=True).click()
    choose_methods(page, "FAB", "EM")
    start_runs(page, "Start FAB, EM")
    expect(rows_that_say(page, "converged")).to_have_count(2)
    wait_for(page, f"({POINTS})() > 5")
    page.get_by_role("link", name="See the features").click()
    choose(page, "Run", "FAB ·")
    expect(page.get_by_role("heading", name="2 features")).to_be_visible()
    expect(head(page)).to_have_text("1")
    listed = cells(table(page, "Strongest columns"))
    assert [line[0] for line in listed] == ["1", "2"]
    table(page, "Strongest columns").click(position={"x": 30, "y": 35 * 2 + 17})
    expect(head(page)).to_have_text("2")
    plot(page, "feature_weights")
    assert {line[0] for line in cells(table(page, "Have this feature"))} == {"heavy", "light"}
    for part, key in (
        ("All features", "feature_map"),
        ("All objects", "feature_matrix"),
        ("One object", "feature_reconstruction"),
        ("History of the run", "feature_course"),
    ):
        press(page, part)
        plot(page, key)

    features = pd.read_csv(take(page.get_by_role("button", name="Weights of the features"), tmp_path))
    found = features.iloc[:, 4:].to_numpy()
    np.testing.assert_allclose(features["objects"] / N, features["share"], atol=0.02)
    # A feature may stand for its contrary: weights of the other sign.
    for planted in WEIGHTS:
        off = [
            min(np.abs(w - planted).max(), np.abs(w + planted).max()) / np.abs(planted).max() for w in found
        ]
        assert min(off) < 0.2, (planted, found)
    objects = pd.read_csv(take(page.get_by_role("button", name="Features of the objects"), tmp_path))
    assert objects["object"][1] == HOSTILE
    assert objects.iloc[:, 1:].to_numpy().round().mean() > 0.1

    visit(page, "Compare")
    scores = cells(table(page, "Held-out log likelihood"))
    assert len(scores) == 2
    expect(page.get_by_text("Lower bounds are never shaded")).to_be_visible()
    press(page, "Features")
    plot(page, "feature_similarity")
    expect(page.get_by_text(re.compile(r"All matched\.|\d of 2 pairs are the same feature"))).to_be_visible()


def test_pictures_of_features_are_clicked(page: Page, keep_runs: KeepRuns) -> None:
    page.goto(
        keep_runs(fit(load_sample("block_images").data, "fab", heldout=0.3)).replace("/?", "/features?")
    )
    expect(page.get_by_role("heading", name="4 features")).to_be_visible()
    settled(page)
    press(page, "All features")
    tiles = page.locator("[class*='st-key-feature_images_'] .js-plotly-plot")
    tiles.scroll_into_view_if_needed()
    wait_for(
        page,
        "() => document.querySelector('[class*=st-key-feature_images_] .js-plotly-plot')?._fullData !== undefined",
    )
    settled(page)
    box: Any = tiles.bounding_box()
    x, y = page.evaluate(TILE, 3)
    page.mouse.click(box["x"] + x, box["y"] + y)
    expect(head(page)).to_have_text("3")
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    settled(page)
    screenshot(page, "features.png")
    visit(page, "Data")
    expect(page.locator("img[alt='0']")).to_be_visible()
