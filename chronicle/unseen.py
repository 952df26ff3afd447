"""Characters that show nothing, and the marks that stand for them wherever recorded text is shown or written out.

Guarantees: nothing is stripped; a mark tells which character stood there. Pure.
"""

import re

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


def with_marks(text: str) -> str:
    """Return a text with every unseen character replaced by its mark."""
    return UNSEEN.sub(lambda found: mark_of(found[0]), text)


def blank(text: str) -> bool:
    """True for a text without a character that anybody could see."""
    return not UNSEEN.sub("", text).strip()
