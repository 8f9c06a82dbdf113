"""`everloop models`: list the models, and allow one that was found on this machine."""

from argparse import Namespace

from everloop.access import (
    allow_model_service,
    allowed_model_services,
    require_user,
    withdraw_model_service,
)
from everloop.adapters import (
    OFFLINE_MODEL,
    DiscoveredModel,
    choose_model,
    discover_models,
    with_consent,
)
from everloop.app import Engine
from everloop.errors import NotFound
from everloop.interfaces.cli.audience import command_context
from everloop.interfaces.cli.output.screen import GOOD, NAME, Screen
from everloop.interfaces.cli.session import Session


def list_models(session: Session, _: Namespace) -> None:
    """List the models that were found, and which of them may be used."""
    with session.open_for_reading() as engine:
        found = _found(session, engine)
    used = choose_model(session.settings.models, "narrative", found).names
    rows = [
        {"name": one.name, "found": one.words, "allowed": not one.unasked, "used": one.name in used}
        for one in found
    ]

    def draw(screen: Screen) -> None:
        if list(used) == [OFFLINE_MODEL]:
            screen.paragraph(
                "No language model answers; the built-in one (",
                (OFFLINE_MODEL, NAME),
                ") quotes"
                " what you told it. Connect one on the page of `everloop serve`, or see"
                " docs/models.md.",
            )
        else:
            screen.paragraph("Answers come from ", (", then ".join(used), NAME), ".")
        if found:
            screen.table(
                ("model", "found", ""),
                [(one.name, one.words, "not allowed yet" if one.unasked else "") for one in found],
            )

    session.print_result({"used": list(used), "found": rows}, draw)


def allow(session: Session, args: Namespace) -> None:
    """Allow a model service that was found to be sent prompts, which contain memories.

    Raises:
        Forbidden: not at a terminal.
        NotFound: it was not found.
    """
    require_user(session.actor, "allow a model service")
    with session.open_engine() as engine:
        service, here = _service(args.service), _found(session, engine)
        found = next((one for one in here if one.service == service), None)
        if found is None:
            names = ", ".join(sorted({one.service for one in here}))
            raise NotFound(
                f"{service!r} was not found on this machine",
                hint=f"Found: {names}." if names else "Start it, then try again.",
            )
        by = command_context(session)
        allow_model_service(engine.log, engine, by, found.service, found.address)
    session.print_result(
        {"service": found.service, "address": found.address, "allowed": True},
        lambda screen: screen.paragraph(("Allowed", GOOD), ": ", (found.service, NAME), "."),
    )


def withdraw(session: Session, args: Namespace) -> None:
    """Do not use a model service any more.

    Raises:
        Forbidden: not at a terminal.
        NotFound: it was not allowed.
    """
    require_user(session.actor, "withdraw a model service")
    with session.open_engine() as engine:
        service = _service(args.service)
        if service not in allowed_model_services(engine.log):
            raise NotFound(
                f"{service!r} is not allowed", hint="`everloop models` lists what was found."
            )
        withdraw_model_service(engine.log, engine, command_context(session), service)
    session.print_result(
        {"service": service, "allowed": False},
        lambda screen: screen.paragraph(("Withdrawn", GOOD), ": ", (service, NAME), "."),
    )


def _service(name: str) -> str:
    """The service of a model as `everloop models` lists it, or a service by its own name."""
    return name.partition(":")[0]


def _found(session: Session, engine: Engine) -> list[DiscoveredModel]:
    found = discover_models(session.settings.models)
    return with_consent(found, allowed_model_services(engine.log))
