"""`everloop packs` and `packs install`: what others made, looked at before it is taken in."""

from argparse import Namespace
from pathlib import Path

from everloop.adapters.files.packs import read_pack
from everloop.interfaces.cli.audience import speaker
from everloop.interfaces.cli.commands.crew.write import draw_taken_in
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import FAINT, NAME, WARNING, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import code_of, draw_troubles
from everloop.lessons.crew.fields import named
from everloop.lessons.crew.pack import Offer, Pack


def list_packs(session: Session, _: Namespace) -> None:
    """List the packs that brought something."""
    with session.looking() as engine:
        found = engine.crew.packs(session.actor)

    def draw(screen: Screen) -> None:
        if not found:
            screen.say("No packs here. `everloop packs install` takes one in.")
            return
        screen.table(
            ("pack", "brought"),
            [
                (
                    styled((pack_id, NAME)),
                    ", ".join(plural(number, sort) for sort, number in sorted(counts.items())),
                )
                for pack_id, counts in found.items()
            ],
        )

    session.answer(found, draw)


def install(session: Session, args: Namespace) -> int | None:
    """Take a pack in, after a look at it."""
    pack = read_pack(Path(args.pack))
    if args.preview:
        session.answer(pack, lambda screen: _preview(screen, pack))
        return None
    question = f"Install the pack {pack.pack_id}, with {plural(len(pack.offers), 'thing')}?"
    if not session.agreed(lambda screen: _preview(screen, pack), question):
        return DECLINED
    with session.engine() as engine:
        done = engine.crew.install(pack, by=speaker(session))
    session.answer(done, lambda screen: draw_taken_in(screen, done))
    return code_of(done.troubles)


def _preview(screen: Screen, pack: Pack) -> None:
    screen.table(
        ("", "from", "what", "description"),
        [
            (
                offer.sort,
                styled((offer.source, NAME)),
                styled((_notice(offer), WARNING)),
                str(offer.fields.get("description", "")),
            )
            for offer in pack.offers
        ],
        cut=True,
    )
    draw_troubles(screen, pack.troubles)
    screen.say(("Hooks and files are stored and shown; Everloop never runs them.", FAINT))


def _notice(offer: Offer) -> str:
    """What a person should look at before taking it in."""
    said = named(offer.fields)
    notices = ["hooks"] if said.get("hooks") else []
    if offer.files:
        notices.append(plural(len(offer.files), "file"))
    if offer.sort == "lesson" and str(said.get("promoted", "")).lower() == "true":
        notices.append("promoted at once")
    return ", ".join(notices)
