"""The page of recipes: settings that presets declare, with the texts of ``recipes.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from pytest_rageval.authoring.scaffold.plan import preset_lines
from pytest_rageval.project.presets.preset import load_preset

TEXTS = Path(__file__).with_name("recipes.toml")
_HEAD = """# Recipes of presets

Put the settings of your system into `pyproject.toml`, or let `rageval init --preset NAME` write
them; fill in the variables, export the key, and run

```bash
rageval doctor
pytest evals/
```

The comments of the settings say what the preset cannot know. Stand-ins that replay documented
replies test each recipe.
"""


class Recipe(NamedTuple):
    """A preset with its text and the settings of a project."""

    name: str
    title: str
    settings: str
    text: str


def recipes() -> list[Recipe]:
    """Return the recipe of each preset: hosted services, then servers of your own."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    return [
        Recipe(name, one["title"], "\n".join(preset_lines(load_preset(name))) + "\n", one["text"])
        for name, one in texts.items()
    ]


def recipes_page() -> str:
    """Return the page of all recipes."""
    parts = [f"## {one.title}\n\n```toml\n{one.settings}```\n\n{one.text}" for one in recipes()]
    return "\n".join([_HEAD, *parts])
