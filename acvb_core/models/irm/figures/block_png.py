"""The block matrix as a PNG file: the parts of the interactive figure, drawn without a browser."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont

from acvb_core.models.irm.figures.arrangement import Arrangement, Window
from acvb_core.models.irm.figures.blocks import block_figure
from acvb_core.views.theme import BORDER, INK, LINE, MUTED, TEXT, Figure

_SIDE = 1200  # pixels a side of the matrix, about
_ENLARGED = 1.6  # size of letters, relative to the figure's
_STRIP, _GAP = 10, 20  # pixels: width of a strip of colour, distance of labels from the matrix
_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def block_png(arrangement: Arrangement, *, title: str, window: Window | None = None) -> bytes:
    """Return the block matrix as a PNG file: title, matrix, borders, colours and numbers of the clusters.

    A `window` (first row, end row, first column, end column, in sorted places) shows a part of it.
    """
    return _Sheet(block_figure(arrangement, window=window, size=_SIDE)).draw_png(title)


class _Sheet:
    """A matrix with room around it for what is written; `x` and `y` turn places into pixels of the matrix."""

    def __init__(self, figure: Figure) -> None:
        self.traces = {trace["uid"]: trace for trace in figure["data"]}
        self.layout = figure["layout"]
        picture = base64.b64decode(self.layout["images"][0]["source"].partition(",")[2])
        self.matrix = Image.open(io.BytesIO(picture)).convert("RGB")
        self.width, self.height = self.matrix.size
        self.across, self.down = self.layout["xaxis"], self.layout["yaxis"]
        self.x = _scale(self.across["range"], self.width)
        self.y = _scale(self.down["range"][::-1], self.height)
        self.upright = self.across["tickangle"] != 0
        self.left = 60 + self._label_length(self.down)
        self.top = 100 + (self._label_length(self.across) if self.upright else 40)
        self.image = Image.new("RGB", (self.left + self.width + 50, self.top + self.height + 80), "white")
        self.sheet = ImageDraw.Draw(self.image)

    def draw_png(self, title: str) -> bytes:
        self._draw_lines()
        self.image.paste(self.matrix, (self.left, self.top))
        box = (self.left - 1, self.top - 1, self.left + self.width, self.top + self.height)
        self.sheet.rectangle(box, outline=LINE)
        self._draw_strips()
        self._write_labels()
        self.sheet.text((self.left, 20), title, font=_font(26), fill=TEXT)
        self._draw_legend()
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG", optimize=True)
        return buffer.getvalue()

    def _draw_lines(self) -> None:
        """Draw the borders, and the diagonal where it is no part of the data, on the matrix."""
        pen = ImageDraw.Draw(self.matrix)
        for uid, colour in (("diagonal", LINE), ("borders", BORDER)):
            trace = self.traces.get(uid, {"x": [], "y": []})
            points = list(zip(trace["x"], trace["y"], strict=True))
            for (x0, y0), (x1, y1) in zip(points[:-1], points[1:], strict=True):
                if None not in (x0, x1):
                    pen.line((self.x(x0), self.y(y0), self.x(x1), self.y(y1)), fill=colour, width=2)

    def _draw_strips(self) -> None:
        for shape in self.layout["shapes"]:
            box: tuple[float, float, float, float]
            if shape.get("yref") == "y":
                a, b = (self.top + self.y(shape[end]) for end in ("y0", "y1"))
                box = (self.left - 4 - _STRIP, a, self.left - 4, b)
            else:
                a, b = (self.left + self.x(shape[end]) for end in ("x0", "x1"))
                box = (a, self.top - 4 - _STRIP, b, self.top - 4)
            self.sheet.rectangle(box, fill=shape["fillcolor"])

    def _write_labels(self) -> None:
        font, left, bottom = _font(19), self.left - _GAP, self.top - _GAP
        for place, text in zip(self.down["tickvals"], self.down["ticktext"], strict=True):
            at = (left, self.top + self.y(place))
            self.sheet.text(at, _plain(text), font=_label_font(self.down), fill=TEXT, anchor="rm")
        for place, text in zip(self.across["tickvals"], self.across["ticktext"], strict=True):
            x = self.left + self.x(place)
            if self.upright:
                self._write_upright(_plain(text), _label_font(self.across), int(x), bottom)
            else:
                self.sheet.text((x, bottom), text, font=font, fill=TEXT, anchor="ms")
        for note in self.layout["annotations"]:
            if note.get("yref") == "y":
                x, y, anchor = float(self.left + self.width + 10), self.top + self.y(note["y"]), "lm"
            else:
                x, y, anchor = self.left + self.x(note["x"]), float(self.top + self.height + 8), "ma"
            self.sheet.text((x, y), _plain(note["text"]), font=font, fill=MUTED, anchor=anchor)
        above, beside = (_plain(axis["title"]["text"]) for axis in (self.across, self.down))
        self.sheet.text((self.left + self.width / 2, 62), above, font=font, fill=MUTED, anchor="ma")
        middle = self.top + (self.height + int(font.getlength(beside))) // 2
        self._write_upright(beside, font, 24, middle, MUTED)

    def _write_upright(self, text: str, font: _Font, x: int, bottom: int, colour: str = TEXT) -> None:
        left, up, right, down = font.getbbox(text)
        tile = Image.new("L", (int(right - left) + 2, int(down - up) + 2), 0)
        ImageDraw.Draw(tile).text((1 - left, 1 - up), text, font=font, fill=255)
        turned = tile.rotate(90, expand=True)
        self.image.paste(colour, (x - turned.width // 2, bottom - turned.height), turned)

    def _draw_legend(self) -> None:
        items = [
            (trace["name"], trace["marker"]["color"]) for trace in self.traces.values() if trace.get("name")
        ]
        if "scale" in self.traces:
            densest = self.traces["scale"]["marker"]["colorbar"]["ticktext"][-1]
            items = [(f"{densest} links or more", f"rgb{INK}"), ("no link", "white"), *items]
        x, y, font = self.left, self.top + self.height + 42, _font(19)
        for text, colour in items:
            self.sheet.rectangle((x, y, x + 18, y + 18), fill=colour, outline=LINE)
            self.sheet.text((x + 26, y + 9), text, font=font, fill=MUTED, anchor="lm")
            x += 56 + int(font.getlength(text))

    def _label_length(self, axis: Figure) -> int:
        font = _label_font(axis)
        return int(max((font.getlength(_plain(text)) for text in axis["ticktext"]), default=16)) + 24


def _scale(ends: list[float], length: int) -> Callable[[float], float]:
    low, high = ends
    return lambda place: (place - low) * length / (high - low)


def _plain(text: str) -> str:
    """Return a figure's text without tags and character references."""
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def _label_font(axis: Figure) -> _Font:
    return _font(int(_ENLARGED * axis["tickfont"]["size"]))


def _font(size: int) -> _Font:
    """Return DejaVu Sans where it is installed (it knows more scripts), Pillow's own font otherwise."""
    try:
        return ImageFont.truetype("DejaVuSans.ttf", size)
    except OSError:
        return ImageFont.load_default(size)
