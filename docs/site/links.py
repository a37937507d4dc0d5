"""Links of a page, moved to where the site has their targets."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

METRICS = "docs/metrics.md"
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(
    r"^#.*$|(?<!`)`(?P<key>[a-z]\w*(?:\.\w+)?)`(?!`)|"
    r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)",
    re.MULTILINE,
)
"""A heading, which stays, a metric or a link."""


def slug(title: str) -> str:
    """Return the fragment by which pages refer to a metric."""
    return re.sub(r"[^\w-]", "", title.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Places of the site's pages."""

    pages: dict[str, str]
    """Path in the repository and path in the site, such as ``docs/ci.md`` and ``ci.md``."""
    metrics: Mapping[str, str]
    """Pages of metrics, by the fragment that names each in docs/metrics.md."""

    def moved(self, text: str, source: str) -> str:
        """Return the text of a page with its links changed; fenced blocks stay as they are.

        Links to files that are not in the site become text that names the file. The first mention
        of a metric links to its page.
        """
        pieces = []
        left = {**self.metrics}
        left.pop(slug(text.partition("\n")[0]), None)
        end = 0
        for fence in _FENCE.finditer(text):
            pieces += [self._moved(text[end : fence.start()], source, left), fence.group()]
            end = fence.end()
        return "".join([*pieces, self._moved(text[end:], source, left)])

    def _moved(self, prose: str, source: str, left: dict[str, str]) -> str:
        def changed(link: re.Match[str]) -> str:
            if key := link["key"]:
                name = left.pop(slug(key), None)
                return f"[`{key}`](/metrics/{name}.md)" if name else link[0]
            if link["target"] is None:
                return link[0]
            target = self._target(link["target"], source)
            if target is None:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
                return f"{link['text']} (`{path}`)"
            return f"{link['image']}[{link['text']}]({target})"

        return _LINK.sub(changed, prose)

    def _target(self, target: str, source: str) -> str | None:
        if re.match(r"[a-z]+:", target):
            return target
        name, _, fragment = target.partition("#")
        path = (
            posixpath.normpath(posixpath.join(posixpath.dirname(source), name)) if name else source
        )
        if path == METRICS and fragment in self.metrics:
            return f"/metrics/{self.metrics[fragment]}.md"
        if path.startswith("docs/images/"):
            return "/" + path.removeprefix("docs/")
        if path not in self.pages:
            return None
        return f"/{self.pages[path]}" + (f"#{fragment}" if fragment else "")
