"""The decider table of memory: for each command its stream, fold and decision function."""

from functools import partial
from typing import Any

from everloop.log import Decider
from everloop.memory.browse import pins, queries
from everloop.memory.model import decide
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    DemoteItem,
    GrantAudience,
    KeepContext,
    KeepPromptTexts,
    KeepSummary,
    PinItem,
    RateItem,
    RelateItems,
    RememberCompared,
    RememberItem,
    RepeatItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
    UnpinItem,
)
from everloop.memory.model.state import (
    AUDIENCE_FOLD,
    CONTEXT_FOLD,
    ITEM_FOLD,
    PROMPT_TEXTS_FOLD,
    audience_stream,
    context_stream,
    item_stream,
    prompt_texts_stream,
)
from everloop.memory.projections import citations, items
from everloop.memory.summaries import staleness

ItemCommand = (
    RememberItem
    | RepeatItem
    | ReviseItem
    | RateItem
    | PinItem
    | UnpinItem
    | CiteItem
    | CloseCitation
    | RelateItems
    | RetireItem
    | DemoteItem
)


def _item(command: ItemCommand) -> str:
    return item_stream(command.item_id)


def _audience(command: GrantAudience | RevokeAudience) -> str:
    return audience_stream(command.principal)


def _context(command: KeepContext) -> str:
    return context_stream(command.context_id)


def _prompt_texts(command: KeepPromptTexts) -> str:
    return prompt_texts_stream(command.owner)


MEMORY_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(RememberItem, _item, ITEM_FOLD, decide.remember_item),
    Decider(
        RememberCompared,
        _item,
        ITEM_FOLD,
        decide.remember_item,
        also=items.check_comparison_is_current,
    ),
    Decider(
        KeepSummary, _item, ITEM_FOLD, decide.remember_item, also=staleness.check_summary_is_current
    ),
    Decider(RepeatItem, _item, ITEM_FOLD, decide.repeat_item),
    Decider(ReviseItem, _item, ITEM_FOLD, decide.revise_item, also=citations.has_user_derivatives),
    Decider(PinItem, _item, ITEM_FOLD, decide.pin_item),
    Decider(UnpinItem, _item, ITEM_FOLD, decide.unpin_item),
    Decider(CiteItem, _item, ITEM_FOLD, decide.cite_item, also=citations.citer_positions),
    Decider(CloseCitation, _item, ITEM_FOLD, decide.close_citation),
    Decider(RelateItems, _item, ITEM_FOLD, decide.relate_items),
    Decider(RetireItem, _item, ITEM_FOLD, decide.retire_item, also=citations.retire_obstacles),
    Decider(DemoteItem, _item, ITEM_FOLD, decide.demote_item, also=citations.demote_obstacles),
    Decider(
        GrantAudience,
        _audience,
        AUDIENCE_FOLD,
        decide.grant_audience,
        also=queries.has_grant_history,
    ),
    Decider(RevokeAudience, _audience, AUDIENCE_FOLD, decide.revoke_audience),
    Decider(KeepContext, _context, CONTEXT_FOLD, decide.keep_context),
    Decider(KeepPromptTexts, _prompt_texts, PROMPT_TEXTS_FOLD, decide.keep_prompt_texts),
)


def rating_decider(pins_max: int) -> Decider[Any, Any]:
    """The decider of `RateItem`, with a maximum of pins per audience."""
    also = partial(pins.displaced_pins, pins_max=pins_max)
    return Decider(RateItem, _item, ITEM_FOLD, decide.rate_item, also=also)
