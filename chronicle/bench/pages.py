"""Every page a person can open, at 10,000 events, against the page that does nothing but answer."""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from chronicle import log as logs
from chronicle.bench import material
from chronicle.bench.figures import Figure, Size, compare, seconds
from chronicle.fold import consolidate
from chronicle.models import Log
from chronicle.sections import cover_of, current_edition
from chronicle.summarisers.constant import Constant
from chronicle.web import urls

FLOOR = "healthz"
NO_PAGES = {"login", "logout", FLOOR}


def measure(size: Size) -> Iterator[Figure]:
    """Yield the time and the queries of each page that answers 200 to a GET."""
    log = logs.create_log("bench", title="The log that pages are measured on")
    logs.append(log, material.events(size.events))
    consolidate(log, summariser=Constant())
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("bench"))
    floor = seconds(lambda: client.get(reverse(FLOOR)), size.visits)
    for name, address in sorted(addresses(log).items()):
        yield from _page(client, name, address, floor, size)


def _page(client: Client, name: str, address: str, floor: float, size: Size) -> Iterator[Figure]:
    client.get(address)  # the first visit fills what a process keeps: templates, the URLconf
    with CaptureQueriesContext(connection) as queries:
        answered = client.get(address).status_code
        asked = len(queries)
    if answered != 200:
        return
    taken = seconds(lambda: client.get(address), size.visits)
    title = f"page {name} at {size.events} events"
    yield compare(title, taken, unit="ms", scale=1e3, against="the page that only answers (healthz)", yardstick=floor)
    yield Figure(f"{title}, queries", "sqlite", asked, "queries")


def addresses(log: Log) -> dict[str, str]:
    """The address of each named page that the log's own ids complete; pages that ask for others are left out."""
    section = max(cover_of(current_edition(log)), key=lambda section: section.anchor.level)
    known: dict[str, Any] = {
        "log_id": log.public_id,
        "seq": log.last_seq // 2 or 1,
        "section_id": section.anchor.ref,
        "number": 1,
    }
    found = {}
    for name, names in _named(get_resolver(urls.__name__).url_patterns):
        if name not in NO_PAGES and set(names) <= known.keys():
            found[name] = reverse(name, kwargs={one: known[one] for one in names})
    return found


def _named(patterns: list[Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    for pattern in patterns:
        names = (*above, *pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLResolver):
            yield from _named(pattern.url_patterns, names)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name, names
