"""Choice of the embedder by the settings. The others are not loaded."""

from importlib.util import find_spec

from everloop.adapters.embedders.granite import PACKAGE, GraniteEmbedder
from everloop.memory.settings import MemorySettings
from everloop.ports import Embedder


def chosen_embedder(settings: MemorySettings) -> Embedder | None:
    """The embedder of the settings; None if it is off or its weights are not installed."""
    if settings.embedder == "endpoint":
        return endpoint_embedder(settings)
    if settings.embedder == "hub":
        from everloop.adapters.embedders.fastembed import HubEmbedder  # noqa: PLC0415 - see above

        return HubEmbedder(settings.hub_model, dimensions=settings.hub_dimensions)
    if settings.embedder == "granite" and find_spec(PACKAGE) is not None:
        return GraniteEmbedder()
    return None


def interactive_embedder(settings: MemorySettings, chosen: Embedder) -> Embedder:
    """The chosen embedder for interactive requests, with a shorter timeout."""
    if settings.embedder == "endpoint":
        return endpoint_embedder(settings, timeout_s=settings.endpoint_wait_s)
    return chosen


def endpoint_embedder(settings: MemorySettings, *, timeout_s: float | None = None) -> Embedder:
    """The embedder of the configured endpoint."""
    from everloop.adapters.embedders.endpoint import TIMEOUT_S, EndpointEmbedder  # noqa: PLC0415

    return EndpointEmbedder(
        settings.endpoint,
        settings.endpoint_model,
        key=settings.endpoint_key,
        dimensions=settings.endpoint_dimensions,
        timeout_s=TIMEOUT_S if timeout_s is None else timeout_s,
    )
