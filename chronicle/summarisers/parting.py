"""What is too long for one request, parted at the bounds of events.

Guarantees: parts hold all blocks, in order, and each keeps to the limit by the estimate of tokens; a block that
alone is over it is split at the ends of lines, else inside a line, and each piece but the first says what it goes
on with. Where blocks fit into one part, there is one.
"""

from collections.abc import Iterator, Sequence

from chronicle.summarisers.rendering import BAR
from chronicle.tokens import BYTES_PER_TOKEN, estimate

GOES_ON = "(the same, going on)"
SEPARATOR = 1  # tokens of the empty line between blocks


def parts(blocks: Sequence[str], limit: int) -> list[list[str]]:
    """Return blocks by part, each of at most `limit` tokens (an estimate), filled evenly."""
    pieces = [piece for block in blocks for piece in _pieces(block, limit)]
    sizes = [estimate(piece) + SEPARATOR for piece in pieces]
    count = -(-sum(sizes) // limit) or 1
    even = min(limit, -(-sum(sizes) // count) + max(sizes, default=0) // 2)
    found: list[list[str]] = [[]]
    room = even
    for piece, size in zip(pieces, sizes, strict=True):
        if found[-1] and size > room:
            found.append([])
            room = even
        found[-1].append(piece)
        room -= size
    return found


def groups(accounts: Sequence[str], limit: int) -> list[list[str]]:
    """Return accounts of parts by what is joined in one draw; two at least go together, so that joining ends."""
    found: list[list[str]] = [[]]
    for account in accounts:
        if len(found[-1]) >= 2 and sum(map(estimate, (*found[-1], account))) > limit:
            found.append([])
        found[-1].append(account)
    if len(found) > 1 and len(found[-1]) == 1:
        found[-2].append(found.pop()[0])
    return found


def _pieces(block: str, limit: int) -> Iterator[str]:
    if estimate(block) + SEPARATOR <= limit:
        yield block
        return
    room = (limit - SEPARATOR) * BYTES_PER_TOKEN - len(GOES_ON) - 1
    piece, size = "", 0
    for line in _lines(block, room):
        length = len(line.encode("utf-8", "surrogatepass")) + 1
        if piece and size + length > room:
            yield piece
            piece, size = GOES_ON, 0
        piece, size = f"{piece}\n{line}" if piece else line, size + length
    yield piece


def _lines(block: str, room: int) -> Iterator[str]:
    """The lines of a block; one of more than `room` bytes in several, each with its bar."""
    for line in block.split("\n"):
        if len(line.encode("utf-8", "surrogatepass")) < room:
            yield line
            continue
        bar = BAR if line.startswith(BAR) else ""
        text, most = line.removeprefix(BAR), (room - len(BAR) - 1) // 4  # a character takes four bytes at most
        yield from (f"{bar}{text[place : place + most]}" for place in range(0, len(text), most))
