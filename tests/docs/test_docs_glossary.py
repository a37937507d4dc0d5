"""The glossary can be looked up, and leads to sections that exist."""

from __future__ import annotations

import re

from tests.docs.examples import (
    DOCS,
    heading_slug,
    link_targets,
    read_chapter,
    read_document,
    sections,
)

PAGE = read_chapter("metrics.md", "Glossary")
TERMS = re.findall(r"^\| ([a-z -]+) \|", PAGE, flags=re.MULTILINE)[1:]


def test_the_terms_are_in_alphabetical_order() -> None:
    assert {"anchor", "cut", "error", "fail", "gold", "miss", "vault"} <= set(TERMS)
    assert sorted(TERMS, key=str.casefold) == TERMS


def test_every_link_leads_to_a_section() -> None:
    for target in link_targets(PAGE):
        page, _, slug = target.partition("#")
        page = page or "metrics.md"
        assert (DOCS / page).is_file(), target
        titles = [heading_slug(section.title) for section in sections(read_document(page))]
        assert not slug or slug in titles, target
