"""The LAN address of this machine, for other devices in the same network."""

import socket
from contextlib import closing

NOWHERE = ("192.0.2.1", 9)  # reserved for documentation (RFC 5737); nothing is sent
LOOPBACK = "127.0.0.1"


def lan_address() -> str:
    """The address of the outgoing network interface; loopback if there is none."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(NOWHERE)
        except OSError:
            return LOOPBACK
        address: str = probe.getsockname()[0]
    return address
