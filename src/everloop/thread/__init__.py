"""The thread: one conversation on every device, with memory for years."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.thread.background import MEMORY_CLAIM, RememberMessagesTask, local_today
    from everloop.thread.idempotent_requests import THREAD_TRACES
    from everloop.thread.model.commands import (
        ArchiveThread,
        CloseTopic,
        HideMessage,
        MarkDay,
        NoteDecision,
        NoteIntent,
        NoteTopic,
        OpenTopic,
        PinThread,
        RenameThread,
        RestoreThread,
        SetInstructions,
        SettleIntent,
        SetZone,
        UnhideMessage,
        UnpinThread,
    )
    from everloop.thread.model.events import (
        AnswerGiven,
        AnswerSaved,
        Attachment,
        ToolUsed,
        TurnFailed,
        TurnLeftUncertain,
        TurnStopped,
    )
    from everloop.thread.prompt.inspector import inspect_prompt
    from everloop.thread.pyramid.timeline import timeline_windows, zoom_window
    from everloop.thread.queries.alternatives import answer_versions
    from everloop.thread.queries.branches import compare_branches, thread_branches
    from everloop.thread.queries.by_date import page_from_day
    from everloop.thread.queries.files import FILES_FOLDER
    from everloop.thread.queries.instructions import instruction_versions
    from everloop.thread.queries.notes import find_note, list_notes
    from everloop.thread.queries.originals import original_positions
    from everloop.thread.queries.saved_memories import saved_memories
    from everloop.thread.queries.threads import (
        CUT_HINT,
        MESSAGE_PAGE_MAX,
        MessagePage,
        Thread,
        ThreadMessage,
        find_message,
        find_thread,
        find_turn,
        list_threads,
        messages_around,
        newest_messages,
    )
    from everloop.thread.queries.usage import PeriodUsage, usage_by_period
    from everloop.thread.search import MessageFilter, search_messages
    from everloop.thread.service import BranchSwitch, OutgoingMessage, SentMessage, ThreadService
    from everloop.thread.transfer.export_threads import (
        PutFile,
        attachment_path,
        export_file_name,
        export_thread,
        threads_to_export,
    )
    from everloop.thread.transfer.import_threads import ImportResult, import_history
    from everloop.thread.transfer.parsed_export import ParsedChat

__all__ = [
    "CUT_HINT",
    "FILES_FOLDER",
    "MEMORY_CLAIM",
    "MESSAGE_PAGE_MAX",
    "THREAD_TRACES",
    "AnswerGiven",
    "AnswerSaved",
    "ArchiveThread",
    "Attachment",
    "BranchSwitch",
    "CloseTopic",
    "HideMessage",
    "ImportResult",
    "MarkDay",
    "MessageFilter",
    "MessagePage",
    "NoteDecision",
    "NoteIntent",
    "NoteTopic",
    "OpenTopic",
    "OutgoingMessage",
    "ParsedChat",
    "PeriodUsage",
    "PinThread",
    "PutFile",
    "RememberMessagesTask",
    "RenameThread",
    "RestoreThread",
    "SentMessage",
    "SetInstructions",
    "SetZone",
    "SettleIntent",
    "Thread",
    "ThreadMessage",
    "ThreadService",
    "ToolUsed",
    "TurnFailed",
    "TurnLeftUncertain",
    "TurnStopped",
    "UnhideMessage",
    "UnpinThread",
    "answer_versions",
    "attachment_path",
    "compare_branches",
    "export_file_name",
    "export_thread",
    "find_message",
    "find_note",
    "find_thread",
    "find_turn",
    "import_history",
    "inspect_prompt",
    "instruction_versions",
    "list_notes",
    "list_threads",
    "local_today",
    "messages_around",
    "newest_messages",
    "original_positions",
    "page_from_day",
    "saved_memories",
    "search_messages",
    "thread_branches",
    "threads_to_export",
    "timeline_windows",
    "usage_by_period",
    "zoom_window",
]

__getattr__ = lazy_exports(__name__, __file__)
