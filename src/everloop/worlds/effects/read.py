"""Asking a model to read play: prompts that show exactly what those concerned witnessed."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from everloop.completion import Declined, generate_structured, text_message
from everloop.errors import ModelFailed
from everloop.ports import Model, Params, Prompt
from everloop.worlds.message_parsing import told_text
from everloop.worlds.model.checks import display_name
from everloop.worlds.model.state import Scene, World
from everloop.worlds.queries import StoryMessage
from everloop.worlds.settings import WorldSettings

T = TypeVar("T")

ReadingModel = Callable[[], Model | None]
NEWEST_CHARS = 12_000  # of the lines that are read: about 3,000 tokens, so all fits into 4,000
EARLIER_CHARS = 1_500  # of those before them
CUT = " […] "
TURN = """\
You keep the state of a story. From the newest lines, note what changed, and nothing that did not.
Name people by their names. Leave out what is empty.
`gist`: one sentence of what happened, without quoting, with every name, number and promise that
matters later. `significance`: 0 routine, 1 notable, 2 significant, 3 pivotal.
`feelings`: small steps from -10 to 10.
`events`: only happenings with a beginning and an end, such as a picnic or a departure; `keeps` are
objects that someone takes home. `props`: objects of such an event.
`plots`: open questions, promises, secrets. `entered` and `left`: who came or went.
`could_not_hear`: who was there and could not hear the newest line.
`interjects`: a silent character who would now speak unasked; usually nobody.
`scene_over`: why the scene has ended; usually empty."""
SCENE = """\
You are {name}. Sum up this scene as {name} saw it, in two to four sentences, in the third person,
past tense, without quotes and without stage properties that no longer matter.
`learned`: facts that {name} knows since then. `relationships`: for each person, one or two
sentences on what {name} now thinks of them, and what {name} knows of them."""
GROUP = "What are these people to each other now? Answer in one or two sentences, without quotes."
OFFSTAGE = """\
Time passed in a story: {span}. Write one or two sentences, past tense, on what {name} did
meanwhile. Use only what {name} knows, which is below. Nothing dramatic; nobody else learns of
it."""


class Readings:
    """Reads with the model that is at hand; None where there is none, or it failed."""

    def __init__(self, model: ReadingModel, settings: WorldSettings) -> None:
        self._model, self._settings = model, settings

    @property
    def available(self) -> bool:
        """Whether a model reads at all."""
        return self._settings.extraction == "model" and self._model() is not None

    @property
    def name(self) -> str:
        """The name of the model that reads."""
        model = self._model()
        return model.name if model else "rules"

    def ask(self, system: str, text: str, type_: type[T]) -> T:
        """What a model reads from a text.

        Raises:
            ModelFailed: it gave no usable answer, or declined.
        """
        model = self._model()
        if model is None:
            raise ModelFailed("no language model is connected", hint="Connect one in Settings.")
        prompt = Prompt((text_message("user", text),), system)
        settings = self._settings
        params = Params(
            tokens_max=settings.extraction_tokens_max,
            timeout_s=settings.extraction_timeout_s,
            timeout_setting="worlds.extraction_timeout_s",
            temperature=0.0,
        )
        found = generate_structured(
            model, prompt, type_, tries=settings.extraction_tries, params=params
        )
        if isinstance(found, Declined):
            raise ModelFailed(f"{model.name} declined: {found.reason}", hint="Try again.")
        return found


def turn_text(
    world: World,
    witnesses: Collection[str],
    before: Sequence[StoryMessage],
    read: Sequence[StoryMessage],
) -> str:
    """The situation and the lines, for reading a turn that these people witnessed.

    The situation now is shown only to those who are in it, and only for lines of the open scene.
    """
    situation = [f"People: {', '.join(display_name(world, who) for who in world.people)}."]
    scene = world.scene
    here = scene is not None and all(one.scene_id == scene.scene_id for one in read)
    if scene is not None and here and set(witnesses) <= set(scene.present):
        situation += _situation(world, scene)
    events = [
        f"{one.title} ({one.status})"
        for one in world.events.values()
        if set(witnesses) <= set(one.known_to)
    ]
    if events:
        situation.append(f"Events: {'; '.join(events)}.")
    earlier = "\n".join(cut_lines(script(world, before), EARLIER_CHARS))
    newest = "\n".join(cut_lines(script(world, read), NEWEST_CHARS))
    parts = ["\n".join(situation), f"Earlier:\n{earlier}" if earlier else "", f"Newest:\n{newest}"]
    return "\n\n".join(part for part in parts if part)


def _situation(world: World, scene: Scene) -> Iterator[str]:
    """Where everyone in the open scene is, and what they do and hold."""
    place = world.places.get(scene.place_id)
    there = ", ".join(display_name(world, who) for who in scene.present)
    yield f"Place: {place.name if place else 'unknown'}. Present: {there}."
    if place is not None and place.slots:
        yield f"Spots there: {', '.join(slot.name for slot in place.slots)}."
    for who, activity in world.activities.items():
        told = ", ".join(filter(None, (activity.where, activity.doing, *activity.holding)))
        if told:
            yield f"{display_name(world, who)}: {told}."


def script(world: World, messages: Sequence[StoryMessage]) -> list[str]:
    """Messages as lines, without what was said outside the story."""
    return [
        f"{display_name(world, one.speaker)}: {text}"
        for one in messages
        if (text := told_text(one.passages))
    ]


def cut_lines(lines: Sequence[str], most: int) -> list[str]:
    """Lines of at most so many characters in all; the longest ones go without their middle."""
    left, share = most, most
    for number, length in enumerate(sorted(map(len, lines))):
        share = max(0, left) // (len(lines) - number)
        if length > share:
            break
        left -= length
    half = max(1, (share - len(CUT)) // 2)
    return [one if len(one) <= share else f"{one[:half]}{CUT}{one[-half:]}" for one in lines]
