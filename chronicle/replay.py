"""Pin keys, and recorded pins as a resolver.

Guarantees: a key names everything that a request says (`p1:<kind>:<sha256>`), the same on every machine
and in every fresh database, because no id, time or delivery setting belongs into a request.
Refuses: NaN, what is not JSON, and two keys of one object that NFC makes one (ValueError).
"""

import unicodedata
from typing import Any

from chronicle import canonical

SCHEME = 1


def pin_key(kind: str, request: Any) -> str:
    """Return `p<scheme>:<kind>:<sha256>` over the canonical JSON of `request`, its strings in NFC."""
    return f"p{SCHEME}:{kind}:{canonical.sha256(canonical.dump(_nfc(request)).encode())}"


def _nfc(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        made = {_nfc(key): _nfc(one) for key, one in value.items()}
        if len(made) != len(value):
            raise ValueError("Two keys of a request are one after NFC; give each its own name.")
        return made
    return [_nfc(one) for one in value] if isinstance(value, list | tuple) else value
