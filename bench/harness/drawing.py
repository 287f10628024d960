# SPDX-License-Identifier: BSL-1.0
"""A drawing of bars, lines and texts, written as SVG by Python alone, and as PNG where matplotlib is installed.

Lengths are in pixels of the SVG, y goes down. PNG: matplotlib draws the same shapes at twice the size.
"""
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

BECK_COLOR, RIVAL_COLOR, FLOOR_COLOR = "#0b6e4f", "#9aa5b1", "#d9dee3"
INK, FAINT, GRID = "#1f2933", "#616e7c", "#e4e7eb"
FONT = "DejaVu Sans, Verdana, sans-serif"


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    color: str


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    color: str
    width: float


@dataclass(frozen=True)
class Text:
    x: float
    y: float  # of the middle of the letters
    text: str
    size: float
    color: str
    anchor: str
    bold: bool


class Drawing:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.shapes = []

    def rectangle(self, x, y, width, height, color):
        self.shapes.append(Rectangle(x, y, width, height, color))

    def line(self, x1, y1, x2, y2, color=INK, width=1.0):
        self.shapes.append(Line(x1, y1, x2, y2, color, width))

    def text(self, x, y, text, size, color=INK, anchor="start", bold=False):
        """Writes a line of text; `anchor` is start, middle or end."""
        self.shapes.append(Text(x, y, text, size, color, anchor, bold))

    def whisker(self, x1, x2, y, height=6.0):
        """Draws the interval from `x1` to `x2`."""
        self.line(x1, y, x2, y)
        for x in (x1, x2):
            self.line(x, y - height / 2, x, y + height / 2)

    def save(self, stem):
        """Writes stem.svg, and stem.png where matplotlib is installed. Returns their paths."""
        paths = [stem.with_suffix(".svg")]
        paths[0].write_text(self.svg(), encoding="utf-8")
        png = stem.with_suffix(".png")
        if self._write_png(png):
            paths.append(png)
        else:
            png.unlink(missing_ok=True)  # of an earlier run, whose figures it has
        return paths

    def svg(self):
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}"'
            f' viewBox="0 0 {self.width:g} {self.height:g}" font-family="{FONT}">',
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="white"/>',
        ]
        lines += [svg_of(shape) for shape in self.shapes]
        return "\n".join(lines) + "\n</svg>\n"

    def _write_png(self, path):
        try:
            import matplotlib  # late: everything else works without it

            matplotlib.use("Agg")
            from matplotlib import figure, lines, patches
        except ImportError:
            return False
        page = figure.Figure(figsize=(self.width / 96, self.height / 96), dpi=192)
        axes = page.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        places = {"start": "left", "middle": "center", "end": "right"}
        for order, s in enumerate(self.shapes):
            if isinstance(s, Rectangle):
                area = patches.Rectangle((s.x, s.y), s.width, s.height, facecolor=s.color, linewidth=0, zorder=order)
                axes.add_patch(area)
            elif isinstance(s, Line):
                ends = ((s.x1, s.x2), (s.y1, s.y2))
                axes.add_line(lines.Line2D(*ends, color=s.color, linewidth=s.width * 0.75, zorder=order))
            else:
                weight = "bold" if s.bold else "normal"
                axes.text(s.x, s.y, s.text.replace("$", r"\$"), fontsize=s.size * 0.75, fontweight=weight,
                          color=s.color, ha=places[s.anchor], va="center_baseline", zorder=order)
        page.savefig(path)
        return True


def rounded(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def svg_of(shape):
    if isinstance(shape, Rectangle):
        numbers = zip(("x", "y", "width", "height"), (shape.x, shape.y, shape.width, shape.height))
        return f"<rect {attributes(numbers)} fill={quoteattr(shape.color)}/>"
    if isinstance(shape, Line):
        numbers = zip(("x1", "y1", "x2", "y2", "stroke-width"), (shape.x1, shape.y1, shape.x2, shape.y2, shape.width))
        return f"<line {attributes(numbers)} stroke={quoteattr(shape.color)}/>"
    numbers = zip(("x", "y", "font-size"), (shape.x, shape.y, shape.size))
    weight = ' font-weight="bold"' if shape.bold else ""
    return (
        f'<text {attributes(numbers)} dy="0.35em" fill={quoteattr(shape.color)} text-anchor="{shape.anchor}"{weight}>'
        f"{escape(shape.text)}</text>"
    )


def attributes(numbers):
    return " ".join(f'{name}="{rounded(value)}"' for name, value in numbers)
