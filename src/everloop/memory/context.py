"""Prompt assembly: fits sections into a token budget and records what was left out in a ledger.

Three tiers. `must` is always included; if it alone exceeds the hard budget, that is an error and
not a shorter prompt. `should` fills up to the hard budget, `nice` only up to the soft one. The
ledger lists every offered piece exactly once, with its tokens, the positions it came from, and why
it is not in the prompt if it was left out.

The order of omission is fixed: `nice` before `should`; within a tier the section with the lower
`stays` first, of equals the later one; within a section the piece of lower priority, of equals the
later one. Included pieces keep their given order.

Linear in what it is given, pure, and deterministic.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import fact_of
from everloop.memory.model.events import ContextAssembled, Ledger, LedgerEntry, LedgerSection
from everloop.memory.model.scopes import Viewer
from everloop.memory.token_counts import ESTIMATE, TokenCounter

Tier = Literal["must", "should", "nice"]
OmissionReason = Literal["", "duplicate", "section budget", "soft budget", "hard budget", "tier"]
TIERS: tuple[Tier, ...] = get_args(Tier)
BREAK_TOKENS = 1  # tokens for the line break after a heading, a piece or a section


class PromptPiece(msgspec.Struct, frozen=True):
    """One piece of text. `key` identifies it without quoting it: an item's id, a turn's number."""

    key: str
    text: str
    positions: tuple[int, ...] = ()
    priority: int = 0


class PromptSection(msgspec.Struct, frozen=True):
    """Pieces under a heading. `tokens_max` limits `should` and `nice`; 0 is no limit.

    `elision` is a line shown in place of omitted pieces, such as "(earlier turns left out)".
    `unbroken` omits every piece of lower priority than the first one that does not fit, so that a
    dialogue has no gaps.
    """

    name: str
    tier: Tier
    pieces: tuple[PromptPiece, ...]
    heading: str = ""
    tokens_max: int = 0
    stays: int = 0
    elision: str = ""
    unbroken: bool = False


class TokenBudget(msgspec.Struct, frozen=True):
    """The preferred (soft) and the maximum (hard) length of a prompt, in tokens."""

    soft: int = 6_000
    hard: int = 8_000


class PromptPart(msgspec.Struct, frozen=True):
    """The text of one section in the prompt."""

    name: str
    text: str


class AssembledPrompt(msgspec.Struct, frozen=True):
    """An assembled prompt in parts, with its ledger."""

    parts: tuple[PromptPart, ...]
    ledger: Ledger

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "\n\n".join(part.text for part in self.parts)


def assemble_prompt(
    sections: Sequence[PromptSection],
    budget: TokenBudget | None = None,
    *,
    principal: str,
    tokens: TokenCounter = ESTIMATE,
) -> AssembledPrompt:
    """Assemble a prompt for a principal.

    Raises:
        Invalid: the `must` sections exceed the hard budget, two sections have the same name, or
            the budget is inconsistent.
    """
    limits = budget or TokenBudget()
    _check(sections, limits)
    assembly = _Assembly(limits, tokens)
    filled = {section.name: assembly.fill(section) for section in by_priority(sections)}
    ordered = [filled[section.name] for section in sections]
    ledger = Ledger(
        principal=principal,
        tokens=assembly.used,
        soft=limits.soft,
        hard=limits.hard,
        counted_by=tokens.name,
        exact=tokens.exact,
        sections=tuple(one.entry() for one in ordered),
    )
    return AssembledPrompt(tuple(one.part() for one in ordered if one.tokens), ledger)


def by_priority(sections: Sequence[PromptSection]) -> list[PromptSection]:
    """The sections by descending priority. Omission goes the other way."""
    return sorted(sections, key=lambda section: (TIERS.index(section.tier), -section.stays))


def load_ledger(reader: Reader, who: Viewer, position: int) -> Ledger:
    """Load the ledger at a position. Visible to the owner, and to the principal of the prompt.

    Raises:
        NotFound: there is none that this asker may see.
    """
    missing = NotFound(f"no ledger at position {position}", hint="Open it from a reply.")
    if not reader.rows(_IS_VISIBLE, (position,)):
        raise missing
    event = fact_of(reader.record(position)).event
    if not isinstance(event, ContextAssembled):
        raise missing
    if not (who.is_owner or who.principal == event.ledger.principal):
        raise missing
    return event.ledger


_IS_VISIBLE = f"SELECT 1 FROM log l WHERE l.position = ? AND {visible('l')}"  # noqa: S608 - our own


class _Filled:
    """A section with its included and omitted pieces."""

    def __init__(self, section: PromptSection, costs: Sequence[int]) -> None:
        self.section = section
        self.costs = costs
        self.kept: set[int] = set()
        self.left_out: dict[int, OmissionReason] = {}
        self.tokens = 0
        self.elided = False

    def part(self) -> PromptPart:
        """The section as text."""
        section = self.section
        lines = [section.heading] if section.heading and self.kept else []
        elided = not self.elided
        for number, piece in enumerate(section.pieces):
            if number in self.kept:
                lines.append(piece.text)
            elif not elided and self.left_out[number] != "duplicate":
                lines.append(section.elision)
                elided = True
        return PromptPart(section.name, "\n".join(lines))

    def entry(self) -> LedgerSection:
        """The section in the ledger."""
        section = self.section
        return LedgerSection(
            name=section.name,
            tier=section.tier,
            tokens=self.tokens,
            tokens_max=section.tokens_max,
            entries=tuple(
                LedgerEntry(piece.key, cost, piece.positions, self.left_out.get(number, ""))
                for number, (piece, cost) in enumerate(zip(section.pieces, self.costs, strict=True))
            ),
        )


class _Assembly:
    """The state of an assembly: the tokens used so far, and the keys that are included."""

    def __init__(self, budget: TokenBudget, tokens: TokenCounter) -> None:
        self.used = 0
        self._budget = budget
        self._tokens = tokens
        self._keys: set[str] = set()

    def fill(self, section: PromptSection) -> _Filled:
        """Include the pieces of a section that fit into what is left of the budget."""
        costs = [self._tokens(piece.text) + BREAK_TOKENS for piece in section.pieces]
        filled = _Filled(section, costs)
        order = list(self._new_pieces(filled))
        whole = sum(costs[number] for number in order) + self._frame(section)
        if not order:
            return filled
        if section.tier == "must" or whole <= self._room(section):
            self._include_all(filled, order, whole)
        else:
            self._include_some(filled, order)
        return filled

    def _new_pieces(self, filled: _Filled) -> Iterable[int]:
        """The pieces that are not included yet, by descending priority."""
        pieces = filled.section.pieces
        for number in sorted(range(len(pieces)), key=lambda n: -pieces[n].priority):
            if pieces[number].key in self._keys:
                filled.left_out[number] = "duplicate"
            else:
                self._keys.add(pieces[number].key)
                yield number

    def _include_all(self, filled: _Filled, order: Sequence[int], whole: int) -> None:
        filled.kept.update(order)
        filled.tokens = whole
        self.used += whole
        if self.used > self._budget.hard:  # only `must` is included without checking the room
            raise Invalid(
                f"the required sections of the prompt take {self.used:,} tokens or more, and"
                f" {self._budget.hard:,} are allowed; {filled.section.name!r} exceeds the limit",
                hint="Raise the hard budget, or move something from must to should.",
            )

    def _include_some(self, filled: _Filled, order: Sequence[int]) -> None:
        section = filled.section
        room = self._room(section)
        elision = self._tokens(section.elision) + BREAK_TOKENS if section.elision else 0
        used = self._frame(section) + elision
        reason = self._reason(section)
        for number in order:
            if used + filled.costs[number] <= room:
                used += filled.costs[number]
                filled.kept.add(number)
            elif section.unbroken:
                break
        if not filled.kept:  # only the elision, without a heading, if it fits
            used = elision + BREAK_TOKENS if elision else 0
        filled.elided = bool(elision) and used <= room
        filled.tokens = used if used <= room else 0
        self.used += filled.tokens
        gone = {section.pieces[number].key for number in order if number not in filled.kept}
        self._keys -= gone
        for number, piece in enumerate(section.pieces):
            if piece.key in gone:  # and its duplicates
                filled.left_out[number] = reason

    def _room(self, section: PromptSection) -> int:
        limit = self._budget.hard if section.tier == "should" else self._budget.soft
        room = max(0, limit - self.used)
        return min(room, section.tokens_max) if section.tokens_max else room

    def _reason(self, section: PromptSection) -> OmissionReason:
        """Why a piece of a section is omitted."""
        limit = self._budget.hard if section.tier == "should" else self._budget.soft
        if self.used >= limit:
            return "tier"
        if section.tokens_max and section.tokens_max <= limit - self.used:
            return "section budget"
        return "hard budget" if section.tier == "should" else "soft budget"

    def _frame(self, section: PromptSection) -> int:
        """The tokens of a section besides its pieces."""
        return BREAK_TOKENS + (
            self._tokens(section.heading) + BREAK_TOKENS if section.heading else 0
        )


def _check(sections: Sequence[PromptSection], budget: TokenBudget) -> None:
    names = [section.name for section in sections]
    if len(set(names)) < len(names):
        raise Invalid(
            "two sections of the prompt have the same name", hint="Give each section its own name."
        )
    if not 0 <= budget.soft <= budget.hard:
        raise Invalid(
            f"the soft budget of {budget.soft} exceeds the hard budget of {budget.hard}, or is"
            " negative",
            hint="Use a soft budget between 0 and the hard budget.",
        )
