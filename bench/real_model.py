"""What a real language model makes of our prompts: `python -m bench.real_model --url URL`.

Twenty questions after forty messages, summaries of six days, six readings of feedback, two
narratives and an evening in a world, in an engine in a temporary home. Nothing is asserted: the
figures are printed, so that a change of a prompt can be compared. The last line is one JSON object.
Without a server at the URL it says so and ends well. Any OpenAI-compatible server will do; a small
one from the package index can be served as docs/models.md says.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from bench.real_model_material import DAYS, NARRATIVES, QUESTIONS, READINGS, TOLD
from bench.real_model_world import LINES, play_evening
from everloop.adapters.models.discovery import choose_model, discover_models
from everloop.adapters.models.fallback import FallbackModel
from everloop.app import USER, Engine
from everloop.completion import Declined
from everloop.errors import EverloopError
from everloop.lessons.feedback.classifier import classify
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.feedback.turns import CandidateLesson, UserTurn
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.narrative_writer import write_narrative
from everloop.lessons.settings import LessonSettings
from everloop.model_settings import ModelSettings
from everloop.services import Services
from everloop.settings import Settings
from everloop.thread.model.calendar_windows import window_containing
from everloop.thread.model.commands import HOME, BeginImport, ImportMessages
from everloop.thread.model.events import AnswerGiven, MessageImported, ToolUsed, TurnFailed
from everloop.thread.pyramid.summarise import model_summariser
from everloop.thread.service import OutgoingMessage
from everloop.thread.settings import ThreadSettings
from everloop.turns.settings import TurnSettings
from everloop.usage.events import ModelCalled

URL = "http://127.0.0.1:8080/v1"
SUMMARY_TOKENS = 300
SILENCE_S = 1_800.0
Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programme and print its figures."""
    asked = _parser().parse_args(arguments)
    models = ModelSettings(llamacpp_url=asked.url, timeout_s=SILENCE_S, search_s=5.0)
    found = [one.name for one in discover_models(models) if one.name.startswith("llamacpp:")]
    if not found:
        sys.stdout.write(f"skipped: no model is served at {asked.url} (docs/models.md says how)\n")
        return 0
    models = msgspec.structs.replace(models, narrative=found[0])
    model = choose_model(models, "narrative")
    figures: Figures = {"model": found[0], "window": model.context_window()}
    for name, act in _programme(models, model, asked).items():
        began = perf_counter()
        try:
            figures[name] = act()
        except EverloopError as problem:
            figures[name] = {"failed": f"{problem} {problem.hint}".strip()}
        figures[name]["seconds"] = round(perf_counter() - began, 1)
        sys.stdout.write(f"{name}: {msgspec.json.encode(figures[name]).decode()}\n")
        sys.stdout.flush()
    sys.stdout.write(msgspec.json.encode(figures).decode() + "\n")
    return 0


def _programme(
    models: ModelSettings, model: FallbackModel, asked: argparse.Namespace
) -> dict[str, Callable[[], Figures]]:
    return {
        "questions": lambda: _questions(models, asked.questions),
        "summaries": lambda: _summaries(model, asked.days),
        "feedback": lambda: _feedback(model, asked.readings),
        "narratives": lambda: _narratives(model, asked.narratives),
        "evening": lambda: play_evening(models, asked.lines),
    }


# -- questions -------------------------------------------------------------------------------------


def _questions(models: ModelSettings, count: int) -> Figures:
    """Questions after forty messages: right answers, time to the first word, cache, estimate."""
    answer = TurnSettings(tokens_max=200, silence_s=SILENCE_S)
    thread = ThreadSettings(answer=answer, significance="rules")
    settings = Settings(models=models, thread=thread)
    figures: Figures = {"asked": count, "right": 0, "claims": 0, "tools": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder), settings=settings) as e:
        running = Services(e, settings)
        running.talk.home_thread(USER)
        _tell(e)
        running.remembering.remember()
        e.memory.embed_missing()
        running.turns.start()
        firsts: list[float] = []
        for question, *right in QUESTIONS[:count]:
            text, first_s = _ask(running, question, figures)
            firsts.append(first_s)
            figures["right"] += any(one.lower() in text.lower() for one in right)
        running.turns.stop()
        calls = [fact.event for fact in e.log.read("models")]
    spent = [one for one in calls if isinstance(one, ModelCalled) and one.purpose == "answer"]
    read, cached = sum(one.tokens_in for one in spent), sum(one.tokens_cached for one in spent)
    figures["first_word_s"] = [round(one, 1) for one in firsts]
    figures["tokens_in"] = read
    figures["cached"] = round(cached / max(1, read), 3)
    return figures


def _tell(engine: Engine) -> None:
    """Forty messages over the last ten days, half of them facts told in passing."""
    now = engine.ports.clock.now()
    engine.do(BeginImport(HOME, "imp", "bench", "bench"))
    said = [
        MessageImported(
            HOME,
            f"msg-{number}",
            "user" if number % 2 == 0 else "assistant",
            text,
            (now - timedelta(hours=6 * (len(TOLD) - number))).isoformat(),
            "me",
            str(number),
            (),
        )
        for number, text in enumerate(TOLD)
    ]
    engine.do(ImportMessages(HOME, "imp", tuple(said)))


def _ask(running: Services, question: str, figures: Figures) -> tuple[str, float]:
    """The answer to a question, and how long its first word took."""
    log, arrived, began = running.engine.log, list[float](), perf_counter()
    leave = running.turns.live.watch(lambda _: arrived.append(perf_counter() - began))
    head = log.head
    sent = running.talk.send(HOME, OutgoingMessage(question), USER)
    text = ""
    for fact in log.follow(after=head, stop=threading.Event()):
        match fact.event:
            case ToolUsed(call_id="claimed"):
                figures["claims"] += 1
            case ToolUsed():
                figures["tools"] += 1
            case AnswerGiven(turn_id=sent.turn_id, text=text):
                break
            case TurnFailed(turn_id=sent.turn_id):
                figures["failed"] += 1
                break
            case _:
                pass
    leave()
    running.remembering.remember()
    return text, arrived[0] if arrived else perf_counter() - began


# -- summaries, feedback, narratives ---------------------------------------------------------------


def _summaries(model: FallbackModel, count: int) -> Figures:
    """Summaries of days: how many of the facts said are in them."""
    figures: Figures = {"days": count, "facts": 0, "kept": 0, "declined": 0, "titles": []}
    summarise = model_summariser(lambda: model)
    first = datetime(2026, 5, 11, tzinfo=UTC)
    for number, (lines, facts) in enumerate(DAYS[:count]):
        day = first + timedelta(days=number)
        dated = [f"{day:%Y-%m-%d} {10 + at}:00 {line}" for at, line in enumerate(lines)]
        gist = summarise(window_containing(day.date(), "day"), dated, SUMMARY_TOKENS)
        figures["facts"] += len(facts)
        if isinstance(gist, Declined):
            figures["declined"] += 1
            continue
        figures["titles"].append(gist.title)
        figures["kept"] += sum(fact.lower() in gist.text.lower() for fact in facts)
    return figures


def _feedback(model: FallbackModel, count: int) -> Figures:
    """Readings of feedback: how many are read as a person would."""
    figures: Figures = {"read": count, "right": 0, "readings": []}
    lessons = (
        CandidateLesson("les-1", "Run the tests before saying that something works."),
        CandidateLesson("les-2", "Answer in short sentences."),
    )
    for number, (text, expected) in enumerate(READINGS[:count]):
        reading, _ = classify(model, UserTurn(f"t-{number}", text, shown=lessons), _LIMITS)
        polarities = {one.polarity for one in reading.opinions} - {"neutral"}
        said = "none" if reading.abstain or len(polarities) != 1 else polarities.pop()
        figures["readings"].append([text, said])
        figures["right"] += said == expected
    return figures


def _narratives(model: FallbackModel, count: int) -> Figures:
    """Narratives: which confidence each got, and whether that is one of those expected."""
    figures: Figures = {"written": count, "right": 0, "confidences": []}
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder)) as engine:
        for number, (lesson, excerpts, expected) in enumerate(NARRATIVES[:count]):
            engine.do(ProposeLesson(f"les-{number}", *lesson))
            view = engine.lessons.find("user", f"les-{number}")
            try:
                made = write_narrative(model, view, list(excerpts), LessonSettings())
            except EverloopError as problem:
                figures["confidences"].append(str(problem))
                continue
            confidence = "declined" if isinstance(made, Declined) else made.confidence
            figures["confidences"].append(confidence)
            figures["right"] += confidence in expected
    return figures


_LIMITS = FeedbackSettings()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.real_model", description=__doc__)
    parser.add_argument("--url", default=URL, help="address of the server, with /v1")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS))
    parser.add_argument("--days", type=int, default=len(DAYS))
    parser.add_argument("--readings", type=int, default=len(READINGS))
    parser.add_argument("--narratives", type=int, default=len(NARRATIVES))
    parser.add_argument("--lines", type=int, default=len(LINES))
    return parser


if __name__ == "__main__":
    sys.exit(main())
