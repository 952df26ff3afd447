"""Three agents arrange a dinner and share one log: concierge, search, booking, each with a token of its own.

Each reads its own window (a brief under its own budget) before it acts. What is private to booking, the card that
pays, is in no window but booking's. Run it against a site that is up:

    for name in concierge search booking; do uv run manage.py token $name --owner demo --can record,read,expand; done
    uv run python -m examples.dinner http://127.0.0.1:8000 CONCIERGE_TOKEN SEARCH_TOKEN BOOKING_TOKEN
"""

import sys
from dataclasses import dataclass
from typing import Any

from chronicle.client import Brief, Client, Recorded

BUDGETS = {"concierge": 2000, "search": 400, "booking": 800}


@dataclass(frozen=True)
class Agent:
    """An agent with its own token and its own window on the shared log."""

    name: str
    client: Client
    log: str

    def window(self) -> Brief:
        """What this agent acts on now, at most so many tokens of it."""
        return self.client.brief(self.log, budget=BUDGETS[self.name])

    def say(self, words: str, **more: Any) -> Recorded:
        return self.client.record(self.log, words, actor=self.name, **more)

    def ask(self, call: str, tool: str, **payload: Any) -> Recorded:
        """Call a tool, or another agent, under an id that its answer will have too."""
        return self.say("", kind="tool_request", type=tool, correlation=call, payload=payload)

    def answer(self, call: str, words: str, **more: Any) -> Recorded:
        return self.say(words, kind="tool_response", correlation=call, **more)


def play(url: str, tokens: dict[str, str]) -> tuple[str, dict[str, Brief]]:
    """Play the session; return the log's id and each agent's window at the end."""
    clients = {name: Client(url, token) for name, token in tokens.items()}
    log = clients["concierge"].create_log("A farewell dinner")
    concierge, search, booking = (Agent(name, clients[name], log) for name in ("concierge", "search", "booking"))
    try:
        _plan(concierge, search)
        _book(concierge, booking)
        return log, {agent.name: agent.window() for agent in (concierge, search, booking)}
    finally:
        for client in clients.values():
            client.close()


def _plan(concierge: Agent, search: Agent) -> None:
    concierge.client.record(
        concierge.log, "A farewell dinner for eight on Friday, quiet, no peanuts.", actor="Dina", actor_kind="human"
    )
    concierge.ask("find-1", "search.places", area="Senopati", people=8)
    search.window()
    search.say("A quiet room matters more than the view.", kind="thought")
    search.answer("find-1", "Two rooms for eight: Dapur Senja and Kayu Manis.", payload={"found": 2})
    concierge.window()
    concierge.say("Dapur Senja has a room for eight, and its kitchen does without peanuts. Shall I book it?")
    concierge.client.record(concierge.log, "Yes, at seven.", actor="Dina", actor_kind="human")
    concierge.client.close_unit(concierge.log, "planned")


def _book(concierge: Agent, booking: Agent) -> None:
    concierge.ask("book-1", "booking.reserve", place="Dapur Senja", people=8, at="19:00")
    booking.window()
    booking.say("Paid with the card that ends in 4417.", kind="thought", audience=["booking"])
    booking.answer("book-1", "Booked: Dapur Senja, Friday, 19:00, eight people.", payload={"code": "DS-2291"})
    concierge.window()
    concierge.say("It is booked, Friday at seven. The code is DS-2291.")
    concierge.client.close_unit(concierge.log, "booked")


def main() -> None:
    if len(sys.argv) != 5:
        sys.exit("usage: python -m examples.dinner URL CONCIERGE_TOKEN SEARCH_TOKEN BOOKING_TOKEN")
    url, *tokens = sys.argv[1:]
    log, windows = play(url, dict(zip(BUDGETS, tokens, strict=True)))
    for name, window in windows.items():
        print(f"== {name}, receipt {window.receipt}, {window.tokens} tokens ==\n{window.text}")
    print(f"log {log}")


if __name__ == "__main__":
    main()
