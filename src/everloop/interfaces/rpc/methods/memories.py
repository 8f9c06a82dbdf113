"""`memory.*` methods: create, search, get, list, update and delete."""

from typing import Any, Final

import msgspec

from everloop.errors import Forbidden, Invalid, NotFound
from everloop.interfaces.rpc.errors import MEMORY_IMMUNE, RpcError
from everloop.interfaces.rpc.host import RpcHost
from everloop.interfaces.rpc.shapes import (
    PAGE_MAX,
    PAGE_SIZE,
    Id,
    NonEmptyText,
    NonNegativeInt,
    OriginParams,
    Scope,
    ScopeFilter,
    origin_json,
    page_json,
    parse_origin,
    parse_scope,
    parse_scope_filter,
    preview,
    scope_json,
    time_json,
)
from everloop.lessons import visible_citer_names
from everloop.log import Reader
from everloop.memory import (
    Item,
    RememberItem,
    RetireItem,
    ReviseItem,
    SearchHit,
    SearchMode,
    SearchQuery,
    SearchResult,
    Viewer,
    citation_counts,
    find_item,
    find_unretired,
    load_viewer,
    page_by_id,
    revised_at,
    user_citers,
    visible_citers,
)

SOURCE_NAMES: Final = {"words": "text", "meaning": "semantic", "both": "both"}
LEARNED_VIA_BY_AUTHOR: Final = {"user": "told", "pack": "imported"}  # any other author inferred it


class Create(msgspec.Struct, frozen=True):
    """A memory to create."""

    description: NonEmptyText
    content: NonEmptyText
    scope: Scope = "user"
    origin: OriginParams = OriginParams()
    authored_by: str = "agent"


class Search(msgspec.Struct, frozen=True):
    """A search query."""

    query: NonEmptyText
    limit: NonNegativeInt = 5
    include_body: bool = False
    scope_filter: ScopeFilter | None = None
    mode: SearchMode = "semantic"
    min_similarity: float = 0.0


class MemoryById(msgspec.Struct, frozen=True):
    """Which memory."""

    id: Id


class List(msgspec.Struct, frozen=True):
    """Which page of which memories."""

    scope_filter: ScopeFilter | None = None
    limit: NonNegativeInt = PAGE_SIZE
    offset: NonNegativeInt = 0


class Update(msgspec.Struct, frozen=True):
    """Changes to a memory; absent fields stay as they are."""

    id: Id
    description: NonEmptyText | None = None
    content: NonEmptyText | None = None
    scope: Scope | None = None


class Delete(msgspec.Struct, frozen=True):
    """Which memory to delete."""

    id: Id
    force: bool = False


def create(host: RpcHost, asked: Create) -> dict[str, Any]:
    """Create a memory, or return the existing one if it is a duplicate."""
    scope = host.check_scope_access(parse_scope(asked.scope))
    kept = host.engine.memory.remember(
        RememberItem(
            item_id="",
            text=asked.content,
            title=asked.description,
            scope=scope,
            origin=parse_origin(asked.origin),
            learned_via=LEARNED_VIA_BY_AUTHOR.get(asked.authored_by, "inferred"),
            happened_at=asked.origin.written_at or "",
        ),
        by=host.by,
    )
    with host.engine.reading() as reader:
        item = find_item(reader, load_viewer(reader, host.actor), kept.item_id)
    return {**_brief(item), "created_at": time_json(item.recorded_at)}


def search(host: RpcHost, asked: Search) -> dict[str, Any]:
    """The memories that match best. Falls back to keyword search, and says so in `notes`."""
    question = SearchQuery(
        asked.query,
        limit=min(asked.limit, PAGE_MAX),
        mode=asked.mode,
        only=parse_scope_filter(asked.scope_filter),
        min_similarity=min(1.0, max(0.0, asked.min_similarity)),
    )
    answer = search_as_host(host, question)
    results = [_hit(hit, whole=asked.include_body) for hit in answer.hits]
    found: dict[str, Any] = {"query": asked.query, "returned": len(results), "results": results}
    return {**found, "notes": answer.notes} if answer.notes else found


def search_as_host(host: RpcHost, question: SearchQuery) -> SearchResult:
    """Search as a host, after embedding the items that lack vectors."""
    if question.mode != "text":
        host.embed_missing()
    return host.engine.memory.recall(host.actor, question)


def get(host: RpcHost, asked: MemoryById) -> dict[str, Any]:
    """One memory in full."""
    with host.engine.reading() as reader:
        who = load_viewer(reader, host.actor)
        item = find_unretired(reader, who, asked.id)
        cited = consumer_count(reader, who, item)
    return {
        **_brief(item),
        "content": item.text,
        "created_at": time_json(item.recorded_at),
        "consumed_by_user_lessons": cited,
        "derived_from": item.derived_from,
    }


def consumer_count(reader: Reader, who: Viewer, item: Item) -> int:
    """How many links of users' lessons and skills a memory has; a summary has those of its sources.

    Only links that the host may see count.
    """
    names = [item.item_id, *item.derived_from]
    counts = citation_counts(reader, who, names, visible_citer_names)
    return sum(counted.by_user for counted in counts.values())


def list_memories(host: RpcHost, asked: List) -> dict[str, Any]:
    """One page of memories, by id."""
    limit = min(asked.limit, PAGE_MAX)
    with host.engine.reading() as reader:
        who = load_viewer(reader, host.actor)
        wanted = parse_scope_filter(asked.scope_filter)
        seen, total = page_by_id(reader, who, wanted, limit=limit, offset=asked.offset)
        changed = revised_at(reader, seen)
        cited = citation_counts(reader, who, [item.item_id for item in seen], visible_citer_names)
    results = [
        {
            **_brief(item),
            "created_at": time_json(item.recorded_at),
            "updated_at": time_json(changed[item.item_id]),
            "consumed_by_user_lessons": cited[item.item_id].by_user,
        }
        for item in seen
    ]
    return page_json(results, total=total, limit=limit, offset=asked.offset)


def update(host: RpcHost, asked: Update) -> dict[str, Any]:
    """Edit a memory's text or scope."""
    if asked.description is None and asked.content is None and asked.scope is None:
        raise Invalid("there is nothing to change", hint="Give description, content or scope.")
    scope = None if asked.scope is None else host.check_scope_access(parse_scope(asked.scope))
    with host.engine.reading() as reader:
        find_unretired(reader, load_viewer(reader, host.actor), asked.id)
    _do_unless_immune(host, ReviseItem(asked.id, asked.description, asked.content, scope), asked.id)
    with host.engine.reading() as reader:
        item = find_item(reader, load_viewer(reader, host.actor), asked.id)
        changed = revised_at(reader, [item])[asked.id]
    times = {"created_at": time_json(item.recorded_at), "updated_at": time_json(changed)}
    return {"ok": True, **_brief(item), **times}


def delete(host: RpcHost, asked: Delete) -> dict[str, Any]:
    """Retire a memory. Idempotent; an unknown id is not an error."""
    result = {"ok": True, "id": asked.id, "forced": asked.force}
    with host.engine.reading() as reader:
        try:
            find_unretired(reader, load_viewer(reader, host.actor), asked.id)
        except NotFound:
            return result
    _do_unless_immune(host, RetireItem(asked.id, "", asked.force), asked.id)
    return result


def _do_unless_immune(host: RpcHost, command: ReviseItem | RetireItem, item_id: str) -> None:
    try:
        host.do(command)
    except Forbidden as problem:
        with host.engine.reading() as reader:
            who, citers = load_viewer(reader, host.actor), user_citers(reader, item_id)
            cited_by = len(visible_citers(reader, who, citers, visible_citer_names))
        data = {"memory_id": item_id, "cited_by": cited_by, "hint": problem.hint}
        raise RpcError(MEMORY_IMMUNE, str(problem), data) from problem


def _brief(item: Item) -> dict[str, Any]:
    brief = {
        "id": item.item_id,
        "description": item.title,
        "scope": scope_json(item.scope),
        "origin": origin_json(item),
    }
    return {**brief, "revised_by": item.revised_by} if item.revised_by else brief


def _hit(hit: SearchHit, *, whole: bool) -> dict[str, Any]:
    return {
        "kind": "memory",
        "id": hit.item.item_id,
        "description": hit.item.title,
        "body_preview": preview(hit.item.text, whole=whole),
        "similarity": round(hit.similarity, 3),
        "source": SOURCE_NAMES.get(hit.source, "text"),
    }
