"""`everloop pair` and `everloop devices`: who may come in through the HTTP door."""

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
    """Make a code that lets one device in.

    Raises:
        Forbidden: nobody is at the terminal; whoever comes in with the code speaks as the user.
    """
    check_user(session.actor, "let a device in")
    lives_s = session.settings.serve.code_lives_s
    with session.engine() as engine:
        code = credentials.new_code(
            engine.log, engine.do, engine.world, speaker(session), lives_s=lives_s
        )
    path = f"/#pair={code}"

    def draw(screen: Screen) -> None:
        minutes = lives_s // 60
        screen.say(f"Type this code on the device, within {minutes} minutes: ", (code, NAME))
        screen.say("Or open there the address of `everloop serve`, followed by ", (path, NAME))

    session.answer({"code": code, "path": path, "lives_s": lives_s}, draw)


def list_devices(session: Session, _: Namespace) -> None:
    """Show every device that is let in."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        known = sorted(
            credentials.doors(engine.log).devices.values(), key=lambda one: -one.position
        )
    told = [
        {
            "device_id": one.device_id,
            "name": one.name,
            "way": one.way,
            "since": moment(one.since_us),
        }
        for one in known
    ]
    session.answer(told, lambda screen: _draw(screen, session, known))


def revoke(session: Session, args: Namespace) -> None:
    """Let a device in no more. Its open streams end.

    Raises:
        Forbidden: nobody is at the terminal; an agent's shell shuts nobody out.
    """
    check_user(session.actor, "revoke a device")  # before anything is looked up: that would hint
    with session.engine() as engine:
        known = _known(credentials.doors(engine.log).devices, args.device)
        engine.do(RevokeDevice(known.device_id), by=speaker(session))
    session.answer(
        {"device_id": known.device_id, "revoked": True},
        lambda screen: screen.say(("Recorded", GOOD), ": ", (known.name, NAME), " is out."),
    )


def rename(session: Session, args: Namespace) -> None:
    """Call a device something else."""
    check_user(session.actor, "rename a device")
    with session.engine() as engine:
        known = _known(credentials.doors(engine.log).devices, args.device)
        engine.do(RenameDevice(known.device_id, args.name), by=speaker(session))
    session.answer(
        {"device_id": known.device_id, "name": args.name},
        lambda screen: screen.say(("Recorded", GOOD), ": it is ", (args.name, NAME), " now."),
    )


def _known(devices: dict[str, Device], name: str) -> Device:
    """The device that an id, or a name that only one has, means."""
    found = [one for one in devices.values() if name in (one.device_id, one.name)]
    if len(found) != 1:
        raise NotFound(
            f"{len(found) or 'no'} devices are called {name!r}",
            hint="`everloop devices` lists them with their ids.",
        )
    return found[0]


def _draw(screen: Screen, session: Session, known: list[Device]) -> None:
    if not known:
        screen.say("No device is let in. `everloop pair` makes a code for one.")
        return
    screen.table(
        ("device", "id", "since", "came in by"),
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
