"""A case of an evaluation: a question and the evidence of a good answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Final, Literal, get_args

from pytest_rageval.values.diagnoses.table import WORDS
from pytest_rageval.values.limits import MAX_INTEGER, Flag, Limits, Ours, Read

RecencyRule = Literal["cite_newer", "acknowledge_both", "cite_both"]
Difficulty = Literal["easy", "medium", "hard"]
Review = Literal["reviewed", "generated"]
Behavior = Literal["answer", "clarify"]
Role = Literal["user", "assistant"]

HIDDEN: Final = r"\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
"""Control, bidi and zero-width characters, within the brackets of a pattern."""
_CHARS: Final = rf"[^\s\[\]:{HIDDEN}]+"
LABEL_PATTERN: Final = rf"^:?{_CHARS}(:{_CHARS})*:?$"
"""No space, bracket, control or bidi character and no ``::``, so that a label can be part of a
pytest node id and be given to ``-k``; ids of existing data sets hold ``#``, ``(`` and letters of
every script. Written without look-around, which pydantic's regex engine lacks."""

Label = Annotated[str, Limits("a string without spaces, '[', ']' or '::'", pattern=LABEL_PATTERN)]
NotBlank = Annotated[str, Limits("a string that is not blank", pattern=r"\S")]
Count = Annotated[int, Limits("an integer of at least 1", strict=True, ge=1, le=MAX_INTEGER)]
_Index = Annotated[int, Limits("an index into gold_supports", strict=True, ge=0, le=MAX_INTEGER)]
_Group = Annotated[tuple[_Index, ...], Limits(min_length=1)]
_NO_OTHER_FIELDS: Final = {"extra": "forbid"}


def _unread(value: object) -> None:
    """Drop a value that others read from the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the documents that a gold or an irrelevant support points at."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    rel_path: NotBlank
    """Path of the document below its vault, ``/``-separated."""
    heading_path: str = ""
    """``# Title > ## Section``; empty means the whole document."""
    snippets: tuple[NotBlank, ...] = ()
    """Sentences that the section holds word for word. They decide about chunks without a heading;
    about others only under the ``snippets`` setting."""
    pages: tuple[Count, ...] = ()
    """Pages of the document, from 1; they decide about chunks with neither heading nor text."""
    grade: Count = 1
    """Relevance grade, an integer of at least 1, used by nDCG."""
    vault: str | None = None
    """Compared only where the target reports a vault."""


RuleKind = Literal["contains", "not_contains", "matches"]
RULE_KINDS: Final[tuple[RuleKind, ...]] = get_args(RuleKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """A rule on the text of an answer; exactly one of the first three is set."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    contains: NotBlank | None = None
    """Text that the answer must hold."""
    not_contains: NotBlank | None = None
    """Text that the answer must not hold."""
    matches: NotBlank | None = None
    """Regular expression that occurs in the answer, in the syntax of the Rust crate ``regex``:
    without look-around and back-references."""
    ignore_case: Flag | None = None
    """None: yes for texts, no for a pattern; likewise ``ignore_whitespace``."""
    ignore_whitespace: Flag | None = None
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
class KeyFact:
    """A fact that a correct answer contains, and whether it has to."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    text: str
    """The fact."""
    vital: Flag = True
    """False: good to have ("okay" in TREC RAG), and counted half."""


_Fact = Annotated[str | KeyFact, Limits("a string, or an object with text and vital")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with its expected answer and evidence, as a case or a turn of one has it."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    id: Label
    """Unique in the file; the pytest node is ``<file>::<id>``. No ``.`` or ``..`` between
    slashes."""
    question: NotBlank = ""
    """The question that is asked; empty: the case is a conversation of ``turns``."""
    standalone: NotBlank | None = None
    """The question of a later turn in full, as it would be asked without the turns before it."""
    answerable: Flag = True
    """False: the documents hold no answer; the right thing is to abstain."""
    expected_behavior: Annotated[tuple[Behavior, ...], Limits(min_length=1)] = ("answer",)
    """With ``clarify`` an answer that asks back is as good as one that answers."""
    expected_key_facts: tuple[_Fact, ...] = ()
    """Facts that a correct answer contains, one each: texts, or objects for those that are good to
    have (``vital`` false), which count half."""
    expected_answer: str | None = None
    """Reference answer for the judge."""
    answer_rules: tuple[AnswerRule, ...] = ()
    """Rules on the text of the answer, which keeps all of them."""
    gold_supports: tuple[Anchor, ...] = ()
    """Places of the evidence: anchors, never chunk ids."""
    irrelevant_supports: tuple[Anchor, ...] = ()
    """Evidence that must not be retrieved."""
    required_support_groups: Annotated[tuple[_Group, ...], Limits(min_length=1)] | None = None
    """Indices into ``gold_supports``: OR over groups, AND within a group."""
    recency_conflict_rule: RecencyRule | None = None
    """Rule for sources that disagree; ``gold_supports[0]`` is the newer one."""

    @property
    def key_facts(self) -> tuple[str, ...]:
        """The texts of all key facts."""
        found = self.expected_key_facts
        return tuple([one if isinstance(one, str) else one.text for one in found])

    @property
    def stated_facts(self) -> tuple[str, ...]:
        """The key facts that say anything: those that are not blank."""
        return tuple(fact for fact in self.key_facts if fact.strip())

    @property
    def vital_facts(self) -> tuple[bool, ...]:
        """Whether each of ``stated_facts`` is vital."""
        pairs = zip(self.key_facts, self.expected_key_facts, strict=True)
        return tuple([isinstance(one, str) or one.vital for text, one in pairs if text.strip()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Asked):
    """One turn of a conversation, in a line of a case file with ``turns``."""

    id: Annotated[str, Ours()] = ""
    """Its case is named by the conversation and its position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    """``user`` for a question, ``assistant`` for an answer."""
    content: str
    """Its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """Place of a case that is one turn of a conversation."""

    conversation: str
    """Id of the line with the turns."""
    turn: int
    """Position of the turn, from 1."""
    turns: int
    """Number of turns."""
    gold: tuple[Message, ...] = ()
    """The turns before it, each with its expected answer where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Asked):
    """One question, or a conversation of several turns (one line of a case file)."""

    turns: tuple[Turn, ...] = ()
    """Turns of a conversation, in place of ``question``: each is a case of its own in all figures,
    named ``<id>#1``, ``<id>#2`` and so on, and the conversation is asked as one pytest item."""
    category: Label = "general"
    """For breakdowns and selection."""
    difficulty: Difficulty | None = None
    """For breakdowns and selection."""
    tags: tuple[Label, ...] = ()
    """For breakdowns and selection."""
    vaults: tuple[str, ...] = ()
    """Sent with the question."""
    folders: tuple[str, ...] = ()
    """Sent with the question."""
    k: Count | None = None
    """Cutoff of this case; the run's when None."""
    language: str | None = None
    """For cross-lingual consistency."""
    translation_of: str | None = None
    """Id of the case that this one is a translation of."""
    required: Flag = False
    """A miss of this case fails the run even if every check passes."""
    review: Review = "reviewed"
    """``generated``: not reviewed by a person; it is asked and shown but counts nowhere."""
    notes: str = ""
    """Free text; changes nothing."""
    response: Annotated[None, Read(_unread)] = None
    """Reply that was recorded for the question, as in lines of an inbox; it is read by ``score``
    and ``review``, and no part of the case."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Free values; they change nothing unless the settings send them to the target as
    ``case.metadata``."""
    talk: Annotated[Talk | None, Ours()] = None
    """Place in the conversation that it is a turn of; None: it is of none."""

    @property
    def user(self) -> object:
        """The user on whose behalf the question is asked (``metadata.user``); None: nobody's."""
        return self.metadata.get("user")

    @property
    def tests_permissions(self) -> bool:
        """Whether ``irrelevant_supports`` are what the user must not see."""
        return bool(self.irrelevant_supports) and (self.user is not None or "acl" in self.tags)

    @property
    def item(self) -> str:
        """Name of the pytest item that asks it: that of its conversation, or its own."""
        return self.id if self.talk is None else self.talk.conversation

    @property
    def whole_question(self) -> str:
        """The question as it reads alone: the standalone one, or after those of earlier turns."""
        before = () if self.talk is None else self.talk.gold
        said = [one.content for one in before if one.role == "user"]
        return self.standalone or "\n".join([*said, self.question])

    @property
    def turn(self) -> int | None:
        """Position in its conversation, from 1; None: it is of none."""
        return None if self.talk is None else self.talk.turn

    @property
    def turn_group(self) -> str | None:
        """``1``, ``2``, or ``3+`` for each later turn of a conversation; None: it is of none."""
        return None if self.turn is None else {1: "1", 2: "2"}.get(self.turn, "3+")

    def expanded(self) -> tuple[Case, ...]:
        """Return a case for each turn of a conversation, or the case itself."""
        if not self.turns:
            return (self,)
        found: list[Case] = []
        gold: list[Message] = []
        for number, turn in enumerate(self.turns, 1):
            talk = Talk(conversation=self.id, turn=number, turns=len(self.turns), gold=tuple(gold))
            of, original = turn_id(self.id, number), self.translation_of
            if original is not None:
                original = turn_id(original, number)
            asked = {name: getattr(turn, name) for name in TURN_FIELDS}
            found.append(
                replace(self, id=of, turns=(), talk=talk, translation_of=original, **asked)
            )
            gold.append(Message(role="user", content=turn.question))
            if turn.expected_answer:
                gold.append(Message(role="assistant", content=turn.expected_answer))
        return tuple(found)


def count_cases(n: int, turns: int, talks: int) -> str:
    """Return a number of cases with the conversations among them.

    Args:
        n: cases, each turn of a conversation among them.
        turns: cases that are a turn.
        talks: their conversations.

    >>> count_cases(3, 0, 0), count_cases(3, 2, 1), count_cases(2, 2, 1)
    ('3 cases', '3 cases (2 turns of 1 conversation)', '2 turns of 1 conversation')
    """
    of = WORDS.format("{:turn} of {:conversation}", turns, talks)
    if turns == n > 0:
        return of
    return WORDS.format("{:case}", n) + (f" ({of})" if turns else "")


def counted_cases(cases: Iterable[Case]) -> str:
    """Return the number of expanded cases, with the conversations among them."""
    turns = [case.turn for case in cases]
    return count_cases(len(turns), len(turns) - turns.count(None), turns.count(1))


def turn_id(conversation: str, turn: int) -> str:
    """Return the id of a turn as a case: ``refund_talk#2``."""
    return f"{conversation}#{turn}"


CASE_FIELDS: Final = tuple(one.name for one in fields(Case) if one.name != "talk")
"""Fields of a line of a case file, in the order in which they are written."""
TURN_FIELDS: Final = tuple(one.name for one in fields(Turn) if one.name != "id")
"""Fields of a turn, which a line with turns does not have itself."""
