"""The slash commands of a chat, such as `/search` and `/rewind`."""

from collections.abc import Callable

import msgspec

from everloop.adapters import choose_model
from everloop.app import Engine
from everloop.errors import Invalid
from everloop.interfaces.cli.commands.threads.browse import (
    draw_search_results,
    draw_threads,
    find_thread,
)
from everloop.interfaces.cli.commands.threads.chat_session import ChatSession
from everloop.interfaces.cli.commands.threads.line_input import LineReader
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.memory_items import draw_undo
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, WARNING
from everloop.log import Impact
from everloop.memory import SearchQuery
from everloop.thread import ThreadMessage, list_threads, local_today, zoom_window

LINE_WIDTH = 100
FOUND_MAX = 20


class Quit(Exception):
    """The person quits the chat."""


class SlashCommands:
    """The slash commands of one chat."""

    def __init__(self, chat: ChatSession, typist: LineReader) -> None:
        self._chat, self._typist = chat, typist
        self._screen = chat.session.screen
        self._before: tuple[str, str] | None = None  # the thread and branch before a rewind
        self._table: dict[str, tuple[str, str, Callable[[str], None]]] = {
            "help": ("", "list the commands", self._help),
            "threads": ("", "list conversations", self._threads),
            "thread": ("NAME", "switch to another conversation", self._thread),
            "new": ("TITLE", "start a conversation", self._new),
            "search": ("WORDS", "search messages", self._search),
            "again": ("", "get another answer to the last message", self._again),
            "continue": ("", "get the rest of an answer that was cut", self._continue),
            "rewind": ("[N]", "go back N messages (default: 2)", self._rewind),
            "undo": ("", "undo the last rewind", self._undo),
            "retract": ("[N]", "delete the Nth message from the end (default: 1)", self._retract),
            "model": ("[NAME]", "list models, or switch to another", self._model),
            "zoom": (
                "WINDOW",
                "show the summary of a day, week, month or year: day:2026-05-17",
                self._zoom,
            ),
            "quit": ("", "quit", self._quit),
        }

    def run_command(self, line: str) -> None:
        """Run a slash command.

        Raises:
            Invalid: there is no such command.
            Quit: the person quits the chat.
        """
        word, _, rest = line.removeprefix("/").partition(" ")
        if word not in self._table:
            raise Invalid(f"unknown command /{word}", hint="/help lists the commands.")
        self._table[word][2](rest.strip())

    def _help(self, _: str) -> None:
        rows = [(f"/{word} {more}".strip(), says) for word, (more, says, _) in self._table.items()]
        self._screen.table(("", ""), rows)
        self._screen.paragraph(
            ('End a line with \\ to continue it, or put several lines between """ and """.', DIM)
        )

    def _threads(self, _: str) -> None:
        with self._engine.reading() as reader:
            found = list_threads(reader)
        draw_threads(self._screen, self._chat.session, found)

    def _thread(self, name: str) -> None:
        thread = find_thread(self._engine, _required(name, "/thread NAME"))
        self._chat.thread_id = thread.thread_id
        self._screen.paragraph((thread.title, BOLD), (f"  {thread.thread_id}", NAME))

    def _new(self, title: str) -> None:
        opened = self._chat.running.talk.open(_required(title, "/new TITLE"), self._chat.by)
        self._thread(opened)

    def _search(self, words: str) -> None:
        asked = SearchQuery(_required(words, "/search WORDS"), FOUND_MAX)
        answer = self._chat.running.talk.search(asked)
        found = [one.message for one in answer.found]
        draw_search_results(self._screen, self._chat.session, found, words, answer.notes)

    def _again(self, _: str) -> None:
        last = self._messages(1)[-1]
        self._chat.show_answer(self._chat.running.talk.regenerate(last.message_id, self._chat.by))

    def _continue(self, _: str) -> None:
        last = self._messages(1)[-1]
        talk = self._chat.running.talk
        self._chat.show_answer(talk.continue_answer(last.message_id, self._chat.by))

    def _rewind(self, number: str) -> None:
        back = _number(number, 2)
        messages = self._messages(back + 1)
        if len(messages) <= back:
            raise Invalid(
                "the conversation does not have that many messages", hint="Use a smaller number."
            )
        target, talk = messages[-back - 1], self._chat.running.talk
        self._preview(talk.preview_rewind(target.message_id), messages[-back:])
        if not self._typist.confirm("Rewind?"):
            self._screen.paragraph("No changes made.")
            return
        gone = talk.rewind(target.message_id, self._chat.by)
        self._before = (self._chat.thread_id, gone.before)
        self._screen.paragraph(("Rewound", GOOD), ". Use /undo to undo it.")

    def _undo(self, _: str) -> None:
        if self._before is None:
            raise Invalid(
                "there is no rewind to undo",
                hint="Run `everloop log branches` to see all branches.",
            )
        thread_id, branch = self._before
        self._chat.running.talk.switch_branch(thread_id, branch, self._chat.by)
        self._before = None
        self._screen.paragraph(("Undone", GOOD), ": the messages are restored.")

    def _retract(self, number: str) -> None:
        wanted = _number(number, 1)
        messages = self._messages(wanted)
        if len(messages) < wanted:
            raise Invalid(
                f"there are only {plural(len(messages), 'message')}", hint="Use a smaller number."
            )
        message, talk = messages[-wanted], self._chat.running.talk
        self._preview(talk.preview_retract(message.message_id), [message])
        if not self._typist.confirm("Delete it?"):
            self._screen.paragraph("No changes made.")
            return
        receipt = talk.retract(message.message_id, "at the terminal", self._chat.by)
        self._screen.paragraph(("Deleted", GOOD), ".")
        draw_undo(self._screen, [receipt.position])

    def _model(self, name: str) -> None:
        running = self._chat.running
        if not name:
            self._screen.paragraph("Current model: ", (running.narrative().name, BOLD))
            self._screen.table(("", ""), [(one.name, one.words) for one in running.found])
            return
        models = msgspec.structs.replace(running.settings.models, narrative=name)
        choose_model(models, "narrative")  # raises if there is no such model
        running.choose(msgspec.structs.replace(running.settings, models=models))
        self._screen.paragraph("Switched to ", (name, BOLD))
        if not running.turns.leads.is_set():
            self._screen.paragraph(
                ("Another process generates the answers and keeps its own model.", WARNING)
            )

    def _zoom(self, key: str) -> None:
        day = local_today(self._engine.log, self._engine.ports.clock)
        with self._engine.reading() as reader:
            found = zoom_window(
                reader, self._chat.thread_id, day, _required(key, "/zoom day:2026-05-17")
            )
        band = found.band
        self._screen.paragraph(
            (band.key, BOLD), f"  {plural(band.messages, 'message')}, {band.state}"
        )
        if band.text:
            self._screen.paragraph(band.text)
        rows = [
            (one.key, f"{one.messages:,}", one_line(one.text, LINE_WIDTH)) for one in found.below
        ]
        rows += [(f"{one.said_at:%H:%M}", one.role, one.text) for one in found.messages]
        self._screen.table(("", "", ""), rows)

    def _quit(self, _: str) -> None:
        raise Quit

    def _preview(self, impact: Impact, messages: list[ThreadMessage]) -> None:
        self._screen.paragraph(f"{plural(len(impact.hides), 'fact')} would be hidden:")
        for message in messages:
            self._screen.paragraph((f"  {message.role}: {one_line(message.text, LINE_WIDTH)}", DIM))

    def _messages(self, limit: int) -> list[ThreadMessage]:
        messages = self._chat.history(limit)
        if not messages:
            raise Invalid("there are no messages yet", hint="Send one first.")
        return messages

    @property
    def _engine(self) -> Engine:
        return self._chat.running.engine


def _required(text: str, form: str) -> str:
    if not text:
        raise Invalid("missing argument", hint=f"Usage: {form}")
    return text


def _number(text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise Invalid(f"{text!r} is not a number of messages", hint="Use a number such as 2.")
    return int(text)
