"""What the events of both versions of OpenHands share: who speaks, and what a condensation forgot."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import text
from chronicle.importers.making import Maker, Place
from chronicle.importers.protocol import Item, Noted, Read, ReadSection, Session

CLIENT, AGENT, HUMAN = "openhands", "agent", "user"


@dataclass(slots=True)
class Known:
    """What is known of a session so far. `events` are the first and last event made of each record, by its id."""

    maker: Maker
    events: dict[Any, tuple[str, str]] = field(default_factory=dict)
    responses: set[str] = field(default_factory=set)  # the model's responses whose usage was counted
    condensations: int = 0
    titled: bool = False

    def title(self, made: Iterable[Item]) -> Iterator[Session]:
        """Yield the session once more when the first words of a person name it."""
        said = [item.event.content for item in made if isinstance(item, Read) and item.event.actor == HUMAN]
        if not self.titled and said and (title := text.first_line(said[0])):
            self.titled = True
            yield Session(self.maker.session, text.storable(title)[0])

    def met(self, id: Any, made: Iterable[Item]) -> None:
        """Keep which events a record gave."""
        natives = [item.native_id for item in made if isinstance(item, Read)]
        if natives and isinstance(id, int | str):
            self.events[id] = (natives[0], natives[-1])


def speaker(source: Any) -> tuple[ActorKind, str]:
    """Return actor kind and actor of an event's source."""
    if source == "user":
        return ActorKind.HUMAN, HUMAN
    return (ActorKind.AGENT, AGENT) if source == "agent" else (ActorKind.SYSTEM, CLIENT)


def condensation(
    known: Known, native: str, at: Place, forgotten: Iterable[Any], summary: Any, payload: dict[str, Any]
) -> Iterator[Item]:
    """Yield the marker of a condensation and, where it has a summary, the section over what it forgot."""
    ranges = [known.events[id] for id in forgotten if isinstance(id, int | str) and id in known.events]
    has_summary = isinstance(summary, str) and bool(summary.strip())
    words = summary if has_summary else "The events before were condensed without a summary."
    yield known.maker.marker(native, at, CLIENT, words, payload=payload)
    if not has_summary:
        return
    if not ranges:
        yield Noted(at.record, "a condensation of events that this file does not hold; it stays an event")
        return
    known.condensations += 1
    yield ReadSection(
        session=known.maker.session,
        to_id=ranges[-1][1],
        prose=text.storable(summary)[0],
        line=at.record,
        title=text.storable(text.first_line(summary))[0],
        from_id=ranges[0][0],
        rolling=known.condensations > 1,
    )


def once(known: Known, response: Any, usage: Any) -> dict[str, Any]:
    """Return a model's usage for the payload, the first time that its response is met."""
    if not usage or not isinstance(response, str) or response in known.responses:
        return {}
    known.responses.add(response)
    return {"usage": usage}
