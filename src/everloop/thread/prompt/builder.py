"""Prompt builder: system text, summaries, memory, lessons, notes and dialogue in a token budget.

Yesterday and today are included word for word, earlier times as summaries of the pyramid. Each
piece names the facts it was made from, and the ledger of all pieces is recorded before the prompt
is sent. Stored text is quoted, so it cannot pass for instructions.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec

from everloop.errors import Invalid
from everloop.log import Log, Reader, visible
from everloop.log.model.record import to_microseconds
from everloop.memory.context import (
    AssembledPrompt,
    PromptPiece,
    PromptSection,
    TokenBudget,
    assemble_prompt,
)
from everloop.memory.model.scopes import OWNER
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.service import MemoryService
from everloop.memory.text.similarity import plain_words
from everloop.ports import Clock, Tool
from everloop.thread.model.calendar_windows import first_full_day
from everloop.thread.model.state import CONVERSATION, thread_stream
from everloop.thread.prompt.attachments import AttachedFiles, NoFiles, PromptAttachments
from everloop.thread.prompt.dialogue import (
    day_label,
    dialogue_section,
    newest_that_fit,
    question_section,
    read_dialogue,
    to_prompt,
)
from everloop.thread.prompt.history import parts_section, summary_sections
from everloop.thread.prompt.sections import (
    identity_section,
    instructions_section,
    memory_pieces,
    notes_section,
    nothing_recalled,
    now_section,
    recalled_section,
    rules_section,
)
from everloop.thread.prompt.sent_texts import sent_texts
from everloop.thread.pyramid.day_parts import day_parts
from everloop.thread.queries import threads
from everloop.thread.queries.instructions import current_instructions
from everloop.thread.queries.notes import notes_for_prompt
from everloop.thread.quoting import TOKENS
from everloop.thread.settings import ContextLimits
from everloop.thread.turns import PreparedPrompt
from everloop.turns.tools import Toolbox

NOTES_MAX = 40
FRAME = 40  # tokens outside of all pieces: day labels, and a message before an answer

PieceSource = Callable[[], Iterable[PromptPiece]]


def no_pieces() -> list[PromptPiece]:
    """No pieces: for a thread without lessons."""
    return []


class PromptSources(NamedTuple):
    """Where a prompt gets what the thread does not know.

    `limits` are asked for with each prompt, because they depend on the model.
    """

    lessons: PieceSource = no_pieces
    files: AttachedFiles = NoFiles()


class PromptBuilder:
    """Builds the prompt of a turn."""

    def __init__(
        self,
        log: Log,
        keeper: MemoryService,
        clock: Clock,
        *,
        limits: Callable[[], ContextLimits] = ContextLimits,
        sources: PromptSources | None = None,
    ) -> None:
        self._log, self._keeper, self._clock = log, keeper, clock
        self._limits = limits
        self._sources = sources or PromptSources()

    def __call__(
        self, thread_id: str, turn_id: str, branch: str, toolbox: Toolbox
    ) -> PreparedPrompt:
        """Build the prompt for a turn on a branch, with its ledger.

        Raises:
            Invalid: the message alone is longer than a prompt may be.
        """
        limits, sources = self._limits(), self._sources
        with self._log.reading(branch=branch) as reader:
            asked = threads.find_message(reader, threads.find_turn(reader, turn_id).message_id)
            now, zones = self._clock.now(), threads.time_zones(reader)
            here = now.astimezone(zones.zone_at(to_microseconds(now)))
            today = here.date()
            parts = day_parts(reader, thread_id, first_full_day(today), today + timedelta(days=1))
            told = {one for part in parts for one in part.message_ids}
            said = read_dialogue(reader, asked, today, told, limits.dialogue)
            near = newest_that_fit(said, limits.dialogue)
            attached = PromptAttachments([*said, asked], sources.files, limits)
            past = [
                *summary_sections(reader, thread_id, today, limits.past),
                parts_section(parts, limits.parts),
            ]
            sections = [
                identity_section(asked),
                instructions_section(_instructions(reader, thread_id), limits.instructions),
                rules_section(list(sources.lessons()), limits.lessons),
                *past,
                dialogue_section(said, near),
                *attached.sections(),
                now_section(here, asked),
                self._notes_section(reader, thread_id, branch, limits),
                self._recall_section(reader, asked, near, past, limits),
                question_section(asked),
            ]
            tools = tuple(_applicable(reader, toolbox.tools, past))
        assembled = _assemble(sections, _tool_tokens(tools) + attached.image_tokens, limits)
        prompt = to_prompt(assembled, [*said, asked], attached, tools, day_label(zones))
        texts = sent_texts(assembled, prompt)
        return PreparedPrompt(prompt, assembled.ledger, (asked.position,), texts)

    def _notes_section(
        self, reader: Reader, thread_id: str, branch: str, limits: ContextLimits
    ) -> PromptSection:
        """The section of notes: open topics and intents, and the newest decisions."""
        known = self._log.state(CONVERSATION, thread_stream(thread_id), branch=branch)
        open_ids = [*known.topics, *known.intents] if known else []
        notes = notes_for_prompt(reader, thread_id, open_ids, NOTES_MAX)
        return notes_section(notes, limits.notes)

    def _recall_section(
        self,
        reader: Reader,
        asked: threads.ThreadMessage,
        near: Sequence[threads.ThreadMessage],
        past: Sequence[PromptSection],
        limits: ContextLimits,
    ) -> PromptSection:
        """The section of memories on the question, without hidden ones and those told above.

        What was kept of a message stands above in its own words.
        """
        most = limits.hits
        if not asked.text.strip() or not most:
            return recalled_section((), limits.recalled)
        question = SearchQuery(asked.text[:2_000], limit=most * 2)
        above = {at for section in past for piece in section.pieces for at in piece.positions}
        hits = self._keeper.recall(OWNER, question).hits
        found = [hit.item for hit in hits if hit.item.position not in above]
        away = threads.hidden_messages(reader, [item.item_id for item in found])
        said = {one.message_id for one in near}
        words = {plain_words(one.text) for one in near}
        told = {
            item.item_id
            for item in found
            if item.item_id in said or plain_words(item.text) in words
        }
        out = told | away | {asked.message_id}
        pieces = memory_pieces(reader, [item for item in found if item.item_id not in out][:most])
        nothing = nothing_recalled(asked, in_dialogue=bool(told))
        return recalled_section(pieces or [nothing], limits.recalled)


def _assemble(
    sections: Sequence[PromptSection], elsewhere: int, limits: ContextLimits
) -> AssembledPrompt:
    """Fit the sections into the budget that tools and images leave."""
    hard = max(0, limits.hard - elsewhere - FRAME)
    budget = TokenBudget(min(limits.soft, hard), hard)
    try:
        return assemble_prompt(sections, budget, principal=OWNER, tokens=TOKENS)
    except Invalid as problem:
        raise Invalid(
            f"the message is too long for a prompt: {problem}",
            hint="Attach it as a file, or raise thread.context.hard; a model's own context may be"
            " smaller than that, and then it decides.",
        ) from problem


def _applicable(
    reader: Reader, tools: Sequence[Tool], past: Sequence[PromptSection]
) -> Iterable[Tool]:
    """The tools that apply: none that looks into a memory or a past that is empty."""
    idle = set[str]()
    if not reader.rows(_ANY_ITEM):
        idle.add("recall")
    if not any(section.pieces for section in past):
        idle.add("zoom")
    return (tool for tool in tools if tool.name not in idle)


def _tool_tokens(tools: tuple[Tool, ...]) -> int:
    return TOKENS(msgspec.json.encode(tools).decode()) if tools else 0


_ANY_ITEM = f"SELECT 1 FROM memory_items i WHERE {visible('i')} LIMIT 1"  # noqa: S608 - our own


def _instructions(reader: Reader, thread_id: str) -> list[PromptPiece]:
    """The user's instructions for all conversations, then those for this one."""
    return [
        PromptPiece(one.thread_id or "all", one.text, (one.position,))
        for one in current_instructions(reader, thread_id)
    ]
