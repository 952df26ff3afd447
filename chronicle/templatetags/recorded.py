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
from chronicle.unseen import UNSEEN, mark_of, with_marks

register = template.Library()


@register.filter
def visible_text(text: object) -> str:
    """Plain text with every unseen character replaced by its mark: for titles, attributes and options."""
    return with_marks(str(text))


@register.filter
def visible(text: object) -> str:
    """Escaped text in which every unseen character is a mark of its own (`span.unseen`)."""
    plain, *rest = UNSEEN.split(str(text))
    if not rest:
        return escape(plain)
    spans = ((mark_of(rest[place]), rest[place + 1]) for place in range(0, len(rest), 2))
    return escape(plain) + format_html_join("", '<span class="unseen">{}</span>{}', spans)


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
