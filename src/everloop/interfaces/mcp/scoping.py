"""Where to look: one scope, which must be said, and `global` with it. What is unknown fails closed.

An agent that names a project nobody has heard of gets nothing and is told so loudly: an answer from
elsewhere would look like an answer.
"""

from typing import Final, NamedTuple

from everloop.app import Engine
from everloop.errors import Forbidden, NotFound
from everloop.lessons.projections.queries import page, positions
from everloop.log import Reader
from everloop.memory.browse.scopes_in_use import inhabited, scopes
from everloop.memory.model.scopes import Asker, check_scope
from everloop.memory.projections.queries import Item, asker

GLOBAL: Final = "global"
ALWAYS: Final = ("user", GLOBAL)
NAMED_MAX: Final = 20
LESSONS_MAX: Final = 500  # looked at to name the scopes there are


class Place(NamedTuple):
    """Where to look, and what to tell the one who asks. No scopes: nowhere."""

    scopes: tuple[str, ...]
    notices: tuple[str, ...] = ()

    @property
    def eyes(self) -> Asker:
        """One who may see these scopes and nothing else, whoever asks."""
        return Asker("", self.scopes)


def place(engine: Engine, principal: str, scope: str) -> Place:
    """The scopes that a question about one scope looks in.

    Raises:
        Invalid: it is not a scope.
    """
    check_scope(scope)
    with engine.reading() as reader:
        who = asker(reader, principal)
        if not who.scopes:
            return Place((), (not_let_in(principal),))
        if _known(reader, who, scope):
            both = dict.fromkeys((scope, GLOBAL))
            return Place(tuple(each for each in both if who.admits(each)))
        return Place((), (_unknown(scope, _inhabited_scopes(reader, who)),))


def check_writable(engine: Engine, principal: str, scope: str) -> tuple[str, ...]:
    """Make sure that a host may write in a scope; what to tell it besides.

    Raises:
        Invalid: it is not a scope.
        Forbidden: the host was not let into it.
    """
    check_scope(scope)
    with engine.reading() as reader:
        who = asker(reader, principal)
        if not who.admits(scope):
            raise Forbidden(
                f"{principal} was not let into {scope!r}",
                hint=f"The user can: everloop grants allow {principal} {scope}",
            )
        if _known(reader, who, scope):
            return ()
        return (f"NOTICE: {scope!r} is new here. If that was a slip, tell the user.",)


def elsewhere(name: str, scope: str, found: Item) -> NotFound:
    """That a memory is not in a scope, for one who may see where it is."""
    return NotFound(
        f"no memory {name!r} in {scope!r}", hint=f"It is in {found.scope!r}; ask there."
    )


def not_let_in(principal: str) -> str:
    """What to tell a host that sees nothing."""
    return (
        f"NOTICE: nobody has let {principal} in, so it sees nothing."
        f" The user can: everloop grants allow {principal} SCOPE"
    )


def _known(reader: Reader, who: Asker, scope: str) -> bool:
    if not who.admits(scope):
        return False
    if scope in ALWAYS or inhabited(reader, who, scope):
        return True
    return bool(positions(reader, Asker("", (scope,))))


def _inhabited_scopes(reader: Reader, who: Asker) -> list[str]:
    """The scopes in which this asker would find a memory or a lesson, by name."""
    lessons = page(reader, who, limit=LESSONS_MAX).lessons
    return sorted({*scopes(reader, who), *(lesson.scope for lesson in lessons)})


def _unknown(scope: str, known: list[str]) -> str:
    named = ", ".join(known[:NAMED_MAX]) or "none yet"
    more = f" and {len(known) - NAMED_MAX} more" if len(known) > NAMED_MAX else ""
    return (
        f"NOTICE: {scope!r} is unknown here, so NOTHING was searched."
        f" Scopes with something in them: {named}{more}. Ask again with one of these, or tell the"
        " user that nothing is known."
    )
