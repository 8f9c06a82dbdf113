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
from everloop.memory.model.stale_comparison import against_what_came
from everloop.memory.model.state import (
    AUDIENCE,
    CONTEXT,
    ITEM,
    audience_stream,
    context_stream,
    stream_of,
)
from everloop.memory.projections import citations
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
    return stream_of(command.item_id)


def _audience(command: GrantAudience | RevokeAudience) -> str:
    return audience_stream(command.principal)


def _context(command: KeepContext) -> str:
    return context_stream(command.context_id)


MEMORY_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(RememberItem, _item, ITEM, decide.remember_item),
    Decider(RememberCompared, _item, ITEM, decide.remember_item, also=against_what_came),
    Decider(KeepSummary, _item, ITEM, decide.remember_item, also=staleness.check_window),
    Decider(RepeatItem, _item, ITEM, decide.repeat_item),
    Decider(ReviseItem, _item, ITEM, decide.revise_item, also=citations.against_revising),
    Decider(PinItem, _item, ITEM, decide.pin_item),
    Decider(UnpinItem, _item, ITEM, decide.unpin_item),
    Decider(CiteItem, _item, ITEM, decide.cite_item, also=citations.where_cited),
    Decider(CloseCitation, _item, ITEM, decide.close_citation),
    Decider(RelateItems, _item, ITEM, decide.relate_items),
    Decider(RetireItem, _item, ITEM, decide.retire_item, also=citations.against_retiring),
    Decider(DemoteItem, _item, ITEM, decide.demote_item, also=citations.against_demoting),
    Decider(GrantAudience, _audience, AUDIENCE, decide.grant_audience, also=queries.spoken_of),
    Decider(RevokeAudience, _audience, AUDIENCE, decide.revoke_audience),
    Decider(KeepContext, _context, CONTEXT, decide.keep_context),
)


def rating_decider(pins_max: int) -> Decider[Any, Any]:
    """The decider of `RateItem`, with a maximum of pins per audience."""
    also = partial(pins.giving_way, pins_max=pins_max)
    return Decider(RateItem, _item, ITEM, decide.rate_item, also=also)
