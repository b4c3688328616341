"""The block matrix as a PNG file: drawn, not photographed, so every border and pixel is sharp."""

from __future__ import annotations

import io
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont

from acvb_core.models.irm.figures.arrangement import Arrangement, Side, Window
from acvb_core.models.irm.figures.axis_labels import AxisLabels, axis_labels
from acvb_core.models.irm.figures.raster import Raster, picture, rasterise
from acvb_core.views.theme import BORDER, INK, LINE, MUTED, TEXT, UNKNOWN, cluster_colour

_SIDE = 1200  # pixels a side of the matrix, about
_STRIP = 10
_NAME_LENGTH = 32
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def block_png(arrangement: Arrangement, *, title: str, window: Window | None = None) -> bytes:
    """Return the block matrix as a PNG file: title, matrix, borders, colours and numbers of the clusters.

    Parameters
    ----------
    arrangement : Arrangement
    title : str
        One line above the matrix.
    window : (int, int, int, int), optional
        First row, end row, first column, end column to show, in sorted places.
    """
    shown = window or arrangement.whole
    raster = rasterise(
        arrangement.relation, arrangement.rows.position, arrangement.columns.position, shown, _SIDE
    )
    left = axis_labels(arrangement.rows, shown[0], shown[1], crowd=0.022)
    above = axis_labels(arrangement.columns, shown[2], shown[3], crowd=0.03)
    return _Sheet(arrangement, raster, left, above, title).png()


class _Sheet:
    """One drawing: a matrix enlarged by whole factors, with room around it for what is written."""

    def __init__(
        self, arrangement: Arrangement, raster: Raster, left: AxisLabels, above: AxisLabels, title: str
    ) -> None:
        self.arrangement, self.raster, self.title = arrangement, raster, title
        self.names, self.small, self.large = _font(17), _font(19), _font(26)
        height, width = raster.ones.shape
        self.height, self.width = height * max(1, _SIDE // height), width * max(1, _SIDE // width)
        self.left_labels, self.above_labels = left, above
        self.x0 = 60 + self._room(left, arrangement.rows, raster.window[:2])
        self.y0 = 100 + self._room(above, arrangement.columns, raster.window[2:])
        self.sheet = Image.new("RGB", (self.x0 + self.width + 50, self.y0 + self.height + 80), "white")
        self.draw = ImageDraw.Draw(self.sheet)

    def _room(self, labels: AxisLabels, side: Side, span: tuple[int, int]) -> int:
        if not labels.named:
            return 40
        return int(max(self.names.getlength(name) for name in _names(side, span))) + 24

    def png(self) -> bytes:
        matrix = picture(self.raster).convert("RGB")
        enlarged = matrix.resize((self.width, self.height), Image.Resampling.NEAREST)
        self.sheet.paste(enlarged, (self.x0, self.y0))
        self._diagonal()
        self._borders()
        box = (self.x0 - 1, self.y0 - 1, self.x0 + self.width, self.y0 + self.height)
        self.draw.rectangle(box, outline=LINE)
        self._side(self.arrangement.rows, self.left_labels, self.raster.window[:2], vertical=True)
        self._side(self.arrangement.columns, self.above_labels, self.raster.window[2:], vertical=False)
        self.draw.text((self.x0, 20), self.title, font=self.large, fill=TEXT)
        self._legend()
        buffer = io.BytesIO()
        self.sheet.save(buffer, "PNG", optimize=True)
        return buffer.getvalue()

    def _scale(self, span: tuple[int, int], start: int, length: int) -> Callable[[float], float]:
        low, high = span
        return lambda place: start + (min(max(place, low), high) - low) * length / (high - low)

    def _diagonal(self) -> None:
        """Draw the line of the objects themselves, where that is no part of the data and in the window."""
        row_span, column_span = self.raster.window[:2], self.raster.window[2:]
        low, high = max(row_span[0], column_span[0]), min(row_span[1], column_span[1])
        if self.arrangement.diagonal and low < high:
            y_of = self._scale(row_span, self.y0, self.height)
            x_of = self._scale(column_span, self.x0, self.width)
            self.draw.line((x_of(low), y_of(low), x_of(high), y_of(high)), fill=LINE, width=2)

    def _borders(self) -> None:
        rows, columns = self.arrangement.rows, self.arrangement.columns
        row_span, column_span = self.raster.window[:2], self.raster.window[2:]
        y_of, x_of = (
            self._scale(row_span, self.y0, self.height),
            self._scale(column_span, self.x0, self.width),
        )
        for place in rows.borders[1:-1]:
            if row_span[0] < place < row_span[1]:
                y = y_of(place)
                self.draw.line((self.x0, y, self.x0 + self.width, y), fill=BORDER, width=2)
        for place in columns.borders[1:-1]:
            if column_span[0] < place < column_span[1]:
                x = x_of(place)
                self.draw.line((x, self.y0, x, self.y0 + self.height), fill=BORDER, width=2)

    def _side(self, side: Side, labels: AxisLabels, span: tuple[int, int], *, vertical: bool) -> None:
        to = self._scale(span, self.y0 if vertical else self.x0, self.height if vertical else self.width)
        for k in side.between(*span) if side.clustered else []:
            a, b = to(int(side.borders[k])), to(int(side.borders[k + 1]))
            far = (self.x0 if vertical else self.y0) - 4
            box = (far - _STRIP, a, far, b) if vertical else (a, far - _STRIP, b, far)
            self.draw.rectangle(box, fill=cluster_colour(k + 1))
            if labels.named:
                middle = (a + b) / 2
                end = (self.x0 + self.width + 10, middle) if vertical else (middle, self.y0 + self.height + 8)
                self.draw.text(
                    end, str(k + 1), font=self.small, fill=MUTED, anchor="lm" if vertical else "ma"
                )
        texts = _names(side, span) if labels.named else labels.texts
        for place, text in zip(labels.places, texts, strict=True):
            self._tick(to(place), text, named=labels.named, vertical=vertical)
        self._axis_title(side, vertical=vertical)

    def _tick(self, at: float, text: str, *, named: bool, vertical: bool) -> None:
        font = self.names if named else self.small
        gap = _STRIP + 10
        if vertical:
            self.draw.text((self.x0 - gap, at), text, font=font, fill=TEXT, anchor="rm")
        elif not named:
            self.draw.text((at, self.y0 - gap), text, font=font, fill=TEXT, anchor="ms")
        else:
            self._upright(text, font, int(at), self.y0 - gap)

    def _upright(self, text: str, font: _Font, x: int, bottom: int, colour: str = TEXT) -> None:
        left, up, right, down = font.getbbox(text)
        tile = Image.new("L", (int(right - left) + 2, int(down - up) + 2), 0)
        ImageDraw.Draw(tile).text((1 - left, 1 - up), text, font=font, fill=255)
        turned = tile.rotate(90, expand=True)
        self.sheet.paste(colour, (x - turned.width // 2, bottom - turned.height), turned)

    def _axis_title(self, side: Side, *, vertical: bool) -> None:
        text = f"{side.kind[:40]} clusters" if side.clustered else side.kind[:40]
        text += f" ({side.end})" if side.end else ""
        if vertical:
            length = int(self.small.getlength(text))
            self._upright(text, self.small, 24, self.y0 + (self.height + length) // 2, MUTED)
        else:
            self.draw.text((self.x0 + self.width / 2, 62), text, font=self.small, fill=MUTED, anchor="ma")

    def _legend(self) -> None:
        x, y = self.x0, self.y0 + self.height + 42
        top = self.raster.top
        dark = "link" if self.raster.exact else f"{100 * top:.3g} % links or more"
        items = [(dark, INK), ("no link", (255, 255, 255))]
        if self.raster.missing.any():
            items.append(("unknown", UNKNOWN))
        for text, colour in items:
            self.draw.rectangle((x, y, x + 18, y + 18), fill=colour, outline=LINE)
            self.draw.text((x + 26, y + 9), text, font=self.small, fill=MUTED, anchor="lm")
            x += 56 + int(self.small.getlength(text))


def _names(side: Side, span: tuple[int, int]) -> list[str]:
    names = [" ".join(str(side.labels[i]).split()) for i in side.order[span[0] : span[1]]]
    return [name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…" for name in names]


def _font(size: int) -> _Font:
    """Return DejaVu Sans where it is installed (it knows more scripts), Pillow's own font otherwise."""
    try:
        return ImageFont.truetype("DejaVuSans.ttf", size)
    except OSError:
        return ImageFont.load_default(size)
