"""Files beside messages, kept under the digest of their content: the same file twice is one.

Where several nodes have one log, each file is at their depot too, and fetched where it is missing.
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
from everloop.ports import Depot, Progress
from everloop.thread.model.events import Attachment

BYTES_MAX = 25_000_000
CHUNK = 1 << 20
UNSENT_S = 3_600  # so long a file may wait for its message to be sent


class Carried(NamedTuple):
    """How many files are held now where they were carried to, and how many nobody had."""

    held: int = 0
    missing: int = 0


class FileStore:
    """A folder of files, named by what is in them."""

    def __init__(
        self, folder: Path, *, bytes_max: int = BYTES_MAX, depot: Depot | None = None
    ) -> None:
        self.folder = folder
        self._bytes_max = bytes_max
        self._depot = depot

    def keep(self, name: str, media_type: str, content: Iterable[bytes]) -> Attachment:
        """Keep a file and say what it is called from now on.

        Raises:
            Invalid: it is too large, or empty.
            Unavailable: the disk did not take it, or the depot.
        """
        digest, size = self._write(self._bounded(content))
        self._share(digest)
        return Attachment(digest, plain_name(name), media_type, size)

    def take_over(self, digest: str, holder: "FileStore") -> bool:
        """Hold what another store holds; whether that is so now.

        Raises:
            Unavailable: the disk did not take it, or the depot.
        """
        with suppress(NotFound, Corrupt):
            if not _is_whole(self._place(digest)):
                self._write(_pieces(holder.path(digest)))
            self._settle(digest)
            self._share(digest)
            return True
        return False

    def holds(self, digest: str) -> bool:
        """Whether there is a file of that digest, here or at the depot."""
        if not _is_digest(digest):
            return False
        here = self._place(digest).is_file()
        return here or (self._depot is not None and self._depot.has(digest))

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
            Unavailable: it is not here, and the depot cannot be asked.
        """
        place = self._place(digest)
        if not place.is_file():
            content = self._depot.get(digest) if self._depot else None
            if content is None:
                raise NotFound("no such file", hint="It may have been erased.")
            self._write([content])
            self._settle(digest)
        return place

    def read(self, attachment: Attachment) -> bytes | None:
        """What is in a file; None if it is gone or damaged, or cannot be had now."""
        try:
            return b"".join(_pieces(self.path(attachment.digest)))
        except (NotFound, Corrupt, Unavailable, OSError):
            return None

    def settle(self, digests: Iterable[str]) -> None:
        """Note that files have their messages: none of them waits to be sent any more."""
        for digest in digests:
            self._settle(digest)

    def give_up(self, digests: Collection[str]) -> None:
        """Note the same at the depot too, before messages are purged.

        If their files cannot be erased then, the next purge does it.

        Raises:
            Unavailable: the depot cannot be reached.
        """
        self.settle(digests)
        if self._depot and digests:
            self._depot.settle(list(digests))

    def forget(self, digests: Sequence[str], wanted: Collection[str], now: datetime) -> None:
        """Erase files, here and at the depot, and what an earlier time left there.

        Raises:
            Unavailable: one here cannot be erased, the depot cannot be reached, or somebody there
                still sees them.
        """
        with ExitStack() as then:  # also where one here cannot be erased
            if self._depot:
                drop = partial(self._depot.drop, wanted=list(wanted), unsent_s=UNSENT_S)
                then.callback(drop, list(digests))
            here = (self.folder / digest for digest in digests if _is_digest(digest))
            _erase([*here, *self._unwanted(wanted, now)])

    def sweep(self, wanted: Collection[str], now: datetime) -> None:
        """Erase the files here that are not wanted.

        A young one stays: it may belong to a message that is still being written.

        Raises:
            Unavailable: one cannot be erased.
        """
        _erase(self._unwanted(wanted, now))

    def keep_only(self, wanted: Collection[str]) -> None:
        """Erase every file here but the wanted ones. What is named otherwise is not ours.

        Raises:
            Unavailable: one cannot be erased.
        """
        with suppress(FileNotFoundError):
            here = list(self.folder.iterdir())
            _erase(one for one in here if _is_digest(one.name) and one.name not in wanted)

    def _unwanted(self, wanted: Collection[str], now: datetime) -> Iterator[Path]:
        """The old files here that no message has. Folders are not ours."""
        before = now.timestamp() - UNSENT_S
        with suppress(FileNotFoundError), os.scandir(self.folder) as inside:
            for one in inside:
                if one.name in wanted or one.is_dir(follow_symlinks=False):
                    continue
                with suppress(FileNotFoundError):  # another process was quicker
                    if one.stat(follow_symlinks=False).st_mtime < before:
                        yield Path(one.path)

    def _settle(self, digest: str) -> None:
        """Make it look old. One that is not ours cannot be; it gets old by itself."""
        with suppress(NotFound, OSError):
            os.utime(self._place(digest), (0, 0), follow_symlinks=False)

    def _place(self, digest: str) -> Path:
        """Where a file of that digest is, if there is one.

        Raises:
            NotFound: it is no digest.
        """
        if not _is_digest(digest):
            raise NotFound("no such file", hint="It may have been erased.")
        return self.folder / digest

    def _share(self, digest: str) -> None:
        if self._depot and not self._depot.renew(digest):
            self._depot.put(digest, self._place(digest).read_bytes())

    def _bounded(self, content: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for part in content:
            size += len(part)
            if size > self._bytes_max:
                raise Invalid(
                    f"a file has at most {self._bytes_max:,} bytes", hint="Attach a smaller one."
                )
            yield part
        if not size:
            raise Invalid("the file is empty", hint="Choose another one.")

    def _write(self, content: Iterable[bytes]) -> tuple[str, int]:
        """Write a file under its digest, durably; nothing stays of one that breaks off."""
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
                f"the file was not kept in {self.folder}: {problem.strerror}",
                hint="See that it is a folder, yours, and has room, and try again.",
            ) from problem
        return digest, size


def carry(
    digests: Collection[str],
    holders: Sequence[FileStore],
    target: FileStore,
    progress: Progress | None = None,
) -> Carried:
    """Have a store hold files that others hold. One that it holds whole is left as it is.

    Raises:
        Unavailable: the disk did not take one.
    """
    held = 0
    for done, digest in enumerate(sorted(digests), start=1):
        held += any(target.take_over(digest, holder) for holder in holders)
        if progress:
            progress(done, len(digests))
    return Carried(held, len(digests) - held)


def _is_digest(name: str) -> bool:
    return len(name) == 64 and set(name) <= set("0123456789abcdef")


def _is_whole(path: Path) -> bool:
    """Whether a file is there, and is what its name says."""
    try:
        for _ in _pieces(path):
            pass
    except (OSError, Corrupt):
        return False
    return True


def _erase(files: Iterable[Path]) -> None:
    """Erase files: all that can be.

    Raises:
        Unavailable: one cannot be.
    """
    stuck: OSError | None = None
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as problem:
            stuck = problem
    if stuck is not None:
        raise Unavailable(
            f"a file beside a message was not erased: {stuck.filename}: {stuck.strerror}",
            hint="Erase it by hand, or let it be erased and purge again.",
        ) from stuck


def _pieces(path: Path) -> Iterator[bytes]:
    """What is in a file that is named by it.

    Raises:
        Corrupt: it is not what its name says.
    """
    seen = sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            seen.update(part)
            yield part
    if seen.hexdigest() != path.name:
        raise Corrupt("a file is not what its name says", hint="Try another copy.")


def plain_name(name: str) -> str:
    """A file's name without any path, and without what no screen should show."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = "".join(letter for letter in last if letter.isprintable()).strip()
    return printable[:200] if printable.strip(".") else "file"
