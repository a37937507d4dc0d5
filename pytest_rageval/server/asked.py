"""Content words of a question, other forms of them, and the kind of value that it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.server.terms import query_terms, stem, terms

_IRREGULAR = """become became|begin began begun|break broke broken|bring brought|
build built|buy bought|catch caught|choose chose chosen|draw drew drawn|drive drove driven|
fall fell fallen|find found|fly flew flown|get got gotten|give gave given|go went gone|
grow grew grown|hold held|keep kept|know knew known|lead led|leave left|lend lent|lose lost|
make made|mean meant|meet met|pay paid|rise risen|run ran|say said|see seen|seek sought|
sell sold|send sent|show shown|sit sat|speak spoke spoken|spend spent|stand stood|
steal stole stolen|take took taken|teach taught|tell told|think thought|throw threw thrown|
wear wore worn|win won|write wrote written"""
_FORMS = {
    form: forms
    for forms in (frozenset(map(stem, verb.split())) for verb in _IRREGULAR.split("|"))
    for form in forms
}
"""Stem of an irregular verb to the stems of all its forms."""
_MODAL = re.compile(r"\b(?:may|might|must|shall)\b|^\W*(?:May|Might|Must|Shall)\b")
"""Function words that searching keeps; `in May` is none."""

_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|hundred|"
    r"thousand|million|once|twice)\b"
)
_PERIOD = (
    rf"(?:{_NUMBER}|\b(?:an?|few|several)\b)[\w,. -]{{0,12}}?\b(?:ms|s|min|h|"
    r"(?:second|minute|hour|night|day|week|weekend|month|year|decade)s?|centur(?:y|ies))\b"
    r"|\b(?:until|till|1[5-9]\d\d|20\d\d)\b"
)
_KINDS = {
    "long": _PERIOD,
    "often": rf"{_NUMBER}|\b(?:every|each|daily|weekly|monthly|yearly)\b",
    "many": _NUMBER,
    "much": _NUMBER,
    "far": _NUMBER,
}
_HOW = re.compile(rf"\bhow ({'|'.join(_KINDS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as sentences are compared with it."""

    wanted: tuple[str, ...]
    """Stems of its distinct content words."""
    measure: str | None
    """The one of them that a value answers: `long` of "how long"; None: no value is asked for."""
    value: re.Pattern[str] | None
    """Finds a value of that kind."""

    def found_in(self, sentence: str) -> frozenset[str]:
        """Return the stems of a sentence, in all their forms.

        A value of the kind that is asked for counts as its word: the note says "for 14 days" where
        the question says "how long".
        """
        measured = self.measure and self.value and self.value.search(sentence)
        return all_forms([*terms(sentence), *([self.measure] if self.measure and measured else [])])


def read_question(question: str) -> Asked:
    """Return what a question asks for; function words count only if it has no other.

    >>> read_question("How long may a drill be kept?").wanted
    ('long', 'drill', 'kept')
    """
    wanted = query_terms(_MODAL.sub(" ", question)) or query_terms(question)
    how = _HOW.search(question)
    kind = how[1].lower() if how else None
    value = re.compile(_KINDS[kind], re.IGNORECASE) if kind else None
    return Asked(wanted=tuple(wanted), measure=kind and stem(kind), value=value)


def all_forms(found: Sequence[str]) -> frozenset[str]:
    """Return stems with those of all forms of their verbs, so that `kept` meets `keep`."""
    return frozenset(form for term in found for form in _FORMS.get(term, (term,)))
