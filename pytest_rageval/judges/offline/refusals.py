"""Clauses that say that an answer is not known or not given, recognised by their structure.

The words of a clause become letters, one for each role that a word may have, by the small table of
each language in ``refusals.toml``, which names the roles. A clause declines if its letters have one
of a few orders, which are the same in all languages: a source or the speaker, a negation, and a
verb of knowing or containing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Final

_UNSPACED: Final = frozenset({"Japanese", "Chinese", "Korean"})
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_ORDERS: Final = (
    # I do not know
    r"""
    [se][^uT]{0,6}N[^T]{0,4}k k[se]\w{0,6}N [se]k[^T]{0,6}N ^[yw]?N\w?[se]k ^y?Nk
    """,
    # the documents do not say
    r"""
    d[^uTr]*N[^T]{0,7}[vVM][^r]*$ d[^uTr,]*[vVM][^Tr,]{0,12}N [vVM]\w{0,5}d[^T]{0,20}N
    n\w{0,3}d\w{0,7}[vVM] p\w{0,4}d[^u]*N[^T]{0,8}[vVM] ^[^u]*N\w{0,4}[vVMf]\w{0,3}p\w{0,5}d
    D[^uTr]*N[^T]{0,7}(?:[VM]|v\w{0,5}i) D\w{0,3}v\w{0,2}N\w{0,4}i D\w{0,3}VN
    p\w?D[^uT]*V[^T]{0,6}N ^[^u]*N\w{0,3}[VMf]\w{0,3}p\w{0,5}D
    """,
    # it is not in the documents
    r"""
    [itg]\w{0,5}N\w{0,2}p\w{0,4}d ^y?N[hvMf]?p\w{0,4}d N\w?[hk]\w{0,2}p\w{0,4}d
    p\w{0,4}d\w{0,6}nI
    """,
    # there is no information
    r"""
    ^[^uG]*[hf][^uGr]{0,8}N[^G]{0,5}i[^Gr]*$ ^[^uGr]*N\w{0,3}[hf][^G]{0,7}i[^G]*$
    ^[^u]*N\w{0,4}i[^Gr]{0,9}(?:[hfMV]|vp?|p\w{0,4}d)[^Gr]*$ d[^u]{0,9}N\w{0,5}i
    ^[yw]{0,2}N\w{0,3}i(?:$|[pgt][^G]*$) [hf]\w{0,3}nI(?:$|[fhp]) ^y?nI(?:$|f|p\w{0,3}$)
    nI\w{0,9}d ^[yw]{0,2}N\w{0,2}[dD]\w{0,2}f ^[yw]{0,2}N\w{0,4}f\w?D$ ^jNP?h$
    ^[^uGr]*i[^TGr]{0,12}N\w{0,3}[vVMfhA][^Gr]*$
    ^[^ur]*i[^TG]{0,6}N\w{0,3}p\w{0,3}d [se]\w{0,5}N\w{0,4}h\w{0,6}j
    [se]\w{0,3}h\w{0,2}N\w{0,4}j n[se]h\w{0,4}j ^y?E\w{0,2}i$
    """,
    # the same where the negation ends the sentence
    r"""
    ^#[^ur]*(?:i[^G]{0,2}n|i\w?v\w{0,2}n|M\w{0,4}n|x\w{0,2}v\w{0,4}i|n\w{0,8}f\w{0,14}i)
    ^#[^ur]*np?[^ur]{0,16}i$ ^#\w?nk$
    """,
    # I cannot answer
    r"""
    ^[^b]*s[^u]{0,5}x s[^b]*m[^b]*N ^[^b]*N\w{0,3}sm m[^b]{0,3}s[^b]*N
    ^[^u]*(?:x|m[^u]*N|N\w{0,6}m)[^u]{0,9}A ^[^u]*A[^u]{0,6}(?:x|m\w{0,3}N)
    m[^u]{0,9}A\w{0,3}N ^[^u]*m[^u]*N[^u]*A
    (?:e[^u]{0,5}(?:x|m\w*N|N\w*m)|me\w{0,4}N|n\w?em)\w{0,5}(?:a|[vf]\w{0,6}[ijt])
    [se]\w{0,5}N\w{0,3}f [se]f\w{0,4}N f[se]\w{0,6}N ^y?x\w{0,2}[aAf]
    ^[yw]?[se]m\w{0,3}l\w{0,7}gp ^[yw]?lsm\w{0,7}gp ^#slw?Ap
    """,
    # it is not mentioned, it is unclear from the documents
    r"^t\w?B\w?p\w{0,3}d N[^uT]{0,3}M Nz\w?V ^y?Nf ^w?N[vVM]a?$",
    # it is outside the scope of my knowledge
    r"""
    o\w{0,4}O\w{0,4}[sed] o\w?s\w{0,4}[Ok] g\w{0,4}o\w{0,3}O o\w{0,2}[sed]\w?[Ok]
    ^[ty]?\w?o\w{0,2}O$ ^[^u]*g\w{0,9}o k\w{0,3}o ^[ty]T?\w?oqs
    """,
    # the documents lack information
    r"d\w{0,5}[LB] L\w{0,4}i i\w{0,9}[LB](?:$|\w?p) ^\w?s\w?L ^[^u]*Z",
)
"""Orders of roles with which a clause declines, N being a negation of either kind."""
_WORD: Final = re.compile(r",|(?:[jnlcdsqu]|qu|lorsqu|quest|c)'(?=\w)|\w+(?:'\w+)?")

_ABOUT_SOURCES: Final = re.compile(
    r"^#?[^T]*d[^T]*[vVMl]|^#?\w{0,2}p\w{0,4}d\w{0,4}$|^[ut]l\w?[vVM]|^y?w?s[^T]*$|^\w{0,2}g|^\w{0,7}y\w{0,7}$|^#.*y"
)
_UNSTATED: Final = re.compile("n\\w?M")
_STRONG: Final = re.compile(r"P\w{0,2}D|D\w?P|[se]\w?D")
"""A page is a source where it is one that was provided."""
_PRONOUN: Final = re.compile("^(w?)[ut]")
_MOST_WORDS: Final = 60
"""Words of a clause that are read, which bounds the time of the orders."""
_CUES: Final = frozenset("nxZLBEol")
"""Roles of which every order has one."""


class _Table:
    """The words of one language with their roles."""

    def __init__(self, name: str, words_of: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        for role, words in words_of.items():
            for word in words.split():
                table, key = (self._stems, word[:-1]) if word[-1] == "*" else (self._exact, word)
                key = key.replace("_", " ")
                table[key] = table.get(key, "") + role
        self._spaced = name not in _UNSPACED
        self._longest = max(map(len, self._stems), default=0)
        longest_first = sorted(map(re.escape, self._exact), key=len, reverse=True)
        self._unspaced = re.compile("|".join([*longest_first, r"[\w,、，]"]))
        self._role = lru_cache(maxsize=4096)(self._find_role)
        self._cues = {word for word, role in self._exact.items() if not _CUES.isdisjoint(role)}
        stems = [w for w, role in self._stems.items() if not _CUES.isdisjoint(role)]
        self._stem_cue = re.compile(rf"\b(?:{'|'.join(stems)})") if stems else None

    def may_decline(self, text: str, words: Collection[str]) -> bool:
        """Whether a text has a word with which the language declines."""
        if not self._spaced:
            return any(cue in text for cue in self._cues)
        if not self._cues.isdisjoint(words):
            return True
        return self._stem_cue is not None and self._stem_cue.search(text) is not None

    def roles(self, text: str, words: Iterable[str]) -> str:
        """Return the roles of the words of a text, in order."""
        if not self._spaced:
            found = self._unspaced.findall(text[: 4 * _MOST_WORDS])
            return "#" + "".join([self._exact.get(w, "," if w in ",、，" else "w") for w in found])
        return _STRONG.sub("d", _COMPOUND.sub("w", "".join([self._role(word) for word in words])))

    def _find_role(self, word: str) -> str:
        if word == ",":
            return word
        role = self._exact.get(word, "")
        for at in range(min(len(word), self._longest), 1, -1):
            if stem := self._stems.get(word[:at]):
                return role + stem
        return role or "w"


_COMPOUND: Final = re.compile("[iVA]+X")
"""Names such as `information desk`, which give no information."""
_MODAL: Final = frozenset({"can't", "couldn't", "won't"})


@cache
def _tables(*, unspaced: bool) -> list[_Table]:
    """Return the tables of all languages, or of those with blanks between words."""
    text = files(__package__).joinpath("refusals.toml").read_text(encoding="utf-8")
    words = tomllib.loads(text)
    return [_Table(name, words[name]) for name in words if unspaced or name not in _UNSPACED]


def readings(part: str, *, after_sources: bool = False) -> list[str]:
    """Return the roles of the words of a part of a sentence, for each language that it may be in.

    Args:
        part: empty results if it has no word with which any language declines.
        after_sources: whether what is before it speaks of sources, as which a pronoun then counts.
    """
    text, words, tables = _read(part)
    found = [table.roles(text, words) for table in tables if table.may_decline(text, words)]
    if after_sources:
        found = [_PRONOUN.sub(r"\1d", roles) for roles in found]
    return [roles for roles in found if not _CUES.isdisjoint(roles)]


def every_reading(part: str) -> list[str]:
    """Return the same for all languages, whatever the part says."""
    text, words, tables = _read(part)
    return [table.roles(text, words) for table in tables]


def may_refuse(sentence: str) -> bool:
    """Whether a sentence has a word with which any language declines."""
    text, words, tables = _read(sentence)
    return any(table.may_decline(text, words) for table in tables)


def _read(part: str) -> tuple[str, list[str], list[_Table]]:
    """Return a part in lower case, its words, and the tables of languages in its scripts."""
    text = part.lower().replace("’", "'")
    words = [found[0] for found in islice(_WORD.finditer(text), _MOST_WORDS)]
    words = ["n't" if one.endswith("n't") and one not in _MODAL else one for one in words]
    return text, words, _tables(unspaced=_UNSPACED_SCRIPT.search(text) is not None)


@cache
def _orders() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile("|".join(one.split()).replace("N", "[nx]")) for one in _ORDERS)


def refuses(roles: str) -> bool:
    """Whether the roles of a part of a sentence have an order that declines, without conditions."""
    mark, roles = ("#", roles[1:]) if roles.startswith("#") else ("", roles)
    clauses = roles.split(",")
    kept = [left for one in clauses if (left := _unconditional(one, mark, alone=len(clauses) == 1))]
    return any(order.search(mark + one) for one in {",".join(kept), *kept} for order in _orders())


def _unconditional(clause: str, mark: str, *, alone: bool) -> str:
    """Return the roles of a clause up to a word such as "if"; empty: it begins with it.

    "When it closes is not stated" is not a condition.
    """
    at = min((place for one in "cC" if (place := clause.find(one)) >= 0), default=-1)
    if at < 0 or (alone and clause.startswith("C") and _UNSTATED.search(clause)):
        return clause
    return "" if mark or at == 0 or clause[:at] == "w" else clause[:at]


def is_about_sources(roles: str) -> bool:
    """Whether a part that does not decline only apologises, or speaks of sources or the speaker."""
    return _ABOUT_SOURCES.search(roles) is not None
