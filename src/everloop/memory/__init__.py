"""Memory: items, who may see them, and a recall that finds them and says why."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.memory.background import EmbeddingTask
    from everloop.memory.browse.queries import (
        Grant,
        ItemHistory,
        current_grants,
        item_history,
        items_with_ids,
        page_by_id,
        page_by_time,
        resolve_item,
        revised_at,
        short_id,
    )
    from everloop.memory.browse.scopes_in_use import scope_has_items, visible_scopes
    from everloop.memory.browse.snippet import snippet
    from everloop.memory.explain import (
        BOOST_REASONS,
        SearchGate,
        SearchPath,
        explain_item,
        resolve_id,
    )
    from everloop.memory.idempotent_requests import MEMORY_TRACES, remember_once
    from everloop.memory.markdown.folder import (
        AppliedChange,
        ImportPlan,
        PageChange,
        PageFile,
        PageProblem,
        apply_change,
        plan_import,
    )
    from everloop.memory.markdown.page import (
        PageContent,
        fill_missing_fields,
        guess_id,
        page_content,
        page_digest,
        parse_page,
        render_page,
    )
    from everloop.memory.model.commands import (
        GrantAudience,
        PinItem,
        RateItem,
        RememberItem,
        RetireItem,
        ReviseItem,
        RevokeAudience,
        UnpinItem,
    )
    from everloop.memory.model.decide import DURABLE, check_time, validate_new_item
    from everloop.memory.model.events import PIVOTAL, Origin, PinGaveWay
    from everloop.memory.model.scopes import OWNER, WORLD_PREFIX, Viewer, check_scope
    from everloop.memory.projections.citations import (
        CitationLink,
        citation_counts,
        open_citations,
        user_citers,
        visible_citers,
    )
    from everloop.memory.projections.queries import Filter, Item, find_item, load_viewer
    from everloop.memory.retrieval.grouping import ContradictionGroup, group_contradictions
    from everloop.memory.retrieval.results import (
        NO_MATCH,
        RankExplanation,
        SearchHit,
        SearchMode,
        SearchQuery,
        SearchResult,
    )
    from everloop.memory.service import RememberResult
    from everloop.memory.summaries.compress import SUMMARY_BUDGET_TOKENS, Compressor, Refusal
    from everloop.memory.summaries.extractive import extractive_summariser
    from everloop.memory.summaries.zoom import ZoomedItem, find_unretired, zoom
    from everloop.memory.time_query.english import day_first_reading
    from everloop.memory.time_query.expressions import find_dates, parse_ago
    from everloop.memory.time_query.intervals import midnight

__all__ = [
    "BOOST_REASONS",
    "DURABLE",
    "MEMORY_TRACES",
    "NO_MATCH",
    "OWNER",
    "PIVOTAL",
    "SUMMARY_BUDGET_TOKENS",
    "WORLD_PREFIX",
    "AppliedChange",
    "CitationLink",
    "Compressor",
    "ContradictionGroup",
    "EmbeddingTask",
    "Filter",
    "Grant",
    "GrantAudience",
    "ImportPlan",
    "Item",
    "ItemHistory",
    "Origin",
    "PageChange",
    "PageContent",
    "PageFile",
    "PageProblem",
    "PinGaveWay",
    "PinItem",
    "RankExplanation",
    "RateItem",
    "Refusal",
    "RememberItem",
    "RememberResult",
    "RetireItem",
    "ReviseItem",
    "RevokeAudience",
    "SearchGate",
    "SearchHit",
    "SearchMode",
    "SearchPath",
    "SearchQuery",
    "SearchResult",
    "UnpinItem",
    "Viewer",
    "ZoomedItem",
    "apply_change",
    "check_scope",
    "check_time",
    "citation_counts",
    "current_grants",
    "day_first_reading",
    "explain_item",
    "extractive_summariser",
    "fill_missing_fields",
    "find_dates",
    "find_item",
    "find_unretired",
    "group_contradictions",
    "guess_id",
    "item_history",
    "items_with_ids",
    "load_viewer",
    "midnight",
    "open_citations",
    "page_by_id",
    "page_by_time",
    "page_content",
    "page_digest",
    "parse_ago",
    "parse_page",
    "plan_import",
    "remember_once",
    "render_page",
    "resolve_id",
    "resolve_item",
    "revised_at",
    "scope_has_items",
    "short_id",
    "snippet",
    "user_citers",
    "validate_new_item",
    "visible_citers",
    "visible_scopes",
    "zoom",
]

__getattr__ = lazy_exports(__name__, __file__)
