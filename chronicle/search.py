"""Finding sections: a port that returns sections, and the plain implementation.

Guarantees: newest first, every filter before the limit, text is matched as written (no pattern of the
user's is ever run), case does not matter.
"""

from typing import Protocol

from chronicle.models import Edition
from chronicle.reading import Prose, ProseView
from chronicle.sections import current_sections


class Retriever(Protocol):
    """Returns the current sections that answer a query, best first; what "best" means is the retriever's."""

    def retrieve(self, edition: Edition, query: str, *, limit: int = 20) -> list[ProseView]: ...


class SubstringRetriever:
    """Case-insensitive substring over title and prose of level-0 sections, newest first."""

    def retrieve(self, edition: Edition, query: str, *, limit: int = 20) -> list[ProseView]:
        needle = query.casefold()
        found: list[ProseView] = []
        for section in current_sections(edition).filter(anchor__level=0).order_by("-anchor__from_seq").iterator():
            if len(found) >= limit:
                break
            if needle in section.title.casefold() or needle in section.prose.casefold():
                found.append(Prose(edition).section(section.ref))
        return found
