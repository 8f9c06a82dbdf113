"""`everloop push`: which devices get push messages, how the last ones went, and a test."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from everloop.access import load_access, require_user
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.log import from_microseconds
from everloop.notifications import Delivery, load_notifications
from everloop.services import make_notification_service

SHOWN = 5
DELIVERED = "delivered"


def list_push(session: Session, _: Namespace) -> None:
    """List devices that get push messages, the webhook and the digest, with the newest attempts."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        state = load_notifications(engine.log)
        names = {key: one.name for key, one in load_access(engine.log).devices.items()}
    channels = [*state.subscriptions, *(one for one in state.deliveries if one not in names)]
    channels += [one for one in names if one in state.deliveries]
    rows: list[dict[str, Any]] = [
        {
            "channel": channel,
            "name": names.get(channel, channel),
            "groups": found.groups if (found := state.subscriptions.get(channel)) else (),
            "deliveries": [_row(one) for one in state.deliveries.get(channel, ())],
        }
        for channel in dict.fromkeys(channels)
    ]

    def draw(screen: Screen) -> None:
        for row in rows:
            _draw_channel(screen, session, row)
        if not rows:
            screen.paragraph("No device gets push messages.")
            screen.advice("Switch them on in the browser: Inbox, then Push messages.")

    session.print_result(rows, draw)


def send_test(session: Session, args: Namespace) -> None:
    """Send a test message to a device, by its id or its name, and say how that went."""
    require_user(session.actor, "send a test message")
    with session.open_engine() as engine:
        known = load_notifications(engine.log).subscriptions
        devices = load_access(engine.log).devices
        wanted = [key for key in known if args.device in (key, _name(devices, key))]
        if not wanted:
            raise NotFound(
                f"no device {args.device!r} gets push messages", hint="`everloop push` lists them."
            )
        service = make_notification_service(engine, session.settings.notifications)
        sent = [service.send_test(key) for key in wanted]
    rows = [_row(one) for one in sent]

    def draw(screen: Screen) -> None:
        for row in rows:
            _draw_attempt(screen, session, row)

    session.print_result(rows, draw)


def _name(devices: Mapping[str, Any], key: str) -> str:
    return str(devices[key].name) if key in devices else ""


def _row(one: Delivery) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "kind": one.kind,
        "outcome": one.outcome,
        "status": one.status,
        "detail": one.detail,
        "at": from_microseconds(one.at_us),
    }


def _draw_channel(screen: Screen, session: Session, row: dict[str, Any]) -> None:
    kinds = ", ".join(row["groups"]).replace("_", " ")
    ours = row["channel"] == row["name"]
    state = kinds or ("" if ours else "switched off")
    screen.line(styled_text((row["name"], NAME), (f"  {state}", DIM)))
    if not ours:
        screen.line(styled_text((f"  {row['channel']}", DIM)))
    for one in row["deliveries"][:SHOWN]:
        _draw_attempt(screen, session, one)


def _draw_attempt(screen: Screen, session: Session, one: dict[str, Any]) -> None:
    status = f" ({one['status']})" if one["status"] else ""
    detail = f"  {one['detail']}" if one["detail"] else ""
    colour = GOOD if one["outcome"] == DELIVERED else BAD
    when = format_with_age(one["at"], session.now)
    words = f"  {one['kind']}: "
    screen.line(
        styled_text(words, (f"{one['outcome']}{status}", colour), (f"{detail}  {when}", DIM))
    )
