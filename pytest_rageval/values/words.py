"""Words and signs for what is true or false, by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

CHANGE: Final[Mapping[bool, Literal["better", "worse"]]] = {True: "better", False: "worse"}
"""By whether a difference is a gain."""
PROVEN: Final[Mapping[bool, str]] = {True: "proven", False: "not proven"}
ANSWERABLE: Final[Mapping[bool, str]] = {True: "answerable", False: "unanswerable"}
ABSTAINED: Final[Mapping[bool, str]] = {True: "abstained", False: "answered"}
VERDICT: Final[Mapping[bool, Literal["pass", "fail"]]] = {True: "pass", False: "fail"}
YES: Final[Mapping[bool, str]] = {True: "yes", False: "no"}
SIGN: Final[Mapping[bool, str]] = {True: "+", False: "-"}
"""By whether a number is above 0."""
ARROW: Final[Mapping[bool, str]] = {True: "▲", False: "▼"}
"""By whether a change is a gain."""
ANCHOR: Final[Mapping[bool, str]] = {True: "end", False: "start"}
"""Place of a label in a chart, by whether it ends at its point."""
GOLD: Final[Mapping[bool, str]] = {True: "gold", False: "plain"}
CURRENT: Final[Mapping[bool, str]] = {True: ">", False: " "}
"""Mark of a row, by whether the cursor is on it."""
MARKED: Final[Mapping[bool, str]] = {True: "x", False: " "}
