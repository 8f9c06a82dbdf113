"""A naive in-memory model of the log, slow and obvious. The real stores must agree with it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One record."""

    position: int
    stream: str
    branch: str
    text: str
    because: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()


@dataclass
class NaiveLog:
    """Lists, loops and recursion."""

    entries: list[Entry] = field(default_factory=list)
    parents: dict[str, tuple[str, int] | None] = field(default_factory=lambda: {"main": None})
    standing: dict[str, str] = field(default_factory=lambda: {"main": "main"})
    purged: set[int] = field(default_factory=set)

    @property
    def head(self) -> int:
        """The newest position."""
        return len(self.entries)

    def add(
        self,
        stream: str,
        branch: str,
        text: str = "",
        because: tuple[int, ...] = (),
        targets: tuple[int, ...] = (),
    ) -> int:
        """Append one entry."""
        self.entries.append(Entry(self.head + 1, stream, branch, text, because, targets))
        return self.head

    def root(self, branch: str) -> str:
        """The tree a branch belongs to."""
        parent = self.parents[branch]
        return branch if parent is None else self.root(parent[0])

    def home(self, stream: str) -> str:
        """The current branch of a stream's tree."""
        roots = [name for name, parent in self.parents.items() if parent is None]
        fitting = [r for r in roots if stream == r or stream.startswith(f"{r}:")]
        return self.standing[max(fitting, key=len, default="main")]

    def on_line(self, position: int, where: str, branch: str) -> bool:
        """Whether a record on `where` is in the lineage of `branch`."""
        if where == branch:
            return True
        parent = self.parents[branch]
        return (
            parent is not None
            and position <= parent[1]
            and self.on_line(position, where, parent[0])
        )

    def counts(self, position: int, branch: str) -> bool:
        """Whether a record counts on `branch`."""
        entry = self.entries[position - 1]
        here = {**self.standing, self.root(branch): branch}.values()
        if position in self.purged or not any(
            self.on_line(position, entry.branch, line) for line in here
        ):
            return False
        if not all(self.counts(source, branch) for source in entry.because):
            return False
        retractions = [other for other in self.entries if position in other.targets]
        return not any(self.counts(other.position, branch) for other in retractions)

    def read(self, stream: str, branch: str) -> list[str]:
        """The texts of a stream that count on a branch."""
        return [
            entry.text
            for entry in self.entries
            if entry.stream == stream
            and self.on_line(entry.position, entry.branch, branch)
            and self.counts(entry.position, branch)
        ]

    def version(self, stream: str, branch: str) -> int:
        """How many records a stream has on a branch, counting or not."""
        return sum(
            entry.stream == stream and self.on_line(entry.position, entry.branch, branch)
            for entry in self.entries
        )
