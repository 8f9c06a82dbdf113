"""Files beside messages, kept under the digest of their content: the same file twice is one."""

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from everloop.errors import Invalid, NotFound, Unavailable
from everloop.thread.events import Attachment
from everloop.thread.limits import ThreadSettings

BYTES_MAX = 25_000_000
FOLDER = "files"


class FileStore:
    """A folder of files, named by what is in them."""

    def __init__(self, folder: Path, *, bytes_max: int = BYTES_MAX) -> None:
        self._folder = folder
        self._bytes_max = bytes_max

    def keep(self, name: str, media_type: str, content: Iterable[bytes]) -> Attachment:
        """Keep a file and say what it is called from now on.

        Raises:
            Invalid: it is too large, or empty.
            Unavailable: the disk did not take it.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as out:
                path = Path(out.name)
                try:
                    digest, size = self._copy(content, out.write)
                    out.flush()
                    os.fsync(out.fileno())
                    path.rename(self._folder / digest)
                except BaseException:
                    path.unlink(missing_ok=True)
                    raise
        except OSError as problem:
            raise Unavailable(
                f"the file was not kept: {problem.strerror}",
                hint="Make room in the data home, and try again.",
            ) from problem
        return Attachment(digest, plain_name(name), media_type, size)

    def known(self, digest: str, name: str, media_type: str) -> Attachment | None:
        """A file that is kept already, under another name perhaps."""
        try:
            size = self.path(digest).stat().st_size
        except (NotFound, OSError):
            return None
        return Attachment(digest, plain_name(name), media_type, size)

    def path(self, digest: str) -> Path:
        """Where a file is.

        Raises:
            NotFound: there is none of that digest.
        """
        if len(digest) == 64 and set(digest) <= set("0123456789abcdef"):
            found = self._folder / digest
            if found.is_file():
                return found
        raise NotFound("no such file", hint="It may have been erased.")

    def read(self, attachment: Attachment) -> bytes | None:
        """What is in a file; None if it is gone."""
        try:
            return self.path(attachment.digest).read_bytes()
        except (NotFound, OSError):
            return None

    def forget(self, digest: str) -> None:
        """Erase a file."""
        with suppress(NotFound, OSError):
            self.path(digest).unlink()

    def _copy(self, content: Iterable[bytes], write: Callable[[bytes], object]) -> tuple[str, int]:
        seen, size = sha256(), 0
        for part in content:
            size += len(part)
            if size > self._bytes_max:
                raise Invalid(
                    f"a file has at most {self._bytes_max:,} bytes", hint="Attach a smaller one."
                )
            seen.update(part)
            write(part)
        if not size:
            raise Invalid("the file is empty", hint="Choose another one.")
        return seen.hexdigest(), size


def file_store(home: Path, limits: ThreadSettings) -> FileStore:
    """Where the files beside the messages of a log are."""
    return FileStore(home / FOLDER, bytes_max=limits.attachment_bytes_max)


def plain_name(name: str) -> str:
    """A file's name without any path, and without what no screen should show."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = "".join(letter for letter in last if letter.isprintable()).strip()
    return printable[:200] if printable.strip(".") else "file"
