"""Where a command listens: a port as an argument, whether it is free, and how an address is written.

Refuses: what is no port; an address that cannot be taken (CannotStart, with the way out).
"""

import socket
from argparse import ArgumentTypeError

from chronicle.errors import CannotStart

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104


def port(given: str) -> int:
    """Read a port, as argparse asks."""
    if not given.isdecimal() or not 1 <= int(given) <= 65535:
        raise ArgumentTypeError(f"a port is a number from 1 to 65535, not {given!r}")
    return int(given)


def check_port(number: int) -> None:
    """Raise CannotStart for a number that is no port."""
    if not 1 <= number <= 65535:
        raise CannotStart(f"A port is a number from 1 to 65535, not {number}.")


def check_free(host: str, port: int, *, option: str = "--port") -> None:
    """Raise CannotStart unless the address can be listened on; `option` is what chooses another."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CannotStart(
            f"Cannot listen on {host} port {port} ({error.strerror}); choose another with {option}, or end what"
            " holds it."
        ) from error


def shown(host: str) -> str:
    """Return the host as it stands in an address that can be opened from here."""
    host = "127.0.0.1" if host in ANYWHERE else host
    return f"[{host}]" if ":" in host else host
