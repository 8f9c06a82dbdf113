"""Settings of notifications; section `[notifications]`."""

from typing import Annotated

import msgspec
from msgspec import Meta


class NotificationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How you hear of new requests outside of the page; section `[notifications]`."""

    needs_you_ttl_s: Annotated[
        int,
        Meta(
            ge=3_600,
            description="Seconds for which a push service keeps a message about what needs you.",
        ),
    ] = 86_400
    finished_ttl_s: Annotated[
        int,
        Meta(
            ge=0,
            description="Seconds for which a push service keeps a message about finished work.",
        ),
    ] = 300
    attempts_max: Annotated[
        int, Meta(ge=1, le=10, description="How often a message is tried that was not delivered.")
    ] = 3
    contact: Annotated[
        str,
        Meta(
            description="Address that push services may write to: `mailto:you@example.org`."
            " Some services want one, with a real domain: Apple refuses `localhost`, `.local` and"
            " `.invalid`."
        ),
    ] = "mailto:everloop@example.org"
    webhook_url: Annotated[
        str,
        Meta(
            description="Address that gets a POST with title, link and kind of each new request."
            " Empty: off."
        ),
    ] = ""
    email_to: Annotated[
        str, Meta(description="Address that gets a digest of what waits for you. Empty: off.")
    ] = ""
    email_from: Annotated[str, Meta(description="Sender of the digest.")] = "everloop@localhost"
    email_server: Annotated[
        str, Meta(description="Mail server of the digest: `host` or `host:port`.")
    ] = "localhost:25"
    email_tls: Annotated[
        bool, Meta(description="Whether the mail server is spoken to with STARTTLS.")
    ] = False
    email_user: Annotated[str, Meta(description="Name for the mail server, if it wants one.")] = ""
    email_password_key: Annotated[
        str, Meta(description="Password for the mail server, if it wants one.")
    ] = ""
    email_every_s: Annotated[
        int,
        Meta(ge=60, description="Seconds between two digests. Without anything new none is sent."),
    ] = 86_400
