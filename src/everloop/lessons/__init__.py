"""Lessons: rules that agents propose, the promotion gate, and the manifest that hosts are shown."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.lessons.capture.entries import CaptureProblem, project_scope
    from everloop.lessons.capture.service import (
        CAPTURE_ACTOR,
        CaptureReport,
        CaptureService,
        ProposedEntry,
    )
    from everloop.lessons.citers import visible_citer_names
    from everloop.lessons.crew.commands import (
        ActivateEntry,
        ArchiveEntry,
        EnlistEntry,
        RemoveEntry,
        ReviseEntry,
    )
    from everloop.lessons.crew.events import Persona, Profile, Skill, Sort, Team
    from everloop.lessons.crew.fields import normalise_names
    from everloop.lessons.crew.pack import Pack, PackEntry
    from everloop.lessons.crew.queries import EntrySummary, FullEntry
    from everloop.lessons.crew.service import EntryResult, PackResult
    from everloop.lessons.crew.validation import parse_member
    from everloop.lessons.decide.lesson import ReplacementRefused
    from everloop.lessons.gate.checks import GateCheck
    from everloop.lessons.gate.evidence import parse_evidence
    from everloop.lessons.gate.standing import GateResult
    from everloop.lessons.import_loop_engine import (
        LOOP_ENGINE_HOST,
        HomeImport,
        HomeReport,
        LoopEngineHome,
    )
    from everloop.lessons.lesson_ids import content_lesson_id
    from everloop.lessons.manifest.manifest import (
        Manifest,
        ManifestLesson,
        ManifestMemory,
        ManifestRequest,
        single_line,
    )
    from everloop.lessons.model.commands import (
        DiscardLesson,
        EditLesson,
        GiveFeedback,
        LogPhase,
        ProposeLesson,
        RecordVerdict,
        SupersedeLesson,
        UseLesson,
        WithdrawFeedback,
    )
    from everloop.lessons.model.events import Evidence, MemoryEvidence, Narrative, QuoteEvidence
    from everloop.lessons.model.lifecycle import LIVE_STATUSES, STATUS_LABELS, Status
    from everloop.lessons.model.narrative import CORRECTION_MAX, FAILURE_MAX, QUOTE_MAX, TRIGGER_MAX
    from everloop.lessons.projections.hosts import HostTrust
    from everloop.lessons.projections.queries import (
        LessonView,
        find_lesson,
        lesson_page,
        lesson_positions,
        load_lessons,
    )
    from everloop.lessons.projections.search import search_lessons
    from everloop.lessons.projections.signals import (
        SignalHistory,
        SignalView,
        VerdictView,
        signal_history,
    )
    from everloop.lessons.service import GateRulesView, Promotion
    from everloop.lessons.settings import RULE_NAMES, GateRules

__all__ = [
    "CAPTURE_ACTOR",
    "CORRECTION_MAX",
    "FAILURE_MAX",
    "LIVE_STATUSES",
    "LOOP_ENGINE_HOST",
    "QUOTE_MAX",
    "RULE_NAMES",
    "STATUS_LABELS",
    "TRIGGER_MAX",
    "ActivateEntry",
    "ArchiveEntry",
    "CaptureProblem",
    "CaptureReport",
    "CaptureService",
    "DiscardLesson",
    "EditLesson",
    "EnlistEntry",
    "EntryResult",
    "EntrySummary",
    "Evidence",
    "FullEntry",
    "GateCheck",
    "GateResult",
    "GateRules",
    "GateRulesView",
    "GiveFeedback",
    "HomeImport",
    "HomeReport",
    "HostTrust",
    "LessonView",
    "LogPhase",
    "LoopEngineHome",
    "Manifest",
    "ManifestLesson",
    "ManifestMemory",
    "ManifestRequest",
    "MemoryEvidence",
    "Narrative",
    "Pack",
    "PackEntry",
    "PackResult",
    "Persona",
    "Profile",
    "Promotion",
    "ProposeLesson",
    "ProposedEntry",
    "QuoteEvidence",
    "RecordVerdict",
    "RemoveEntry",
    "ReplacementRefused",
    "ReviseEntry",
    "SignalHistory",
    "SignalView",
    "Skill",
    "Sort",
    "Status",
    "SupersedeLesson",
    "Team",
    "UseLesson",
    "VerdictView",
    "WithdrawFeedback",
    "content_lesson_id",
    "find_lesson",
    "lesson_page",
    "lesson_positions",
    "load_lessons",
    "normalise_names",
    "parse_evidence",
    "parse_member",
    "project_scope",
    "search_lessons",
    "signal_history",
    "single_line",
    "visible_citer_names",
]

__getattr__ = lazy_exports(__name__, __file__)
