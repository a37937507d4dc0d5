"""The page of diagnoses is what the code says."""

from __future__ import annotations

from docs.site.diagnoses import PAGE, diagnoses_page


def test_the_page_of_diagnoses_is_current() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == diagnoses_page(), "write it anew: python -m docs.site.diagnoses"
