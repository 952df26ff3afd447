"""How recorded text, times and sizes are shown.

Guarantees: text is escaped and never stripped; what a reader could not see (controls, bidi marks,
zero-width and other format characters) stands as a visible mark; times are UTC and exact.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from django import template
from django.utils.html import escape, format_html, format_html_join

from chronicle.models import Origin, Section
from chronicle.terms import Piece

register = template.Library()

# Controls except tab and line feed, soft hyphen, format characters, fillers and line separators that show nothing,
# surrogates, private variation selectors and tags: each can hide words or turn them round.
UNSEEN = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff])"
)


def mark_of(character: str) -> str:
    """Return the mark for an unseen character: a control picture, else its code point in brackets."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"[U+{code:04X}]"


@register.filter
def visible_text(text: object) -> str:
    """Plain text with every unseen character replaced by its mark: for titles, attributes and options."""
    return UNSEEN.sub(lambda found: mark_of(found[0]), str(text))


@register.filter
def visible(text: object) -> str:
    """Escaped text in which every unseen character is a mark of its own (`span.unseen`)."""
    plain, *rest = UNSEEN.split(str(text))
    if not rest:
        return escape(plain)
    marked = ((mark_of(rest[place]), rest[place + 1]) for place in range(0, len(rest), 2))
    return escape(plain) + format_html_join("", '<span class="unseen">{}</span>{}', marked)


@register.filter
def marked(pieces: Iterable[Piece]) -> str:
    """Return the pieces of a snippet, each escaped and made visible; what was sought stands in `<mark>`."""
    return format_html_join("", "{}", ((format_html(_SOUGHT[one.sought], visible(one.text)),) for one in pieces))


_SOUGHT = {True: "<mark>{}</mark>", False: "{}"}


@register.filter
def paragraphs(text: str) -> list[str]:
    """Split prose at blank lines; nothing but the blank lines is left out."""
    return [part for part in re.split(r"\n[ \t]*\n+", text) if part.strip()]


@register.filter
def moment(at: datetime | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return `<time>` in UTC; `form` is a strftime form, the exact time stands in `datetime`."""
    if at is None:
        return ""
    at = at.astimezone(UTC)
    return format_html('<time datetime="{}">{}</time>', at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), at.strftime(form))


@register.filter
def size(count: int) -> str:
    """Return bytes in words: `412 B`, `48.2 KB`, `1.4 MB` (1 KB is 1,024 bytes)."""
    if count < 1024:
        return f"{count} B"
    value, unit = (count / 1024, "KB") if count < 1024**2 else (count / 1024**2, "MB")
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"


@register.filter
def grouped(count: int) -> str:
    """Return a number with its thousands set apart from five digits on: `11 482`."""
    return f"{count:,}".replace(",", "\u202f") if count >= 10_000 else str(count)


@register.filter
def made(section: Section) -> str:
    """Return the word that all generated text carries, with its generation and where it came from elsewhere."""
    elsewhere = section.origin in {Origin.IMPORTED, Origin.CARRIED}
    return format_html(
        '<span class="made">generated #{}{}</span>', section.generation, f" · {section.origin}" if elsewhere else ""
    )


@register.filter
def plural(count: int, word: str) -> str:
    """Return `1 event`, `20 events`."""
    return f"{grouped(count)} {word}" + ("" if count == 1 else "s")
