"""The lessons domain, as the engine knows it: lessons, crew, feedback and capture."""

from everloop.domain import Deciders, Domain, Policy
from everloop.lessons.capture.deciders import CAPTURE_DECIDERS
from everloop.lessons.crew.deciders import CREW_DECIDERS
from everloop.lessons.crew.projection import CrewTable
from everloop.lessons.deciders import LESSON_DECIDERS, gate_decider
from everloop.lessons.feedback.deciders import FEEDBACK_DECIDERS
from everloop.lessons.feedback.projection import SessionManifestTable
from everloop.lessons.model.commands import DemoteLesson
from everloop.lessons.policies import when_memory_retired_demote_lessons
from everloop.lessons.projections.gate_rules import GateRulesTable
from everloop.lessons.projections.hosts import HeardWordsTable, HostTrustTable, PhaseTable
from everloop.lessons.projections.lessons import LessonFtsIndex, LessonSignals, LessonTable
from everloop.lessons.settings import LessonSettings
from everloop.memory.model.events import Retired


def _configured(settings: LessonSettings) -> Deciders:
    return (gate_decider(settings),)


LESSONS = Domain(
    "lessons",
    (*LESSON_DECIDERS, *CREW_DECIDERS, *FEEDBACK_DECIDERS, *CAPTURE_DECIDERS),
    (
        LessonTable,
        LessonSignals,
        LessonFtsIndex,
        GateRulesTable,
        HostTrustTable,
        HeardWordsTable,
        PhaseTable,
        SessionManifestTable,
        CrewTable,
    ),
    (Policy("demote-lessons", Retired, DemoteLesson, when_memory_retired_demote_lessons),),
    _configured,
)
