"""`everloop pair` and `everloop devices`: sign in, list, rename and sign out devices."""

from argparse import Namespace

from everloop.access import credentials
from everloop.access.commands import RenameDevice, RevokeDevice
from everloop.access.decide import check_user
from everloop.access.state import Device
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import check_reads_all, speaker
from everloop.interfaces.cli.output.screen import FAINT, GOOD, NAME, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.log.model.record import moment


def pair(session: Session, _: Namespace) -> None:
    """Create a pairing code for one device.

    Raises:
        Forbidden: not at a terminal; a paired device acts as the user.
    """
    check_user(session.actor, "pair a device")
    lives_s = session.settings.serve.code_lives_s
    with session.engine() as engine:
        code = credentials.new_code(
            engine.log, engine, engine.world, speaker(session), lives_s=lives_s
        )
    path = f"/#pair={code}"

    def draw(screen: Screen) -> None:
        minutes = lives_s // 60
        screen.say(f"Enter this code on the device within {minutes} minutes: ", (code, NAME))
        screen.say(
            "Or open the address of `everloop serve` on the device, followed by ", (path, NAME)
        )

    session.answer({"code": code, "path": path, "lives_s": lives_s}, draw)


def list_devices(session: Session, _: Namespace) -> None:
    """List signed-in devices."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        known = sorted(
            credentials.doors(engine.log).devices.values(), key=lambda one: -one.position
        )
    rows = [
        {
            "device_id": one.device_id,
            "name": one.name,
            "way": one.way,
            "since": moment(one.since_us),
        }
        for one in known
    ]
    session.answer(rows, lambda screen: _draw(screen, session, known))


def revoke(session: Session, args: Namespace) -> None:
    """Sign out a device and end its open streams.

    Raises:
        Forbidden: not at a terminal; scripts and agents cannot sign out devices.
    """
    check_user(session.actor, "revoke a device")  # first, so that the error reveals no device
    with session.engine() as engine:
        known = _find_device(credentials.doors(engine.log).devices, args.device)
        engine.do(RevokeDevice(known.device_id), by=speaker(session))
    session.answer(
        {"device_id": known.device_id, "revoked": True},
        lambda screen: screen.say(("Signed out", GOOD), ": ", (known.name, NAME), "."),
    )


def rename(session: Session, args: Namespace) -> None:
    """Rename a device."""
    check_user(session.actor, "rename a device")
    with session.engine() as engine:
        known = _find_device(credentials.doors(engine.log).devices, args.device)
        engine.do(RenameDevice(known.device_id, args.name), by=speaker(session))
    session.answer(
        {"device_id": known.device_id, "name": args.name},
        lambda screen: screen.say(("Renamed", GOOD), " to ", (args.name, NAME), "."),
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
        screen.say("No devices. Run `everloop pair` to sign one in.")
        return
    screen.table(
        ("device", "id", "since", "signed in with"),
        [
            (
                styled((one.name, NAME)),
                styled((one.device_id, FAINT)),
                local_with_age(moment(one.since_us), session.now),
                one.way,
            )
            for one in known
        ],
    )
