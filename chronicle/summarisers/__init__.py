"""Summarisers: one protocol; `outline` works offline and invents no word.

`summariser_named` is the only way from a policy's word to a summariser. Whoever runs the site may bring a class
of their own: SUMMARISER=package.module:Class. That comes from the environment alone, for a row of the database
must never say what code is run.
"""

import os
from importlib import import_module
from typing import cast

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
    if ":" in name and name == os.environ.get("SUMMARISER"):
        return _own(name)
    if name in LATER:
        raise InvalidPolicy(f"summariser {name!r} is not in this version yet; use outline", field="summariser")
    raise InvalidPolicy(f"summariser {name!r} is none of {', '.join(NAMES)}", field="summariser")


def _own(name: str) -> Summariser:
    module, _, attribute = name.partition(":")
    try:
        return cast("Summariser", getattr(import_module(module), attribute)())
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidPolicy(f"SUMMARISER={name} cannot be loaded: {error}", field="summariser") from error
