"""Bodies of the routes of worlds: characters, the situation, messages and what is known."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from everloop.interfaces.http.schemas.response import ResponseBody

LearnedVia = Literal["saw", "overheard", "told"]


class SheetOut(ResponseBody):
    """Who a character is."""

    name: str
    description: str
    personality: str
    scenario: str
    traits: list[str]
    voice_samples: list[str]
    greetings: list[str]
    nickname: str
    creator_notes: str
    instructions: str
    closing_instructions: str
    tags: list[str]


class CharacterOut(BaseModel):
    """A character of the library. `portrait` is the address of its picture, or empty."""

    character_id: str
    sheet: SheetOut
    portrait: str
    removed: bool
    since: datetime


class CastMemberOut(ResponseBody):
    """Someone of a world's cast. `portrait` is the address of a picture, or empty."""

    who: str
    name: str
    portrait: str


class WorldLineOut(ResponseBody):
    """A world in a list."""

    world_id: str
    title: str
    player_name: str
    archived: bool
    since: datetime
    cast: list[CastMemberOut]


class SlotOut(ResponseBody):
    """A spot in a place."""

    name: str
    capacity: int
    blocked: str


class PlaceOut(ResponseBody):
    """A place."""

    place_id: str
    name: str
    description: str
    slots: list[SlotOut]


class SceneNowOut(BaseModel):
    """The open scene."""

    scene_id: str
    number: int
    place: PlaceOut
    present: list[str]
    premise: str
    weather: str
    meanwhile: bool


class PersonOut(BaseModel):
    """Someone in a world: the player, or a character of the cast, and what they do and have."""

    who: str
    name: str
    portrait: str
    present: bool
    mood: str
    goals: list[str]
    status: str
    where: str
    whereabouts: str  # as it reads in a sentence: at the window, on the wall
    doing: str
    holding: list[str]
    belongings: list[str]
    attention: str
    expression: str


class EdgeOut(ResponseBody):
    """What one person feels towards another and knows of them."""

    affinity: int
    trust: int
    summary: str
    facts: list[str]


class TriggerOut(ResponseBody):
    """When a planned event is due."""

    at: str
    place_id: str
    present: list[str]


class StoryEventOut(BaseModel):
    """A story event that has not ended."""

    event_id: str
    title: str
    gist: str
    status: str
    known_to: list[str]
    trigger: TriggerOut


class PlotOut(BaseModel):
    """An open plot thread."""

    plot_id: str
    title: str
    summary: str
    known_to: list[str]


class StyleOut(ResponseBody):
    """How a world is told."""

    prose: str
    reply_tokens: int
    temperature: float
    own_prose_share: float
    card_instructions: bool


class AuthorNoteOut(ResponseBody):
    """The author's note, and how many messages from the end it stands."""

    text: str
    depth: int


class WorldTurnOut(ResponseBody):
    """The turn that has not ended."""

    turn_id: str
    message_id: str
    speaker: str
    phase: str
    text: str


class WorldOut(BaseModel):
    """The situation in a world. `names` has everyone who is or was in it."""

    world_id: str
    branch: str
    title: str
    player_name: str
    player_description: str
    clock: str
    archived: bool
    people: list[PersonOut]
    names: dict[str, str]
    scene: SceneNowOut | None
    scenes: int
    places: list[PlaceOut]
    edges: dict[str, EdgeOut]
    group: str
    events: list[StoryEventOut]
    plots: list[PlotOut]
    style: StyleOut
    note: AuthorNoteOut
    turn: WorldTurnOut | None
    newest: str
    elision_minutes_max: int


class PassageOut(ResponseBody):
    """A part of a message: something said, done, or said outside the story."""

    kind: Literal["speech", "action", "outside"]
    text: str


class StoryVersionOut(ResponseBody):
    """One version of a message."""

    version_id: str
    text: str
    model: str
    finish: str


class StoryMessageOut(ResponseBody):
    """A message of a story as it stands now."""

    message_id: str
    scene_id: str
    speaker: str
    position: int
    text: str
    passages: list[PassageOut]
    witnesses: list[str]
    addressee: str
    versions: list[StoryVersionOut]
    chosen: str
    hidden: bool
    edited: bool
    learned_via: dict[str, LearnedVia]


class StoryPageOut(BaseModel):
    """Messages in the order of the story, and whether there are earlier ones."""

    messages: list[StoryMessageOut]
    earlier: bool


class SceneSummaryOut(ResponseBody):
    """A closed scene as one witness saw it."""

    witness: str
    text: str
    learned: list[str]
    relationship: str


class SceneOut(ResponseBody):
    """A scene of a world."""

    scene_id: str
    number: int
    place_id: str
    place: str
    present: list[str]
    premise: str
    weather: str
    clock: str
    until: str
    reason: str
    digest: str
    is_open: bool
    is_meanwhile: bool
    summaries: list[SceneSummaryOut]


class CourseEntryOut(ResponseBody):
    """Something that happened in a world, besides messages."""

    position: int
    kind: Literal["scene", "skip", "event", "plot", "cast"]
    scene_id: str
    subject: str
    what: str
    text: str
    clock: str
    at: datetime


class AcquiredOut(ResponseBody):
    """An object of a finished event that someone keeps."""

    name: str
    holder: str


class EventRecordOut(ResponseBody):
    """A story event over its whole life."""

    event_id: str
    title: str
    gist: str
    status: str
    known_to: list[str]
    acquired: list[AcquiredOut]


class PlotRecordOut(ResponseBody):
    """A plot thread over its whole life; `closed_at` is 0 while it is open."""

    plot_id: str
    title: str
    summary: str
    known_to: list[str]
    closed_at: int
    outcome: str


class CourseOut(ResponseBody):
    """The course of a world: scenes, events and plot threads."""

    scenes: list[SceneOut]
    entries: list[CourseEntryOut]
    events: list[EventRecordOut]
    plots: list[PlotRecordOut]


class EdgeChangeOut(ResponseBody):
    """One change of an edge."""

    position: int
    edge: str
    affinity: int
    trust: int
    text: str


class RelationshipsOut(ResponseBody):
    """All edges at the end of a scene, and what changed in it."""

    scene_id: str
    number: int
    edges: dict[str, EdgeOut]
    group: str
    changes: list[EdgeChangeOut]


class PropOut(ResponseBody):
    """An object and what became of it."""

    prop_id: str
    name: str
    event_id: str
    event: str
    holder: str
    where: str
    state: Literal["present", "acquired", "gone"]
    moves: int
    ended: str


class KnownMessageOut(ResponseBody):
    """A line of the story, and how someone learned of it."""

    message_id: str
    speaker: str
    text: str
    learned_via: LearnedVia


class KnownSceneOut(ResponseBody):
    """What someone knows of a scene, and what they missed."""

    scene: SceneOut
    summary: SceneSummaryOut | None
    known: list[KnownMessageOut]
    missed: list[KnownMessageOut]


class OffstageOut(ResponseBody):
    """What someone lived through while the story skipped ahead."""

    text: str
    clock: str


class LoreOut(ResponseBody):
    """A lore entry."""

    entry_id: str
    title: str
    content: str
    keys: list[str]
    secondary_keys: list[str]
    constant: bool
    enabled: bool
    case_sensitive: bool
    regex: bool
    priority: int
    order: int
    recursive: bool
    audience: list[str]
    book: str


class KnowledgeOut(ResponseBody):
    """What one person of a world knows. Only the player is told what they missed."""

    who: str
    name: str
    scenes: list[KnownSceneOut]
    offstage: list[OffstageOut]
    events: list[EventRecordOut]
    plots: list[PlotRecordOut]
    edges: dict[str, EdgeOut]
    lore: list[LoreOut]


class SegmentOut(BaseModel):
    """A piece of a character's prompt; `left_out` says why it is not in it."""

    kind: str
    text: str
    tier: Literal["must", "should", "nice"]
    tokens: int
    reason: str
    left_out: str


class WithheldOut(ResponseBody):
    """Something in the world that a character is not told, and why."""

    kind: str
    text: str
    reason: str


class WorldPromptOut(BaseModel):
    """A character's prompt as it would be sent now, and what is withheld from it."""

    who: str
    name: str
    tokens: int
    soft: int
    hard: int
    segments: list[SegmentOut]
    withheld: list[WithheldOut]


class WorldBranchOut(ResponseBody):
    """A branch of a world."""

    branch: str
    parent: str
    at: int
    current: bool
    left_after: str
    newest: StoryMessageOut | None
    own: int


class SideOut(BaseModel):
    """One side of a comparison: its messages after the split, and how things are there."""

    branch: str
    messages: list[StoryMessageOut]
    clock: str
    place: str
    edges: dict[str, EdgeOut]
    moods: dict[str, str]
    holdings: dict[str, list[str]]


class WorldComparisonOut(BaseModel):
    """Two branches of a world from the point where they part."""

    shared: StoryMessageOut | None
    first: SideOut
    second: SideOut


class RequestedOut(BaseModel):
    """What was written, and the reply that was requested; without `turn_id`, none was."""

    written: str
    turn_id: str
    message_id: str
    speaker: str


class ImportNoteOut(ResponseBody):
    """What became of something in an imported file."""

    what: Literal["kept", "changed", "dropped", "asked"]
    subject: str
    reason: str


class CastQuestionOut(ResponseBody):
    """A group with more characters than a world has room for."""

    group: str
    names: list[str]
    room: int


class WorldImportOut(ResponseBody):
    """What an import came to, with a report of what was kept, changed and dropped."""

    import_id: str
    position: int
    source: str
    name: str
    characters: list[str]
    worlds: list[str]
    books: list[str]
    messages: int
    notes: list[ImportNoteOut]
    questions: list[CastQuestionOut]


class OpeningOut(BaseModel):
    """A proposal for how a world begins. `more` are characters that there is no room for."""

    title: str
    player_name: str
    player_description: str
    clock: str
    place: PlaceOut
    characters: list[str]
    premise: str
    weather: str
    met: str
    more: list[str]
    read_by: str
