"""`everloop packs` and `packs install`: list packs, and install them after a preview."""

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
    """List installed packs."""
    with session.looking() as engine:
        found = engine.crew.packs(session.actor)

    def draw(screen: Screen) -> None:
        if not found:
            screen.say("No packs installed. Run `everloop packs install PACK` to install one.")
            return
        screen.table(
            ("pack", "contents"),
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
    """Install a pack, after a preview."""
    pack = read_pack(Path(args.pack))
    if args.preview:
        session.answer(pack, lambda screen: _preview(screen, pack))
        return None
    question = f"Install the pack {pack.pack_id} with {plural(len(pack.offers), 'item')}?"
    if not session.agreed(lambda screen: _preview(screen, pack), question):
        return DECLINED
    with session.engine() as engine:
        done = engine.crew.install(pack, by=speaker(session))
    session.answer(done, lambda screen: draw_taken_in(screen, done))
    return code_of(done.troubles)


def _preview(screen: Screen, pack: Pack) -> None:
    screen.table(
        ("", "source", "notice", "description"),
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
    screen.say(("Hooks and files are stored, but Everloop never runs them.", FAINT))


def _notice(offer: Offer) -> str:
    """What a person should check before installing it."""
    fields = named(offer.fields)
    notices = ["hooks"] if fields.get("hooks") else []
    if offer.files:
        notices.append(plural(len(offer.files), "file"))
    if offer.sort == "lesson" and str(fields.get("promoted", "")).lower() == "true":
        notices.append("promoted immediately")
    return ", ".join(notices)
