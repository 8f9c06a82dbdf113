"""`everloop hosts`: which hosts the user trusts to report their feedback."""

from argparse import Namespace

from everloop.access import issue_host_token
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.screen import BOLD, DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.lessons import HostTrust

WHAT_TRUST_MEANS = (
    "A trusted host, and every agent that runs in it, can activate, change, discard and replace"
    " lessons and install packs in your name; what it withdraws is noted in the home thread. Praise"
    " that it reports counts as yours if its hook heard you say the words, for one lesson a day"
    " that you did not activate yourself. For that, messages to it that sound like feedback are"
    " recorded. It cannot promote a lesson, take blame back, or trust another host."
)


def list_hosts(session: Session, _: Namespace) -> None:
    """List the hosts that were trusted or distrusted."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        known = engine.lessons.hosts()
    session.print_result(known, lambda screen: _draw(screen, session, known))


def trust(session: Session, args: Namespace) -> None:
    """Trust a host to report the user's feedback."""
    with session.open_engine() as engine:
        changed = engine.lessons.trust(args.host, by=command_context(session))
    _answer(session, args.host, "is trusted to report your feedback", changed=changed, trusted=True)


def distrust(session: Session, args: Namespace) -> None:
    """Stop trusting a host. Feedback that it reported before no longer counts either."""
    with session.open_engine() as engine:
        changed = engine.lessons.distrust(args.host, by=command_context(session))
    _answer(
        session, args.host, "is not trusted to report your feedback", changed=changed, trusted=False
    )


def token(session: Session, args: Namespace) -> None:
    """Create a token for a host to use the MCP endpoint of `everloop serve`.

    Raises:
        Forbidden: not at a terminal.
    """
    with session.open_engine() as engine:
        by = command_context(session)
        given = issue_host_token(engine.log, engine, engine.ports, args.host, by)
    place = session.settings.serve
    own = f"https://{place.host_names[0]}" if place.secure and place.host_names else ""
    address = f"{own or f'http://127.0.0.1:{place.port}'}/mcp"
    header = f"Authorization: Bearer {given.text}"
    document = {"host": args.host, "device_id": given.device_id, "token": given.text}

    def draw(screen: Screen) -> None:
        screen.paragraph("This token is shown once. It gives access as ", (args.host, NAME), ".")
        screen.paragraph((given.text, BOLD))
        screen.advice("For Claude Code, while `everloop serve` is running:")
        line = f'claude mcp add --transport http everloop {address} --header "{header}"'
        session.stdout.write(f"{line}\n")  # unwrapped, so that it can be copied

    session.print_result({**document, "url": address}, draw)


def _answer(session: Session, host: str, done: str, *, changed: bool, trusted: bool) -> None:
    def draw(screen: Screen) -> None:
        how = ("Done", GOOD) if changed else "No change"
        screen.paragraph(how, ": ", (host, NAME), f" {done}.")
        if trusted:
            screen.paragraph(WHAT_TRUST_MEANS)

    session.print_result({"host": host, "trusted": trusted, "changed": changed}, draw)


def _draw(screen: Screen, session: Session, known: list[HostTrust]) -> None:
    if not known:
        screen.advice("No trusted hosts. Run `everloop hosts trust NAME` to trust one.")
        return
    screen.table(
        ("host", "since", "status"),
        [
            (
                styled_text((each.host, NAME)),
                format_with_age(each.since, session.now),
                styled_text(("trusted", GOOD) if each.trusted else ("not trusted", DIM)),
            )
            for each in known
        ],
    )
