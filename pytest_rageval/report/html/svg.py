"""Charts as SVG, with pixel coordinates: the layout of rows, the area of a plot, the elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.html.markup import Element, element, visible
from pytest_rageval.support.text import cut

_CHAR: Final = 7.83
"""Width of a character of `.chart text`: 13 px of a monospaced font, 0.602 of its height wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions of names, bars and numbers, in pixels."""

    suffix: str
    left: int
    plot: int
    right: int
    row: int
    above: bool
    """Whether names are above their rows instead of before them."""

    @property
    def width(self) -> int:
        """Width of the picture."""
        return self.left + self.plot + self.right

    def x(self, share: float) -> float:
        """Return x of a share of the plot."""
        return self.left + self.plot * share

    def name(self, y: float, text: str) -> Element:
        """Return the name of the row whose middle is at y."""
        room = self.width - self.left if self.above else self.left - 10
        short = cut(visible(text), int(room / _CHAR))
        if self.above:
            return label(self.left, y - 14, short, "name")
        return label(self.left - 10, y + 4, short, "name", "end")

    def middle(self, number: int, top: float) -> float:
        """Return y of the middle of a row, the first of which begins at top."""
        return top + self.row * number + (self.row - 12 if self.above else self.row / 2)

    def picture(
        self, name: str, title: str, text: str, parts: Iterable[Element], height: int
    ) -> Element:
        """Return a picture as wide as the layout."""
        return picture(f"{name}{self.suffix}", title, text, parts, width=self.width, height=height)


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Size of a chart with axes, in pixels; what it shows stands between the margins."""

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int

    @property
    def plot(self) -> int:
        """Width between the margins."""
        return self.width - self.left - self.right

    @property
    def base(self) -> int:
        """Y of the lower end of the plot."""
        return self.height - self.bottom

    def x(self, share: float) -> float:
        """Return x of a share of the plot, from the left."""
        return self.left + self.plot * share

    def y(self, share: float) -> float:
        """Return y of a share of the plot, from below."""
        return self.base - (self.base - self.top) * share

    def picture(self, name: str, title: str, text: str, parts: Iterable[Element]) -> Element:
        """Return a picture of this size."""
        return picture(name, title, text, parts, width=self.width, height=self.height)


WIDE: Final = Layout(suffix="", left=265, plot=415, right=130, row=26, above=False)
NARROW: Final = Layout(suffix="-narrow", left=8, plot=240, right=110, row=44, above=True)


def picture(
    name: str, title: str, description: str, parts: Iterable[Element], *, width: int, height: int
) -> Element:
    """Return an SVG with its text alternatives; one with links is a group that can be entered."""
    drawn = tuple(parts)
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *drawn,
        role="group" if any("<a " in part for part in drawn) else "img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )


def for_both_widths(charts: Iterable[Element]) -> Element:
    """Return a wide and a narrow chart, of which a window shows the one that fits."""
    names = ("wide-only", "narrow-only")
    parts = [
        element("div", chart, class_=f"wide {name}")
        for chart, name in zip(charts, names, strict=False)
    ]
    return Element("".join(parts))


Length = float | str
"""Pixels, or a percentage of the picture such as ``40%``."""


def line(x1: Length, y1: Length, x2: Length, y2: Length, style: str) -> Element:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def rect(x: Length, y: Length, width: Length, height: Length, style: str) -> Element:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=style)


def circle(x: Length, y: Length, r: float, style: str) -> Element:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=r, class_=style)


def label(x: Length, y: Length, text: str, style: str = "", anchor: str = "start") -> Element:
    """Return a text that starts (``start``), is centred or ends (``end``) at x."""
    # By a class, as a page has hundreds of labels.
    classes = f"{style} {_ANCHORS[anchor]}".strip()
    return element("text", text, x=x, y=y, **({"class_": classes} if classes else {}))


_ANCHORS: Final = {"start": "", "middle": "to-mid", "end": "to-end"}
"""Classes of the common style sheet."""
