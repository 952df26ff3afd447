"""Bodies that came compressed.

Guarantees: never more than `limit` bytes are made of a body, and never more than MOST_TIMES its own size (past
FREE bytes, so that a small one may be mostly blank). Refuses: TooLarge past either; InvalidRequest for no gzip, one
that is cut, or anything behind its end.
"""

import zlib

from chronicle.errors import InvalidRequest, TooLarge

MOST_TIMES = 200
FREE = 1024 * 1024
GZIP = 16 + zlib.MAX_WBITS


def gunzipped(data: bytes, limit: int) -> bytes:
    """Return what a gzip of one member or several holds. Raises TooLarge, InvalidRequest."""
    allowed = min(limit, max(FREE, len(data) * MOST_TIMES))
    found, rest = bytearray(), data
    while rest:
        member = zlib.decompressobj(GZIP)
        try:
            found += member.decompress(rest, allowed - len(found) + 1)
        except zlib.error as error:
            raise InvalidRequest("The body is no gzip.", field="body") from error
        if len(found) > allowed:
            raise TooLarge(f"Unpacked, a body here holds at most {allowed} bytes; send smaller batches.", limit=allowed)
        if not member.eof:
            raise InvalidRequest("The gzip of the body is cut.", field="body")
        rest = member.unused_data
    return bytes(found)
