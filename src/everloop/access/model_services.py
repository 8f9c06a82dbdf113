"""Which model services the user allowed to be sent prompts."""

from everloop.access.commands import AllowModelService, WithdrawModelService
from everloop.access.pairing import load_access
from everloop.access.state import ACCESS_STREAM
from everloop.log import CommandBus, Context, Log


def allow_model_service(log: Log, bus: CommandBus, by: Context, service: str, address: str) -> None:
    """Record that the user allows a model service at an address.

    Raises:
        Forbidden: the actor is not the user.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    bus.do(AllowModelService(service, address), by=by)


def withdraw_model_service(log: Log, bus: CommandBus, by: Context, service: str) -> None:
    """Record that the user no longer allows a model service.

    Raises:
        Forbidden: the actor is not the user.
    """
    log.create_tree(ACCESS_STREAM, actor=by.actor)
    bus.do(WithdrawModelService(service), by=by)


def allowed_model_services(log: Log) -> dict[str, str]:
    """The allowed services and the address of each; empty for one without an address."""
    return load_access(log).model_services
