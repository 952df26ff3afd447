"""The laws of a store, for any store to run against itself: 11 cases, and 3 for idempotency keys.

Use: `for case in BASE: case(make_store())`, each with a fresh, empty store; cases may run in parallel.
A case that fails raises AssertionError and says what was expected. Under pytest:

    @pytest.mark.parametrize("law", conformance.BASE, ids=lambda law: law.__name__)
    def test_my_store(law): law(MyStore())
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chronicle.envelope import PendingEvent, StoredEvent
from chronicle.errors import ChronicleError, LogExists, LogNotFound
from chronicle.log.store import IdempotentStore, Recorded, Store, Window, with_actor_kinds, with_kinds, with_last

type Law = Callable[[Store], None]
type IdempotentLaw = Callable[[IdempotentStore], None]

LOG, OWNER = "log-1", "ardian"
AT_ONCE = 40


def owner_is_stored(store: Store) -> None:
    """A created log has its owner, and began when it was last active."""
    made = store.create(LOG, OWNER)
    got = store.get(LOG)
    _expect(got.owner == OWNER, f"get gives the owner {OWNER!r}, not {got.owner!r}")
    _expect(made.started_at == made.last_activity_at, "a new log was last active when it was started")


def create_twice_fails(store: Store) -> None:
    """A taken id is LogExists, whoever owns it."""
    store.create(LOG, OWNER)
    _refuses(LogExists, lambda: store.create(LOG, OWNER))
    _refuses(LogExists, lambda: store.create(LOG, "mallory"))


def get_missing_fails(store: Store) -> None:
    """An unknown log is LogNotFound on get."""
    _refuses(LogNotFound, lambda: store.get("nowhere"))


def record_into_missing_fails(store: Store) -> None:
    """An unknown log is LogNotFound on record, and is not created by it."""
    _refuses(LogNotFound, lambda: store.record("nowhere", _said("a")))
    _refuses(LogNotFound, lambda: store.get("nowhere"))


def window_of_missing_fails(store: Store) -> None:
    """An unknown log is LogNotFound on window, never an empty list."""
    _refuses(LogNotFound, lambda: store.window("nowhere", Window()))


def filters_run_before_the_limit(store: Store) -> None:
    """The newest n of what passed the filter, oldest first."""
    store.create(LOG, OWNER)
    for number in range(6):
        store.record(LOG, _said(f"m{number}"))
        store.record(LOG, _said(f"t{number}", kind="thought"))
    got = store.window(LOG, with_last(2)(with_kinds("message")(Window())))
    _expect(_contents(got) == ["m4", "m5"], f"the last two messages, not {_contents(got)}")


def actor_kinds_are_filtered(store: Store) -> None:
    """Both filters together mean that both must match; empty ones let everything through."""
    store.create(LOG, OWNER)
    store.record(LOG, _said("from a person"))
    store.record(LOG, _said("from an agent", actor_kind="agent"))
    store.record(LOG, _said("thought", actor_kind="agent", kind="thought"))
    both = with_actor_kinds("agent")(with_kinds("message")(Window()))
    _expect(_contents(store.window(LOG, both)) == ["from an agent"], "both filters must match")
    _expect(len(store.window(LOG, Window())) == 3, "no filter lets every event through")
    none = with_actor_kinds("system")(Window())
    _expect(store.window(LOG, none) == [], "a known log without a match gives an empty list")


def last_activity_moves(store: Store) -> None:
    """last_activity_at is the time of the newest event and never moves back."""
    store.create(LOG, OWNER)
    seen = store.get(LOG).last_activity_at
    for number in range(5):
        event = store.record(LOG, _said(str(number)))
        now = store.get(LOG).last_activity_at
        _expect(now >= seen and now >= event.at, "last activity is the newest event's time")
        seen = now


def whole_event_is_returned(store: Store) -> None:
    """What record returns is what the window shows, field for field, and keeps what was given."""
    store.create(LOG, OWNER)
    given = PendingEvent(
        kind="tool_response",
        actor_kind="system",
        actor="places.search",
        payload={"count": 41, "names": ["Dapur Tujuh"]},
        correlation="call-1",
        audience=("booking",),
    )
    returned = store.record(LOG, given)
    _expect(store.window(LOG, Window()) == [returned], "the window shows the event as it was returned")
    kept = (returned.event_id, returned.actor, returned.data(), returned.correlation, returned.audience)
    _expect(
        kept == (given.event_id, given.actor, given.payload, given.correlation, given.audience), "nothing is altered"
    )


def order_is_the_order_of_recording(store: Store) -> None:
    """A thousand events come back as they went in, also those of one instant."""
    store.create(LOG, OWNER)
    for number in range(1000):
        store.record(LOG, _said(str(number)))
    got = store.window(LOG, Window())
    _expect(_contents(got) == [str(number) for number in range(1000)], "the order of recording")
    _expect([event.seq for event in got] == list(range(1, 1001)), "numbered from 1 without a gap")


def forty_at_once_all_land(store: Store) -> None:
    """Forty writers at once: forty events, each once, numbered without a gap."""
    store.create(LOG, OWNER)
    _at_once(lambda number: store.record(LOG, _said(str(number))))
    got = store.window(LOG, Window())
    _expect(sorted(_contents(got), key=int) == [str(n) for n in range(AT_ONCE)], "each event lands once")
    _expect([event.seq for event in got] == list(range(1, AT_ONCE + 1)), "numbered from 1 without a gap")


def same_key_twice_is_one_event(store: IdempotentStore) -> None:
    """A retry returns the first event, adds nothing and does not move the last activity; keys count per log."""
    store.create(LOG, OWNER)
    store.create("log-2", OWNER)
    first = store.record_once(LOG, _said("once"), "k")
    active = store.get(LOG).last_activity_at
    again = store.record_once(LOG, _said("once"), "k")
    _expect((again.event, again.replayed) == (first.event, True), "a retry returns the first event and says so")
    _expect(len(store.window(LOG, Window())) == 1, "a retry adds nothing")
    _expect(store.get(LOG).last_activity_at == active, "a retry does not move the last activity")
    elsewhere = store.record_once("log-2", _said("once"), "k")
    _expect(not elsewhere.replayed, "the same key in another log is a new write")


def stored_event_wins(store: IdempotentStore) -> None:
    """A retry with other words keeps the first ones and says that they differ."""
    store.create(LOG, OWNER)
    first = store.record_once(LOG, _said("the first words"), "k")
    again = store.record_once(LOG, _said("other words"), "k")
    _expect(again == Recorded(first.event, replayed=True, payload_differs=True), "the stored event wins, visibly")


def forty_at_once_with_one_key_are_one(store: IdempotentStore) -> None:
    """Forty calls at once with one key: one event, and all return it."""
    store.create(LOG, OWNER)
    got = _at_once(lambda number: store.record_once(LOG, _said(str(number)), "k"))
    _expect(len({(one.event.event_id, one.event.at) for one in got}) == 1, "all return the same id and time")
    _expect(sum(not one.replayed for one in got) == 1, "one call wrote")
    _expect(len(store.window(LOG, Window())) == 1, "one event is stored")


BASE: tuple[Law, ...] = (
    owner_is_stored,
    create_twice_fails,
    get_missing_fails,
    record_into_missing_fails,
    window_of_missing_fails,
    filters_run_before_the_limit,
    actor_kinds_are_filtered,
    last_activity_moves,
    whole_event_is_returned,
    order_is_the_order_of_recording,
    forty_at_once_all_land,
)
IDEMPOTENT: tuple[IdempotentLaw, ...] = (
    same_key_twice_is_one_event,
    stored_event_wins,
    forty_at_once_with_one_key_are_one,
)


def _said(content: str, *, kind: str = "message", actor_kind: str = "human") -> PendingEvent:
    return PendingEvent(kind=kind, actor_kind=actor_kind, actor="ardian", content=content)


def _contents(events: list[StoredEvent]) -> list[str]:
    return [event.content for event in events]


def _at_once[T](call: Callable[[int], T]) -> list[T]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_closing(call), range(AT_ONCE)))


def _closing[T](call: Callable[[int], T]) -> Callable[[int], T]:
    """Close what a thread opened: a database connection would outlive it."""

    def run(number: int) -> T:
        try:
            return call(number)
        finally:
            close_thread()

    return run


def close_thread() -> None:
    """Close this thread's connections; does nothing where Django is not set up."""
    from django.conf import settings

    if settings.configured:
        from django.db import connections

        connections.close_all()


def _expect(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"law broken: {law}")


def _refuses(error: type[ChronicleError], call: Callable[[], Any]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"law broken: {error.__name__} was expected")
