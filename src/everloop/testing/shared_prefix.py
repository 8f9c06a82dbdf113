"""How much of a prompt begins as the one before it did: what a model service can have cached."""

from itertools import takewhile

import msgspec

from everloop.memory.token_counts import ESTIMATE
from everloop.ports import Prompt, Text


def prompt_text(prompt: Prompt) -> str:
    """A prompt as one text, in the order in which services read it: tools, system, messages."""
    lines = [msgspec.json.encode(prompt.tools).decode(), prompt.system]
    for said in prompt.messages:
        lines += [f"<{said.role}>", *(part.text for part in said.parts if isinstance(part, Text))]
    return "\n".join(lines)


def shared_share(before: Prompt, after: Prompt) -> float:
    """The share of the tokens of a prompt that its predecessor began with as well."""
    old, new = prompt_text(before), prompt_text(after)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    return ESTIMATE(new[:same]) / max(1, ESTIMATE(new))
