"""`everloop packs` and `packs install`: list packs, and install them after a preview."""

from argparse import Namespace
from pathlib import Path

from everloop.adapters import read_pack
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.commands.crew.write import draw_import_result
from everloop.interfaces.cli.fact_tables import plural
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import DIM, NAME, WARNING, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.interfaces.cli.skipped_files import draw_skipped, exit_code_of_skipped
from everloop.lessons import Pack, PackEntry, normalise_names


def list_packs(session: Session, _: Namespace) -> None:
    """List installed packs."""
    with session.open_for_reading() as engine:
        found = engine.crew.pack_counts(session.actor)

    def draw(screen: Screen) -> None:
        if not found:
            screen.advice("No packs installed. Run `everloop packs install PACK` to install one.")
            return
        screen.table(
            ("pack", "contents"),
            [
                (
                    styled_text((pack_id, NAME)),
                    ", ".join(plural(number, sort) for sort, number in sorted(counts.items())),
                )
                for pack_id, counts in found.items()
            ],
        )

    session.print_result(found, draw)


def install(session: Session, args: Namespace) -> int | None:
    """Install a pack, after a preview."""
    pack = read_pack(Path(args.pack))
    if args.preview:
        session.print_result(pack, lambda screen: _preview(screen, pack))
        return None
    question = f"Install the pack {pack.pack_id} with {plural(len(pack.offers), 'item')}?"
    if not session.confirm(lambda screen: _preview(screen, pack), question):
        return DECLINED
    with session.open_engine() as engine:
        done = engine.crew.install(pack, by=command_context(session))
    session.print_result(done, lambda screen: draw_import_result(screen, done))
    return exit_code_of_skipped(done.troubles)


def _preview(screen: Screen, pack: Pack) -> None:
    screen.table(
        ("", "source", "notice", "description"),
        [
            (
                offer.sort,
                styled_text((offer.source, NAME)),
                styled_text((_notice(offer), WARNING)),
                str(offer.fields.get("description", "")),
            )
            for offer in pack.offers
        ],
        cut=True,
    )
    draw_skipped(screen, pack.troubles)
    screen.paragraph(("Hooks and files are stored, but Everloop never runs them.", DIM))


def _notice(offer: PackEntry) -> str:
    """What a person should check before installing it."""
    fields = normalise_names(offer.fields)
    notices = ["hooks"] if fields.get("hooks") else []
    if offer.files:
        notices.append(plural(len(offer.files), "file"))
    if offer.sort == "lesson" and str(fields.get("promoted", "")).lower() == "true":
        notices.append("promoted immediately")
    return ", ".join(notices)
