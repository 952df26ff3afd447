"""Summarisers: one protocol; `outline` works offline and invents no word, `model` asks a provider.

`summariser_named` is the only way from a policy's word to a summariser. Whoever runs the site may bring a class
of their own: SUMMARISER=package.module:Class. That comes from the environment alone, for a row of the database
must never say what code is run.
"""

import os
from importlib import import_module
from typing import cast

from chronicle.errors import InvalidPolicy
from chronicle.summarisers.model import BUILT_IN, ModelSummariser, Settings
from chronicle.summarisers.outline import Outline
from chronicle.summarisers.protocol import Prompts, Summariser
from chronicle.summarisers.span import nothing_public, span_of

__all__ = ["NAMES", "check_name", "nothing_public", "span_of", "summariser_named"]

NAMES = ("outline", "model")


def check_name(name: str) -> None:
    """Raise InvalidPolicy for a summariser that is not here."""
    if name not in NAMES and not _brought(name):
        raise InvalidPolicy(f"summariser {name!r} is none of {', '.join(NAMES)}", field="summariser")


def summariser_named(
    name: str, *, model: str = "", prompts: Prompts | None = None, settings: Settings | None = None
) -> Summariser:
    """Return the summariser that a policy names; the rest is for `model`. Raises InvalidPolicy."""
    check_name(name)
    if name == Outline.name:
        return Outline()
    if name != "model":
        return _own(name)
    if not model.strip() or model.strip().endswith(":"):
        words = "summariser 'model' needs a model: set MODEL=provider:name, or name one in the policy; or use outline"
        raise InvalidPolicy(words, field="model")
    return ModelSummariser(model.strip(), prompts or BUILT_IN, settings or Settings())


def _brought(name: str) -> bool:
    return ":" in name and name == os.environ.get("SUMMARISER")


def _own(name: str) -> Summariser:
    module, _, attribute = name.partition(":")
    try:
        return cast("Summariser", getattr(import_module(module), attribute)())
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidPolicy(f"SUMMARISER={name} cannot be loaded: {error}", field="summariser") from error
