"""Pieces of SVG.

Colours and fonts come from the style sheet by class names: the page's policy forbids style
attributes, and dark mode and print need their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_rageval.report.html.markup import Element, element


def picture(
    name: str, title: str, description: str, parts: Iterable[Element], *, width: int, height: int
) -> Element:
    """Return an SVG with its text alternatives.

    Args:
        name: id within the page.
        title: what is shown.
        description: what it shows, in words.
        parts: its content.
        width: of the coordinate system.
        height: the same.
    """
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *parts,
        role="img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Element:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def rect(x: float, y: float, width: float, height: float, style: str) -> Element:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=style)


def circle(x: float, y: float, r: float, style: str) -> Element:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=r, class_=style)


def label(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> Element:
    """Return a text whose baseline begins (``start``), is centred or ends (``end``) at x."""
    return element("text", text, x=x, y=y, class_=style, text_anchor=anchor)
