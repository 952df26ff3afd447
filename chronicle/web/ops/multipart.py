"""The parser of an upload: a file is taken whatever it is called.

Guarantees: a file whose name Django drops, and the file with it (`..`, nothing but unprintable characters),
is taken under a name that shows the one it came with. Refuses nothing: an empty name is a field left empty.
"""

from typing import Any

from django.http.multipartparser import MultiPartParser

SHOWN = 60


class TakesEveryName(MultiPartParser):
    def sanitize_file_name(self, file_name: str) -> Any:
        """Return the last part of the name, or words that show a name of which nothing else is left."""
        return super().sanitize_file_name(file_name) or f"no usable name ({_shown(file_name)})"


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() and char not in "/\\" else f"<{ord(char):04x}>" for char in name[:SHOWN])
