"""`everloop hosts`: whom the user trusts to pass on their words."""

from argparse import Namespace

from everloop.access import credentials
from everloop.interfaces.cli.audience import check_reads_all, speaker
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons.projections.hosts import HostStanding


def list_hosts(session: Session, _: Namespace) -> None:
    """Show every host that the user has spoken of."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        known = engine.lessons.hosts()
    session.answer(known, lambda screen: _draw(screen, session, known))


def trust(session: Session, args: Namespace) -> None:
    """Let a host pass on the user's words."""
    with session.engine() as engine:
        changed = engine.lessons.trust(args.host, by=speaker(session))
    _told(session, args.host, "may pass on your words", changed=changed, trusted=True)


def distrust(session: Session, args: Namespace) -> None:
    """Let it no longer. What it passed on before counts no more either."""
    with session.engine() as engine:
        changed = engine.lessons.distrust(args.host, by=speaker(session))
    _told(session, args.host, "may not pass on your words", changed=changed, trusted=False)


def token(session: Session, args: Namespace) -> None:
    """Give a host a token for the MCP door inside `everloop serve`.

    Raises:
        Forbidden: nobody is at the terminal.
    """
    with session.engine() as engine:
        by = speaker(session)
        given = credentials.give_token(engine.log, engine.do, engine.world, args.host, by)
    place = session.settings.serve
    own = f"https://{place.names[0]}" if place.secure and place.names else ""
    address = f"{own or f'http://127.0.0.1:{place.port}'}/mcp"
    header = f"Authorization: Bearer {given.text}"
    document = {"host": args.host, "device_id": given.device_id, "token": given.text}

    def draw(screen: Screen) -> None:
        screen.say("This is shown once. Whoever has it speaks as ", (args.host, NAME), ".")
        screen.say((given.text, STRONG))
        screen.say("For Claude Code, while `everloop serve` runs:")
        line = f'claude mcp add --transport http everloop {address} --header "{header}"'
        session.stdout.write(f"{line}\n")  # as it is, to be copied: a fold would break it

    session.answer({**document, "url": address}, draw)


def _told(session: Session, host: str, done: str, *, changed: bool, trusted: bool) -> None:
    def draw(screen: Screen) -> None:
        how = ("Recorded", GOOD) if changed else "It is so already"
        screen.say(how, ": ", (host, NAME), f" {done}.")

    session.answer({"host": host, "trusted": trusted, "changed": changed}, draw)


def _draw(screen: Screen, session: Session, known: list[HostStanding]) -> None:
    if not known:
        screen.say("You trust no host yet. `everloop hosts trust NAME` changes that.")
        return
    screen.table(
        ("host", "since", "your words"),
        [
            (
                styled((each.host, NAME)),
                local_with_age(each.since, session.now),
                styled(("passes them on", GOOD) if each.trusted else ("does not count", FAINT)),
            )
            for each in known
        ],
    )
