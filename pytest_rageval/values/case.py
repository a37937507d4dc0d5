"""A case of an evaluation: a question and the evidence of a good answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FolderMode = Literal["off", "on", "on_with_fallback"]
RecencyRule = Literal["cite_newer", "acknowledge_both", "cite_both"]
Difficulty = Literal["easy", "medium", "hard"]
Review = Literal["reviewed", "generated"]
MatchingMode = Literal["auto", "heading"]
"""Setting that names the rules by which chunks are compared with anchors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the documents that a gold or an irrelevant support points at."""

    rel_path: str
    """Path of the document below its vault, ``/``-separated."""
    heading_path: str = ""
    """``# Title > ## Section``; empty means the whole document."""
    snippets: tuple[str, ...] = ()
    """Sentences that the section holds word for word. They decide about chunks without a heading;
    about others only under the ``snippets`` setting."""
    pages: tuple[int, ...] = ()
    """Pages of the document, from 1; they decide about chunks with neither heading nor text."""
    grade: int = 1
    """Relevance grade, an integer of at least 1, used by nDCG."""
    vault: str | None = None
    """Compared only where the target reports a vault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its expected answer and evidence (one line of a case file)."""

    id: str
    question: str
    answerable: bool = True
    expected_key_facts: tuple[str, ...] = ()
    expected_answer: str | None = None
    gold_supports: tuple[Anchor, ...] = ()
    irrelevant_supports: tuple[Anchor, ...] = ()
    required_support_groups: tuple[tuple[int, ...], ...] | None = None
    """Indices into ``gold_supports``: OR over groups, AND within a group."""
    recency_conflict_rule: RecencyRule | None = None
    """``gold_supports[0]`` is the newer one."""
    category: str = "general"
    difficulty: str | None = None
    """A ``Difficulty`` in case files; records from other tools may hold other words."""
    tags: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    k: int | None = None
    """Cutoff of this case; the run's when None."""
    language: str | None = None
    translation_of: str | None = None
    required: bool = False
    """A miss of this case fails the run even if every check passes."""
    review: Review = "reviewed"
    """``generated``: not reviewed by a person; it is asked and shown but counts nowhere."""
    notes: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def user(self) -> object:
        """The user on whose behalf the question is asked (``metadata.user``); None: nobody's."""
        return self.metadata.get("user")

    @property
    def tests_permissions(self) -> bool:
        """Whether ``irrelevant_supports`` are what the user must not see."""
        return bool(self.irrelevant_supports) and (self.user is not None or "acl" in self.tags)

    @property
    def stated_facts(self) -> tuple[str, ...]:
        """The key facts that say anything: those that are not blank."""
        return tuple(fact for fact in self.expected_key_facts if fact.strip())
