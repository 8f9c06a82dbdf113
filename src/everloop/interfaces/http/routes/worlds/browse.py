"""Routes that look at a world: its course, relationships, props, knowledge, prompts, branches."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.scenes import BranchName
from everloop.interfaces.http.schemas.worlds import (
    CourseOut,
    EdgeOut,
    KnowledgeOut,
    PropOut,
    RelationshipsOut,
    SegmentOut,
    SideOut,
    StoryMessageOut,
    WithheldOut,
    WorldBranchOut,
    WorldComparisonOut,
    WorldPromptOut,
)
from everloop.worlds import (
    Condition,
    InspectedPrompt,
    Segment,
    StoryMessage,
    Tier,
    World,
    compare_world_branches,
    course_of,
    edges_of,
    knowledge_of,
    prop_ledger,
    relationship_history,
    world_branches,
)

router = APIRouter(prefix="/api/worlds/{world_id}", responses=ERROR_RESPONSES, tags=["worlds"])

TIERS: dict[Tier, Literal["must", "should", "nice"]] = {
    Tier.MUST: "must",
    Tier.SHOULD: "should",
    Tier.NICE: "nice",
}
Branch = Annotated[str, Query(max_length=300)]


@router.get("/course")
def course(world_id: str, deps: Deps, branch: BranchName = None) -> CourseOut:
    """The course of a world: scenes with their summaries, events and plot threads."""
    world = deps.engine.worlds.world(world_id, branch)
    with deps.engine.reading(branch=branch) as reader:
        return CourseOut.model_validate(course_of(reader, world_id, world))


@router.get("/relationships")
def relationships(world_id: str, deps: Deps, branch: BranchName = None) -> list[RelationshipsOut]:
    """What each felt towards each other, scene by scene; the last is how it is now."""
    deps.engine.worlds.world(world_id, branch)
    with deps.engine.reading(branch=branch) as reader:
        found = relationship_history(reader, world_id)
    return [RelationshipsOut.model_validate(one) for one in found]


@router.get("/props")
def props(world_id: str, deps: Deps, branch: BranchName = None) -> list[PropOut]:
    """Every object of the story and what became of it."""
    deps.engine.worlds.world(world_id, branch)
    with deps.engine.reading(branch=branch) as reader:
        return [PropOut.model_validate(one) for one in prop_ledger(reader, world_id)]


@router.get("/people/{who}/knowledge")
def knowledge(world_id: str, who: str, deps: Deps, branch: BranchName = None) -> KnowledgeOut:
    """What someone knows, by scene, with how they learned it, and what they missed."""
    world = deps.engine.worlds.world(world_id, branch)
    with deps.engine.reading(branch=branch) as reader:
        story = course_of(reader, world_id, world)
        return KnowledgeOut.model_validate(knowledge_of(reader, world_id, world, story, who))


@router.get("/people/{who}/prompt")
def prompt(world_id: str, who: str, deps: Deps) -> WorldPromptOut:
    """The prompt for a character's next reply, and what the character is not allowed to see."""
    return _prompt(deps.engine.worlds.inspect(world_id, who))


@router.get("/branches")
def branches(world_id: str, deps: Deps) -> list[WorldBranchOut]:
    """The branches of a world."""
    found = world_branches(deps.engine.log, world_id)
    return [WorldBranchOut.model_validate(one) for one in found]


@router.get("/branches/compare")
def compare(world_id: str, first: Branch, second: Branch, deps: Deps) -> WorldComparisonOut:
    """Two branches side by side from where they part: what was said, and how things are."""
    found = compare_world_branches(deps.engine.log, world_id, first, second)
    return WorldComparisonOut(
        shared=StoryMessageOut.model_validate(found.shared) if found.shared else None,
        first=_side(first, found.first, found.first_world),
        second=_side(second, found.second, found.second_world),
    )


def _prompt(found: InspectedPrompt) -> WorldPromptOut:
    fitted = found.made.fitted
    kept = [_segment(one, "") for one in fitted.kept]
    dropped = [_segment(one.segment, one.why) for one in fitted.dropped]
    return WorldPromptOut(
        who=found.who,
        name=found.name,
        tokens=fitted.tokens,
        soft=found.limits.soft,
        hard=found.limits.hard,
        segments=[*kept, *dropped],
        withheld=[WithheldOut.model_validate(one) for one in found.withheld],
    )


def _segment(segment: Segment, left_out: str) -> SegmentOut:
    return SegmentOut(
        kind=segment.kind,
        text=segment.text,
        tier=TIERS[segment.tier],
        tokens=segment.tokens,
        reason=segment.reason,
        left_out=left_out,
    )


def _side(branch: str, messages: tuple[StoryMessage, ...], world: World) -> SideOut:
    place = world.places.get(world.scene.place_id) if world.scene else None
    return SideOut(
        branch=branch,
        messages=[StoryMessageOut.model_validate(one) for one in messages],
        clock=world.clock,
        place=place.name if place else "",
        edges={key: EdgeOut.model_validate(edge) for key, edge in edges_of(world).items()},
        moods={who: world.conditions.get(who, Condition()).mood for who in world.people},
        holdings={who: list(world.holding(who)) for who in world.people},
    )
