"""A mail server on loopback, with STARTTLS and a password if wanted."""

import asyncio
import datetime
import ipaddress
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

PASSWORD = "right"  # noqa: S105 - of a server in a test


class MailServer:
    """Keeps the mails that it took. `answers` are said instead of taking the next ones."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        self.answers: list[str] = []
        self.secure: list[bool] = []
        self.port = 0

    async def handle_DATA(  # noqa: N802 - the library's name
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        """Take a mail, or say why not."""
        del server
        if self.answers:
            return self.answers.pop(0)
        self.secure.append(session.ssl is not None)
        self.mails.append(bytes(envelope.content).decode())
        return "250 OK"


def _authenticate(*asked: Any) -> AuthResult:
    said: Any = asked[-1]
    right = isinstance(said, LoginPassword) and said.password == PASSWORD.encode()
    return AuthResult(success=right, handled=False)


@contextmanager
def mail_server(
    tls: ssl.SSLContext | None = None, *, password: bool = False
) -> Generator[MailServer]:
    """Run it while the test does."""
    mails, ready, over = MailServer(), threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    def protocol() -> SMTP:
        return SMTP(
            mails,
            hostname="mail.invalid",
            tls_context=tls,
            require_starttls=tls is not None,
            authenticator=_authenticate if password else None,
            auth_required=password,
            loop=loops[0],
        )

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with await loops[0].create_server(protocol, "127.0.0.1", 0) as listening:
            mails.port = listening.sockets[0].getsockname()[1]
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield mails
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


def make_certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate for 127.0.0.1: what the server shows, and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        .not_valid_after(datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "mail.pem"
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(plain + made.public_bytes(Encoding.PEM))
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(file)
    return shown, ssl.create_default_context(cafile=str(file))
