"""Content-addressed store of attachments: files are named by their SHA-256, so duplicates are one.

Where several nodes share a log, files are also in a shared depot (PostgreSQL), and are fetched from
it when they are missing here.
"""

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from everloop.errors import Corrupt, Invalid, NotFound, Unavailable
from everloop.ports import BlobStore, Progress
from everloop.thread.model.events import Attachment

BYTES_MAX = 25_000_000
CHUNK = 1 << 20
UNSENT_S = 3_600  # grace period: an uploaded file may wait so long for its message


class CopyResult(NamedTuple):
    """The number of files copied to a store, and of files that no source has."""

    held: int = 0
    missing: int = 0


class FileStore:
    """A folder of files that are named by their digest."""

    def __init__(
        self, folder: Path, *, bytes_max: int = BYTES_MAX, depot: BlobStore | None = None
    ) -> None:
        self.folder = folder
        self._bytes_max = bytes_max
        self._depot = depot

    def store(self, name: str, media_type: str, content: Iterable[bytes]) -> Attachment:
        """Store a file and return its description.

        Raises:
            Invalid: it is too large, or empty.
            Unavailable: the disk or the depot failed.
        """
        digest, size = self._write(self._limit_size(content))
        self._upload(digest)
        return Attachment(digest, plain_name(name), media_type, size)

    def copy_from(self, digest: str, holder: "FileStore") -> bool:
        """Copy a file from another store; returns whether it is here now.

        Raises:
            Unavailable: the disk or the depot failed.
        """
        with suppress(NotFound, Corrupt):
            if not _is_intact(self._local_path(digest)):
                self._write(_read_verified(holder.path(digest)))
            self._end_grace_period(digest)
            self._upload(digest)
            return True
        return False

    def has(self, digest: str) -> bool:
        """Whether a file exists, here or in the depot."""
        if not _is_digest(digest):
            return False
        here = self._local_path(digest).is_file()
        return here or (self._depot is not None and self._depot.has(digest))

    def describe(self, digest: str, name: str, media_type: str) -> Attachment | None:
        """Describe an existing file under a given name; None if it is missing."""
        try:
            size = self.path(digest).stat().st_size
        except (NotFound, OSError):
            return None
        return Attachment(digest, plain_name(name), media_type, size)

    def path(self, digest: str) -> Path:
        """The path of a file; it is fetched from the depot if needed.

        Raises:
            NotFound: there is no such file.
            Unavailable: it is not here, and the depot cannot be reached.
        """
        place = self._local_path(digest)
        if not place.is_file():
            content = self._depot.get(digest) if self._depot else None
            if content is None:
                raise NotFound("no such file", hint="It may have been deleted.")
            self._write([content])
            self._end_grace_period(digest)
        return place

    def read(self, attachment: Attachment) -> bytes | None:
        """The content of a file; None if it is missing, damaged or unavailable."""
        try:
            return b"".join(_read_verified(self.path(attachment.digest)))
        except (NotFound, Corrupt, Unavailable, OSError):
            return None

    def mark_attached(self, digests: Iterable[str]) -> None:
        """Mark files as attached, which ends their grace period."""
        for digest in digests:
            self._end_grace_period(digest)

    def mark_for_purge(self, digests: Collection[str]) -> None:
        """End the grace period of files here and in the depot, before their messages are purged.

        If erasing them fails, the next purge erases them.

        Raises:
            Unavailable: the depot cannot be reached.
        """
        self.mark_attached(digests)
        if self._depot and digests:
            self._depot.mark_old(list(digests))

    def erase(self, digests: Sequence[str], wanted: Collection[str], now: datetime) -> None:
        """Erase files here and in the depot, and leftovers of earlier purges.

        Raises:
            Unavailable: a file cannot be erased, the depot cannot be reached, or another node
                still uses them.
        """
        with ExitStack() as then:  # runs even if erasing a local file fails
            if self._depot:
                drop = partial(self._depot.erase, wanted=list(wanted), unsent_s=UNSENT_S)
                then.callback(drop, list(digests))
            here = (self.folder / digest for digest in digests if _is_digest(digest))
            _erase([*here, *self._expired_files(wanted, now)])

    def collect_garbage(self, wanted: Collection[str], now: datetime) -> None:
        """Garbage collection: erase the files that no message uses.

        A recent file stays: its message may not have been sent yet.

        Raises:
            Unavailable: a file cannot be erased.
        """
        _erase(self._expired_files(wanted, now))

    def erase_except(self, wanted: Collection[str]) -> None:
        """Erase all files but the wanted ones; files that are not named by a digest stay.

        Raises:
            Unavailable: a file cannot be erased.
        """
        with suppress(FileNotFoundError):
            here = list(self.folder.iterdir())
            _erase(one for one in here if _is_digest(one.name) and one.name not in wanted)

    def _expired_files(self, wanted: Collection[str], now: datetime) -> Iterator[Path]:
        """The files past their grace period that no message uses. Folders are skipped."""
        before = now.timestamp() - UNSENT_S
        with suppress(FileNotFoundError), os.scandir(self.folder) as inside:
            for one in inside:
                if one.name in wanted or one.is_dir(follow_symlinks=False):
                    continue
                with suppress(FileNotFoundError):  # another process erased it first
                    if one.stat(follow_symlinks=False).st_mtime < before:
                        yield Path(one.path)

    def _end_grace_period(self, digest: str) -> None:
        """End the grace period by setting the mtime to 0; another user's file has to age."""
        with suppress(NotFound, OSError):
            os.utime(self._local_path(digest), (0, 0), follow_symlinks=False)

    def _local_path(self, digest: str) -> Path:
        """The local path for a digest, whether or not the file exists.

        Raises:
            NotFound: it is not a digest.
        """
        if not _is_digest(digest):
            raise NotFound("no such file", hint="It may have been deleted.")
        return self.folder / digest

    def _upload(self, digest: str) -> None:
        if self._depot and not self._depot.touch(digest):
            self._depot.put(digest, self._local_path(digest).read_bytes())

    def _limit_size(self, content: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for part in content:
            size += len(part)
            if size > self._bytes_max:
                raise Invalid(
                    f"a file may have at most {self._bytes_max:,} bytes",
                    hint="Attach a smaller file.",
                )
            yield part
        if not size:
            raise Invalid("the file is empty", hint="Choose another file.")

    def _write(self, content: Iterable[bytes]) -> tuple[str, int]:
        """Write a file under its digest, durably and atomically."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as out:
                path = Path(out.name)
                try:
                    seen, size = sha256(), 0
                    for part in content:
                        seen.update(part)
                        size += out.write(part)
                    digest = seen.hexdigest()
                    out.flush()
                    os.fsync(out.fileno())
                    path.rename(self.folder / digest)
                except BaseException:
                    path.unlink(missing_ok=True)
                    raise
        except OSError as problem:
            raise Unavailable(
                f"the file could not be stored in {self.folder}: {problem.strerror}",
                hint="Check that it is a folder of yours with free space, and try again.",
            ) from problem
        return digest, size


def copy_files(
    digests: Collection[str],
    holders: Sequence[FileStore],
    target: FileStore,
    progress: Progress | None = None,
) -> CopyResult:
    """Copy files from other stores into a store. Files that it has intact are left alone.

    Raises:
        Unavailable: the disk failed.
    """
    held = 0
    for done, digest in enumerate(sorted(digests), start=1):
        held += any(target.copy_from(digest, holder) for holder in holders)
        if progress:
            progress(done, len(digests))
    return CopyResult(held, len(digests) - held)


def _is_digest(name: str) -> bool:
    return len(name) == 64 and set(name) <= set("0123456789abcdef")


def _is_intact(path: Path) -> bool:
    """Whether a file exists and matches its digest."""
    try:
        for _ in _read_verified(path):
            pass
    except (OSError, Corrupt):
        return False
    return True


def _erase(files: Iterable[Path]) -> None:
    """Erase as many of the files as possible.

    Raises:
        Unavailable: one could not be erased.
    """
    stuck: OSError | None = None
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as problem:
            stuck = problem
    if stuck is not None:
        raise Unavailable(
            f"an attached file could not be erased: {stuck.filename}: {stuck.strerror}",
            hint="Delete it by hand, or fix its permissions and purge again.",
        ) from stuck


def _read_verified(path: Path) -> Iterator[bytes]:
    """The content of a file in chunks, verified against its digest at the end.

    Raises:
        Corrupt: the content does not match the digest.
    """
    seen = sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            seen.update(part)
            yield part
    if seen.hexdigest() != path.name:
        raise Corrupt("a file does not match its digest", hint="Try another copy.")


def plain_name(name: str) -> str:
    """A file name without its path and without unprintable characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = "".join(letter for letter in last if letter.isprintable()).strip()
    return printable[:200] if printable.strip(".") else "file"
