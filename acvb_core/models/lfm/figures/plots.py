"""The figures of a result by name, as the Features page draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from acvb_core.engine.result import Result
from acvb_core.models.lfm.features import FeatureAnswer, are_in_order
from acvb_core.models.lfm.figures.feature_course import feature_course_figure
from acvb_core.models.lfm.figures.features import (
    feature_image_figure,
    feature_matrix_figure,
    feature_weights_figure,
)
from acvb_core.models.lfm.figures.tables import weight_map_figure
from acvb_core.views.parts import plain_name
from acvb_core.views.theme import Figure, ReportFigure

#: Features whose weights a report draws, at most: those of most objects.
_REPORTED = 30


def list_reported(result: Result) -> list[ReportFigure]:
    """Return the figures of a report."""
    plots, names, image = list_plots(result), result.names["features"], result.prepared.data.image
    if not names:
        return []
    found = [
        ReportFigure("Weights of the features", "What each feature adds to each column.", plots["weights"]),
        ReportFigure("Features of the objects", "Dark: the object has the feature.", plots["objects"]),
    ]
    caption = (
        "What it adds to the columns that it changes most."
        if image is None
        else "What it adds to each pixel."
    )
    for feature in range(1, len(names[:_REPORTED]) + 1):
        draw = plots[f"feature_{feature}"]
        if image is not None:
            answer = FeatureAnswer(result.posterior, result.prepared.data, result.prepared.train)
            draw = partial(feature_image_figure, answer.own_weights[feature - 1], image, feature)
        found.append(ReportFigure(plain_name(feature, names), caption, draw, half=True))
    return found


def list_plots(result: Result) -> dict[str, Callable[[], Figure]]:
    """Return what draws each figure, by name; "feature_1" and so on are the weights of one feature."""
    prepared = result.prepared
    answer = FeatureAnswer(result.posterior, prepared.data, prepared.train)
    columns, shares = answer.data.columns, answer.shares

    def draw_weights(feature: int) -> Callable[[], Figure]:
        weights, share = answer.weights[feature - 1], float(shares[feature - 1])
        return lambda: feature_weights_figure(weights, columns, feature, sd=answer.sd, share=share)

    plots: dict[str, Callable[[], Figure]] = {
        "weights": lambda: weight_map_figure(
            answer.weights,
            columns,
            shares=shares,
            names=result.names["features"],
            clustered=not are_in_order(columns),
            standardised=answer.fitted.standardise,
        ),
        "objects": lambda: feature_matrix_figure(
            answer.objects,
            answer.data.rows,
            labels=answer.data.labels,
            feature_names=result.names["features"],
        ),
        "course": lambda: feature_course_figure(result.state.history, prepared.spec.method),
    }
    return plots | {
        f"feature_{feature}": draw_weights(feature) for feature in range(1, answer.n_features + 1)
    }
