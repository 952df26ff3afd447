"""The reading of an upload: a file is taken whatever it is called, and with the path that it had in its folder.

Guarantees: a file whose name Django drops, and the file with it (`..`, nothing but unprintable characters),
is taken under a name that shows the one it came with. `sent_as` of an uploaded file is the name as the browser sent it:
of a whole folder, browsers send each file's path from the folder's name on. It is words, never a path of this machine.
Refuses nothing: an empty name is a field left empty.
"""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser

SHOWN = 60


class Sent(str):
    """A file's name without its path, which is what Django keeps; `whole` is all that was sent."""

    whole: str


class TakesEveryName(MultiPartParser):
    def sanitize_file_name(self, file_name: str) -> Any:
        """Return the last part of the name, or words that show a name of which nothing else is left."""
        name = Sent(super().sanitize_file_name(file_name) or f"no usable name ({_shown(file_name)})")
        name.whole = file_name
        return name


class _KeepsWhatWasSent(FileUploadHandler):
    def file_complete(self, file_size: int) -> Any:
        file = super().file_complete(file_size)
        if file is not None:
            file.sent_as = getattr(self.file_name, "whole", "")  # type: ignore[attr-defined]
        return file


class InMemory(_KeepsWhatWasSent, MemoryFileUploadHandler):
    """A small file."""


class OnDisk(_KeepsWhatWasSent, TemporaryFileUploadHandler):
    """A large file."""


def reads_paths(request: HttpRequest) -> None:
    """Have the body of this request, not yet read, be read so."""
    request.multipart_parser_class = TakesEveryName  # type: ignore[assignment]  # the stubs take an instance
    request.upload_handlers = [InMemory(request), OnDisk(request)]


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() and char not in "/\\" else f"<{ord(char):04x}>" for char in name[:SHOWN])
