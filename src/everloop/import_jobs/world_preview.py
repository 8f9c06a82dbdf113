"""What an import into worlds would come to, before anything is recorded.

The file is imported into an empty log of its own, which is thrown away. So the report is the one
that the import itself would give, refusals included. Only the library's characters are copied
there: a chat is played by those of the same name.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from everloop.app import Engine
from everloop.log import Context
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.worlds import (
    AuthorCharacter,
    CastQuestion,
    ExchangeLimits,
    ImportChoices,
    ImportSource,
    TooManySpeakers,
    WorldImportResult,
    list_characters,
    world_imports,
)


class ImportPreview(msgspec.Struct, frozen=True):
    """What an import would come to. `before`: the same content was imported, and is still there."""

    result: WorldImportResult
    names: tuple[str, ...]  # of the characters that it would bring
    before: bool


def preview_import(
    engine: Engine, path: Path, choices: ImportChoices, by: Context, limits: ExchangeLimits
) -> ImportPreview:
    """What importing a file would come to. Nothing is recorded.

    Raises:
        Rejected: it is damaged or hostile, or nothing that can be imported.
    """
    with engine.reading() as reader:
        library = list_characters(reader)
        known = {one.import_id for one in world_imports(reader)}
    with TemporaryDirectory(prefix="everloop-preview-") as folder:
        memory = MemorySettings(embedder="none")
        settings = Settings(home=folder, exchange=limits, memory=memory)
        with Engine.open(Path(folder), settings=settings) as scratch:
            source = scratch.exchange.open(path)
            scratch.do_many([AuthorCharacter(one.character_id, one.sheet) for one in library])
            try:
                result = scratch.exchange.run(source, by, choices)
            except TooManySpeakers as asked:
                result = _asking(source, asked.question)
            with scratch.reading() as reader:
                named = {one.character_id: one.sheet.name for one in list_characters(reader)}
    names = tuple(named[each] for each in result.characters if each in named)
    return ImportPreview(result, names, source.import_id in known)


def _asking(source: ImportSource, question: CastQuestion) -> WorldImportResult:
    """Nothing is imported until the player says who plays."""
    return WorldImportResult(source.import_id, 0, source.kind, source.name, questions=(question,))
