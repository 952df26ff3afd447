"""How many tokens a text is worth, as an estimate; called an estimate wherever it is shown.

Guarantees: UTF-8 bytes / 4, rounded up, so no script is counted at less than it costs. Anything that
takes a text and returns a count can stand in for it (`Counter`).
"""

from collections.abc import Callable

Counter = Callable[[str], int]

BYTES_PER_TOKEN = 4


def estimate(text: str) -> int:
    """Return UTF-8 bytes / 4, rounded up; 0 for an empty text. A lone surrogate counts as its three bytes."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
