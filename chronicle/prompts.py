"""Prompts as rows: the texts that a model is asked with, by name and version.

Guarantees: a version is never changed, another text is the next version; what a section was asked with is found
by the digest that it keeps, in rows and in the built-in texts, whichever they were.
Refuses: a name that cannot be written as `name/version`, a text without words, one that no database takes.
"""

import re
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from chronicle.canonical import unstorable
from chronicle.errors import InvalidPolicy
from chronicle.models import Prompt
from chronicle.summarisers import prompts as built_in
from chronicle.summarisers.answer import has_words
from chronicle.summarisers.model import BUILT_IN
from chronicle.summarisers.prompts import prompt_digest
from chronicle.summarisers.protocol import Prompts

BUILT_IN_NAME = "built-in"
LONGEST = 20_000
SHOWN = 20

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


class Texts(NamedTuple):
    """A text that sections were asked with: where it stands (`terse/2`, `built-in`) and what it is for."""

    label: str
    level: str  # "section" or "rollup"
    text: str


def add(name: str, section: str, rollup: str, by: str) -> Prompt:
    """Write the next version of a name, its first where the name is new. Raises InvalidPolicy."""
    check(name, section, rollup)
    with transaction.atomic():
        last = Prompt.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0
        return Prompt.objects.create(
            name=name,
            version=last + 1,
            section=section,
            rollup=rollup,
            section_digest=prompt_digest(section),
            rollup_digest=prompt_digest(rollup),
            made_by=by,
            made_at=timezone.now(),
        )


def check(name: str, section: str, rollup: str) -> None:
    """Raise InvalidPolicy for what cannot be a prompt; `details["field"]` names which of the three."""
    if not _NAME.fullmatch(name) or name == BUILT_IN_NAME:
        raise InvalidPolicy("A prompt's name is made of a-z, 0-9, dot, dash and underscore.", field="name")
    for field, text in (("section", section), ("rollup", rollup)):
        if not has_words(text) or len(text) > LONGEST:
            raise InvalidPolicy(f"The text for a {field} has words, and at most {LONGEST:,} characters.", field=field)
        if unstorable(text) is not None:
            raise InvalidPolicy(f"The text for a {field} holds a character no database takes.", field=field)


def named(label: str) -> Prompts:
    """Return the texts of `name/version`, the built-in ones for "". Raises InvalidPolicy, with what there is."""
    if not label:
        return BUILT_IN
    name, _, version = label.partition("/")
    found = None
    if version.isascii() and version.isdigit() and len(version) < 9:
        found = Prompt.objects.filter(name=name, version=int(version)).first()
    if found is None or found.label != label:
        raise InvalidPolicy(f"There is no prompt {label!r}; {_what_there_is()}.", field="prompt")
    return Prompts(found.section, found.rollup)


def _what_there_is() -> str:
    labels = [prompt.label for prompt in Prompt.objects.defer("section", "rollup").order_by("-pk")[: SHOWN + 1]]
    more = " and more" if len(labels) > SHOWN else ""
    there = f"there are {', '.join(labels[:SHOWN])}{more}" if labels else "none has been made yet"
    return f"{there}, and the built-in one is named by nothing"


def texts_of(digest: str) -> Texts | None:
    """Return the text of this digest, the first of its kind; None where it is nowhere here."""
    for level, text in (("section", built_in.SECTION), ("rollup", built_in.ROLLUP)):
        if prompt_digest(text) == digest:
            return Texts(BUILT_IN_NAME, level, text)
    row = Prompt.objects.filter(Q(section_digest=digest) | Q(rollup_digest=digest)).order_by("pk").first()
    if row is None or not digest:
        return None
    return (
        Texts(row.label, "section", row.section)
        if row.section_digest == digest
        else Texts(row.label, "rollup", row.rollup)
    )
