from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from pytest_rageval.support.json_text import ascii_json


@given(st.text(st.characters(exclude_categories=[])))
@example("\x7f")
@example('"\\/\b\x00\x1f<>&')
@example("\ud800 \u2028")
def test_the_text_is_that_of_the_standard_library(text: str) -> None:
    assert ascii_json(text) == json.dumps(text)
