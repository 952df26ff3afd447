"""Summarisers: one protocol; `outline` works offline and invents no word.

`summariser_named` is the only way from a policy's word to a summariser.
"""

from chronicle.errors import InvalidPolicy
from chronicle.summarisers.outline import Outline
from chronicle.summarisers.protocol import Summariser
from chronicle.summarisers.span import nothing_public, span_of

__all__ = ["NAMES", "nothing_public", "span_of", "summariser_named"]

NAMES = ("outline",)
LATER = ("model",)


def summariser_named(name: str) -> Summariser:
    """Return the summariser that a policy names. Raises InvalidPolicy for one that is not here."""
    if name == Outline.name:
        return Outline()
    if name in LATER:
        raise InvalidPolicy(f"summariser {name!r} is not in this version yet; use outline", field="summariser")
    raise InvalidPolicy(f"summariser {name!r} is none of {', '.join(NAMES)}", field="summariser")
