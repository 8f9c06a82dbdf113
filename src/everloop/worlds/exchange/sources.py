"""What a file or folder is: a card, a lorebook, a chat, personas, or a folder of SillyTavern."""

from pathlib import Path, PurePosixPath
from typing import Final

from everloop.errors import Invalid, NotFound
from everloop.worlds.exchange.formats import png
from everloop.worlds.exchange.formats.archives import ZIP, FileSet, FolderFiles, ZipFiles
from everloop.worlds.exchange.formats.card_files import CARD_JSON, FORMATS_HINT
from everloop.worlds.exchange.formats.cards import is_card
from everloop.worlds.exchange.formats.chats import is_chat
from everloop.worlds.exchange.formats.json_text import JsonObject, decode_object
from everloop.worlds.exchange.formats.lorebooks import book_form
from everloop.worlds.exchange.import_report import SourceKind, digest_of
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.exchange.world_json.file_format import FORMAT

USER_FOLDERS: Final = ("characters", "chats", "groups", "group chats", "worlds")


class ImportSource:
    """A file or folder to import: what it is, and its content."""

    def __init__(self, name: str, kind: SourceKind, content: bytes, files: FileSet | None) -> None:
        self.name, self.content, self.files = name, content, files
        self.kind: SourceKind = kind
        self.size = sum(files.sizes.values()) if files else len(content)

    @property
    def import_id(self) -> str:
        """The id of its import: the same for the same content."""
        if self.files is None:
            return f"wim-{digest_of(self.kind, self.content)}"
        listed = "\n".join(f"{name} {size}" for name, size in sorted(self.files.sizes.items()))
        return f"wim-{digest_of(self.kind, listed)}"


def open_source(path: Path, limits: ExchangeLimits, name: str = "") -> ImportSource:
    """What lies at a path.

    Raises:
        NotFound: nothing does.
        Invalid: it is nothing that can be imported, or too large.
    """
    called = name or path.name
    if path.is_dir():
        return _user_folder(FolderFiles(path, limits), called)
    try:
        with path.open("rb") as file:
            head = file.read(8)
        if head.startswith(ZIP) and path.stat().st_size > limits.file_bytes_max:
            return _from_zip(ZipFiles(path, called, limits), b"", called)
        if path.stat().st_size > limits.file_bytes_max:
            raise Invalid(
                f"{called!r} has more than {limits.file_bytes_max:,} bytes",
                hint="The setting exchange.file_bytes_max allows larger files.",
            )
        content = path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise NotFound(
            f"{called!r} cannot be read: {reason}", hint="Check the path and your permissions."
        ) from None
    return source_of(content, called, limits)


def source_of(content: bytes, name: str, limits: ExchangeLimits) -> ImportSource:
    """What the content of a file is.

    Raises:
        Invalid: it is nothing that can be imported.
    """
    if content.startswith(ZIP):
        return _from_zip(ZipFiles(content, name, limits), content, name)
    if content.startswith((png.SIGNATURE, b"\xff\xd8\xff")):
        return ImportSource(name, "card", content, None)
    if name.lower().endswith((".yaml", ".yml")):
        return ImportSource(name, "card", content, None)
    if is_chat(content):
        return ImportSource(name, "chat", content, None)
    return ImportSource(name, _json_kind(decode_object(content, name, limits), name), content, None)


def _json_kind(value: JsonObject, name: str) -> SourceKind:
    if value.get("format") == FORMAT:
        return "everloop"

    if is_card(value):
        return "card"
    if book_form(value) or "lorebookVersion" in value or value.get("type") == "risu":
        return "lorebook"
    if "personas" in value and "persona_descriptions" in value:
        return "personas"
    raise Invalid(
        f"{name!r} is no card, lorebook, chat, persona backup or export of a world",
        hint=FORMATS_HINT,
    )


def _from_zip(files: ZipFiles, content: bytes, name: str) -> ImportSource:
    if CARD_JSON in files.sizes:
        return ImportSource(name, "card", content or files.read(CARD_JSON), None)
    return _user_folder(files, name)


def _user_folder(files: FileSet, name: str) -> ImportSource:
    if not any(set(PurePosixPath(each).parts[:-1]) & set(USER_FOLDERS) for each in files.sizes):
        raise Invalid(
            f"{name!r} has no character card, and no folders of SillyTavern",
            hint=f"A CHARX file has its card in {CARD_JSON}; of SillyTavern, give the folder "
            "data/default-user, or a zip file of it.",
        )
    return ImportSource(name, "sillytavern", b"", files)
