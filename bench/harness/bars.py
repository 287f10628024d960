# SPDX-License-Identifier: BSL-1.0
"""A chart of horizontal bars within a drawing: a name, a bar with the interval of its figure, and a note for each."""
import math
from dataclasses import dataclass

from .drawing import BECK_COLOR, FAINT, GRID, INK

BAR_SHARE = 0.74  # of the height of its row
TICKS_MAX = 7


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    low: float
    high: float
    note: str
    color: str
    strong: bool = False  # the name and the note are bold


@dataclass(frozen=True)
class Heading:
    """A row that names the bars below it."""

    text: str


@dataclass(frozen=True)
class Place:
    """Where a chart stands: the corner and the width of the area of its bars, and the height of a row."""

    x: float
    y: float
    width: float
    row: float
    font: float = 13.0
    notes_share: float = 0.2  # of the width, which stays free for the note of the longest bar


def tick_step(limit):
    """Returns 1, 2 or 5 times a power of ten, so that at most TICKS_MAX ticks are in `limit`."""
    power = 10 ** math.floor(math.log10(limit / TICKS_MAX))
    return next(step * power for step in (1, 2, 5, 10) if limit / (step * power) <= TICKS_MAX)


def draw_bars(drawing, rows, place):
    """Draws bars and headings from top to bottom, and the axis below them. Returns the y of the end of the axis."""
    bars = [row for row in rows if isinstance(row, Bar)]
    limit = max(bar.high for bar in bars) / (1 - place.notes_share)
    scale = place.width / limit
    bottom = place.y + place.row * len(rows)
    step = tick_step(limit)
    for number in range(math.floor(limit / step) + 1):
        x = place.x + number * step * scale
        drawing.line(x, place.y, x, bottom, FAINT if number == 0 else GRID)
        drawing.text(x, bottom + place.font, f"{number * step:,.10g}", place.font - 1, FAINT, "middle")
    for number, row in enumerate(rows):
        middle = place.y + place.row * (number + 0.5)
        if isinstance(row, Heading):
            drawing.text(place.x + 6, middle, row.text, place.font, INK, bold=True)
            continue
        height = place.row * BAR_SHARE
        drawing.rectangle(place.x, middle - height / 2, row.value * scale, height, row.color)
        drawing.whisker(place.x + row.low * scale, place.x + row.high * scale, middle)
        drawing.text(place.x - 8, middle, row.name, place.font, BECK_COLOR if row.strong else INK, "end", row.strong)
        drawing.text(place.x + row.high * scale + 8, middle, row.note, place.font - 0.5, INK, bold=row.strong)
    return bottom + 2 * place.font
