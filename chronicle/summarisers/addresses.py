"""Which addresses a model may be asked at.

Guarantees: http and https alone; no key in an address; nothing on the link itself, nothing that a cloud keeps for
its own machines (metadata, credentials), whatever form the number is written in and whatever name leads there.
Loopback and private networks are allowed: a model on one's own machines is what they are named for, and the
address comes from the environment of whoever runs the site, never from a row or a page.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from chronicle.errors import DrawFailed

# What clouds answer on beside the link-local range, which is refused whole.
METADATA = frozenset(map(ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")))
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})

type Address = IPv4Address | IPv6Address


def check_address(url: str) -> None:
    """Raise DrawFailed for an address that no model is asked at. The address itself is not repeated."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise DrawFailed("The address of the model is none: give http:// or https:// and a host.")
    if parts.username or parts.password:
        raise DrawFailed("The address of the model holds a user or password; keys have variables of their own.")
    if host.rstrip(".").lower() in METADATA_NAMES or any(map(_refused, _addresses(host))):
        raise DrawFailed("The address of the model leads to the link itself or to a cloud's metadata; it is refused.")


def _addresses(host: str) -> list[Address]:
    """Return what a host stands for; a name that nobody knows stands for nothing, and connecting says so."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ip_address(str(row[4][0]).partition("%")[0]) for row in found]


def _refused(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (inner := address.ipv4_mapped or address.sixtofour) is not None:
        return _refused(inner)
    outside = address.is_link_local or address.is_multicast or address.is_unspecified
    return outside or address in METADATA or (isinstance(address, IPv4Address) and address.is_reserved)
