"""`everloop hosts`: which hosts the user trusts to report their feedback."""

from argparse import Namespace

from everloop.access import credentials
from everloop.interfaces.cli.audience import check_reads_all, speaker
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, STRONG, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons.projections.hosts import HostStanding


def list_hosts(session: Session, _: Namespace) -> None:
    """List the hosts that were trusted or distrusted."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        known = engine.lessons.hosts()
    session.answer(known, lambda screen: _draw(screen, session, known))


def trust(session: Session, args: Namespace) -> None:
    """Trust a host to report the user's feedback."""
    with session.engine() as engine:
        changed = engine.lessons.trust(args.host, by=speaker(session))
    _answer(session, args.host, "is trusted to report your feedback", changed=changed, trusted=True)


def distrust(session: Session, args: Namespace) -> None:
    """Stop trusting a host. Feedback that it reported before no longer counts either."""
    with session.engine() as engine:
        changed = engine.lessons.distrust(args.host, by=speaker(session))
    _answer(
        session, args.host, "is not trusted to report your feedback", changed=changed, trusted=False
    )


def token(session: Session, args: Namespace) -> None:
    """Create a token for a host to use the MCP endpoint of `everloop serve`.

    Raises:
        Forbidden: not at a terminal.
    """
    with session.engine() as engine:
        by = speaker(session)
        given = credentials.give_token(engine.log, engine, engine.world, args.host, by)
    place = session.settings.serve
    own = f"https://{place.names[0]}" if place.secure and place.names else ""
    address = f"{own or f'http://127.0.0.1:{place.port}'}/mcp"
    header = f"Authorization: Bearer {given.text}"
    document = {"host": args.host, "device_id": given.device_id, "token": given.text}

    def draw(screen: Screen) -> None:
        screen.say("This token is shown once. It gives access as ", (args.host, NAME), ".")
        screen.say((given.text, STRONG))
        screen.say("For Claude Code, while `everloop serve` is running:")
        line = f'claude mcp add --transport http everloop {address} --header "{header}"'
        session.stdout.write(f"{line}\n")  # unwrapped, so that it can be copied

    session.answer({**document, "url": address}, draw)


def _answer(session: Session, host: str, done: str, *, changed: bool, trusted: bool) -> None:
    def draw(screen: Screen) -> None:
        how = ("Done", GOOD) if changed else "No change"
        screen.say(how, ": ", (host, NAME), f" {done}.")

    session.answer({"host": host, "trusted": trusted, "changed": changed}, draw)


def _draw(screen: Screen, session: Session, known: list[HostStanding]) -> None:
    if not known:
        screen.say("No trusted hosts. Run `everloop hosts trust NAME` to trust one.")
        return
    screen.table(
        ("host", "since", "status"),
        [
            (
                styled((each.host, NAME)),
                local_with_age(each.since, session.now),
                styled(("trusted", GOOD) if each.trusted else ("not trusted", FAINT)),
            )
            for each in known
        ],
    )
