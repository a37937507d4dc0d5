"""A case of an evaluation: a question and the evidence of a good answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

FolderMode = Literal["off", "on", "on_with_fallback"]
FOLDER_MODES: Final[tuple[FolderMode, ...]] = get_args(FolderMode)
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


RuleKind = Literal["contains", "not_contains", "matches"]
RULE_KINDS: Final[tuple[RuleKind, ...]] = get_args(RuleKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """A rule on the text of an answer; exactly one of the first three is set."""

    contains: str | None = None
    not_contains: str | None = None
    matches: str | None = None
    """A regular expression in the syntax of the Rust crate ``regex``."""
    ignore_case: bool | None = None
    """None: yes for texts, no for a pattern; likewise ``ignore_whitespace``."""
    ignore_whitespace: bool | None = None
    """Whether a run of whitespace counts as one blank."""

    @property
    def kind(self) -> RuleKind:
        """The field that is set."""
        return next((kind for kind in RULE_KINDS if getattr(self, kind) is not None), "contains")

    @property
    def text(self) -> str:
        """The text or pattern of the rule."""
        text: str | None = getattr(self, self.kind)
        return text or ""

    @property
    def ignores_case(self) -> bool:
        """``ignore_case``, or its default."""
        return self.kind != "matches" if self.ignore_case is None else self.ignore_case

    @property
    def ignores_whitespace(self) -> bool:
        """``ignore_whitespace``, or its default."""
        given = self.ignore_whitespace
        return self.kind != "matches" if given is None else given


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its expected answer and evidence (one line of a case file)."""

    id: str
    question: str
    answerable: bool = True
    expected_key_facts: tuple[str, ...] = ()
    expected_answer: str | None = None
    answer_rules: tuple[AnswerRule, ...] = ()
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
        return tuple([fact for fact in self.expected_key_facts if fact.strip()])
