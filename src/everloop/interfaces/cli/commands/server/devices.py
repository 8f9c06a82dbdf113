"""`everloop pair` and `everloop devices`: sign in, list, rename and sign out devices."""

from argparse import Namespace

from everloop.access import (
    Device,
    RenameDevice,
    RevokeDevice,
    load_access,
    make_pairing_code,
    require_user,
)
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.output.screen import DIM, GOOD, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.log import from_microseconds


def pair(session: Session, _: Namespace) -> None:
    """Create a pairing code for one device.

    Raises:
        Forbidden: not at a terminal; a paired device acts as the user.
    """
    require_user(session.actor, "pair a device")
    lives_s = session.settings.serve.code_lives_s
    with session.open_engine() as engine:
        code = make_pairing_code(
            engine.log, engine, engine.ports, command_context(session), lives_s=lives_s
        )
    path = f"/#pair={code}"

    def draw(screen: Screen) -> None:
        minutes = lives_s // 60
        screen.paragraph(f"Enter this code on the device within {minutes} minutes: ", (code, NAME))
        screen.advice(
            "Or open the address of `everloop serve` on the device, followed by ", (path, NAME)
        )

    session.print_result({"code": code, "path": path, "lives_s": lives_s}, draw)


def list_devices(session: Session, _: Namespace) -> None:
    """List signed-in devices."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        known = sorted(load_access(engine.log).devices.values(), key=lambda one: -one.position)
    rows = [
        {
            "device_id": one.device_id,
            "name": one.name,
            "way": one.way,
            "since": from_microseconds(one.since_us),
        }
        for one in known
    ]
    session.print_result(rows, lambda screen: _draw(screen, session, known))


def revoke(session: Session, args: Namespace) -> None:
    """Sign out a device and end its open streams.

    Raises:
        Forbidden: not at a terminal; scripts and agents cannot sign out devices.
    """
    require_user(session.actor, "revoke a device")  # first, so that the error reveals no device
    with session.open_engine() as engine:
        known = _find_device(load_access(engine.log).devices, args.device)
        engine.do(RevokeDevice(known.device_id), by=command_context(session))
    session.print_result(
        {"device_id": known.device_id, "revoked": True},
        lambda screen: screen.paragraph(("Signed out", GOOD), ": ", (known.name, NAME), "."),
    )


def rename(session: Session, args: Namespace) -> None:
    """Rename a device."""
    require_user(session.actor, "rename a device")
    with session.open_engine() as engine:
        known = _find_device(load_access(engine.log).devices, args.device)
        engine.do(RenameDevice(known.device_id, args.name), by=command_context(session))
    session.print_result(
        {"device_id": known.device_id, "name": args.name},
        lambda screen: screen.paragraph(("Renamed", GOOD), " to ", (args.name, NAME), "."),
    )


def _find_device(devices: dict[str, Device], name: str) -> Device:
    """Find a device by its id or unique name."""
    found = [one for one in devices.values() if name in (one.device_id, one.name)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found) or 'no'} devices are named {name!r}",
            hint="Run `everloop devices` to list their IDs.",
        )
    return found[0]


def _draw(screen: Screen, session: Session, known: list[Device]) -> None:
    if not known:
        screen.advice("No devices. Run `everloop pair` to sign one in.")
        return
    screen.table(
        ("device", "id", "since", "signed in with"),
        [
            (
                styled_text((one.name, NAME)),
                styled_text((one.device_id, DIM)),
                format_with_age(from_microseconds(one.since_us), session.now),
                one.way,
            )
            for one in known
        ],
    )
