"""`memory.compress` and `memory.consolidate`: summarise many memories into one."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from everloop.interfaces.rpc.errors import INVALID_PARAMS, RpcError, not_found_subject
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.methods.memories import consumer_count, search_as_host
from everloop.interfaces.rpc.shapes import PAGE_MAX, Id, NonNegativeInt
from everloop.memory import (
    SUMMARY_BUDGET_TOKENS,
    Compressor,
    Refusal,
    SearchQuery,
    extractive_summariser,
    find_unretired,
    load_viewer,
)

TOKENS_MAX: Final = 800  # about the 4,000 characters that a summary may have


class Compress(msgspec.Struct, frozen=True):
    """The memories to summarise. `temperature` is ignored: summaries are extractive."""

    ids: tuple[Id, ...]
    max_tokens: Annotated[int, Meta(ge=1)] = SUMMARY_BUDGET_TOKENS
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.0


class Consolidate(Compress, frozen=True):
    """The memories to summarise, and within which top results a search must find the summary."""

    recall_k: NonNegativeInt = 5


def compress(host: RpcHost, asked: Compress) -> dict[str, Any]:
    """Summarise several memories into one."""
    _check(host, asked)
    made = _compressor(host).compress(asked.ids, principal=host.actor, budget=_budget(asked))
    if isinstance(made, Refusal):
        raise _refusal_fault(made)
    with host.engine.reading() as reader:
        who = load_viewer(reader, host.actor)
        item = find_unretired(reader, who, made.summary_id)
        cited = consumer_count(reader, who, item)
    return {
        "id": item.item_id,
        "description": item.title,
        "derived_from": item.derived_from,
        "consumed_by_user_lessons": cited,
    }


def consolidate(host: RpcHost, asked: Consolidate) -> dict[str, Any]:
    """Summarise several memories into one, and retire the sources that nothing protects."""
    _check(host, asked)

    def found(text: str, number: int) -> list[str]:
        question = SearchQuery(text, limit=min(number, PAGE_MAX))
        return [hit.item.item_id for hit in search_as_host(host, question).hits]

    done = _compressor(host).consolidate(
        asked.ids, found, by=host.by, budget=_budget(asked), recall_k=asked.recall_k
    )
    if isinstance(done, Refusal):
        raise _refusal_fault(done)
    return {
        "mc_id": done.summary_id,
        "deleted": done.demoted if done.verified else (),
        "kept_immune": done.kept_immune,
        "verified": done.verified,
    }


def _check(host: RpcHost, asked: Compress) -> None:
    """Raise for the first memory that does not exist."""
    with host.engine.reading() as reader:
        who = load_viewer(reader, host.actor)
        for item_id in asked.ids:
            with not_found_subject(item_id):
                find_unretired(reader, who, item_id)


def _compressor(host: RpcHost) -> Compressor:
    return Compressor(host.engine.log, host.engine, extractive_summariser())


def _budget(asked: Compress) -> int:
    return min(asked.max_tokens, TOKENS_MAX)


def _refusal_fault(refusal: Refusal) -> RpcError:
    return RpcError(INVALID_PARAMS, f"invalid params: it was refused: {refusal.reason}")
