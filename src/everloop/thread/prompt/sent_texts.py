"""The texts of a prompt that are kept word for word, for the prompt inspector.

The messages of a prompt are facts already. Kept are the texts that Everloop writes around them: the
system prompt, the definitions of the tools, and what stands before the newest message. Each names
the facts that it quotes, so that deleting or purging one of those reaches the text too.
"""

import msgspec

from everloop.memory.context import AssembledPrompt
from everloop.memory.model.commands import PromptText
from everloop.ports import Prompt, Tool
from everloop.thread.prompt.dialogue import SPOKEN, text_before_message
from everloop.thread.prompt.sections import IDENTITY, LATE

SYSTEM = "system"
TOOLS = "tools"
BEFORE_MESSAGE = "before_message"


def sent_texts(assembled: AssembledPrompt, prompt: Prompt) -> tuple[PromptText, ...]:
    """The texts of a prompt, each with the facts that are quoted in it."""
    names = {section.name for section in assembled.ledger.sections}
    early = names - SPOKEN - set(LATE) - {IDENTITY}
    texts = [
        PromptText(SYSTEM, prompt.system, _quoted(assembled, early)),
        PromptText(BEFORE_MESSAGE, text_before_message(assembled), _quoted(assembled, set(LATE))),
    ]
    if prompt.tools:
        texts.append(PromptText(TOOLS, _format_tools(prompt.tools)))
    return tuple(texts)


def _quoted(assembled: AssembledPrompt, names: set[str]) -> tuple[int, ...]:
    """The positions of all pieces of these sections that are in the prompt."""
    found = {
        position
        for section in assembled.ledger.sections
        if section.name in names
        for entry in section.entries
        if not entry.left_out
        for position in entry.positions
    }
    return tuple(sorted(found))


def _format_tools(tools: tuple[Tool, ...]) -> str:
    """The definitions of tools as JSON, with the names that model services use."""
    defined = [
        {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        for tool in tools
    ]
    return msgspec.json.format(msgspec.json.encode(defined), indent=2).decode()
