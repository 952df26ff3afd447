"""Text of a source on a terminal: every character is seen, none is obeyed.

Guarantees: no ESC, no control, bidi or zero-width character reaches the terminal; each is shown as its
escape, and a backslash of the text is not doubled, since nobody reads this back.
"""

import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def plain(text: object) -> str:
    """Return text fit for one line of a terminal."""
    return "".join(_shown(char) for char in str(text))


def _shown(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN:
        return char
    return char.encode("unicode_escape").decode()
