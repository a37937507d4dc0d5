from __future__ import annotations

import base64
import hashlib
import re

import pytest

from pytest_rageval.report.html.templating import TEMPLATES, content_policy

PAGES = sorted(path.relative_to(TEMPLATES) for path in TEMPLATES.rglob("page.html.j2"))


def test_the_policy_lets_in_exactly_the_given_script_and_style() -> None:
    policy = content_policy(style="b {}", script="let a = 1")

    wanted = [base64.b64encode(hashlib.sha256(text).digest()).decode()
              for text in (b"let a = 1", b"b {}")]  # fmt: skip
    assert re.findall(r"'sha256-([^']+)'", policy) == wanted
    assert policy.startswith("default-src 'none'; ")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_has_a_style_or_a_handler_in_an_attribute(page: object) -> None:
    source = (TEMPLATES / str(page)).read_text(encoding="utf-8")

    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", source)
