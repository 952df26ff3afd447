"""Calls of the HTTP API, one method each.

Guarantees: what writes carries an idempotency key, made here where none is given, so a call that is tried again after
a lost answer writes once; what has no key (a policy) is tried once. Waits between tries grow: 0.2 s, 0.4 s, 0.8 s …
Refuses: an answer that is an error, as ApiError with the error's own name, sentence and details.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import httpx

from chronicle.client.answers import Brief, Entry, Event, Expanded, Listed, Opened, Page, Recorded

TRY_AGAIN = {429, 502, 503, 504}
FIRST_WAIT = 0.2


class ApiError(Exception):
    """A refusal: `error` is its name, `details` all that the answer says, `status` the HTTP status."""

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        self.status, self.details = status, dict(answer)
        self.error = str(answer.get("error", "unknown"))
        super().__init__(f"{self.error}: {answer.get('message', f'HTTP {status}')}")


class Client:
    """One token's way to a site. `url` is the site's, as `http://127.0.0.1:8000`; use it with `with`, or close it.

    `transport` and `pause` are for tests; `retries` says how often a call is tried again.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        retries: int = 4,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=timeout, transport=transport
        )
        self._retries, self._pause = retries, pause

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def create_log(self, title: str = "", *, name: str = "", key: str = "") -> str:
        """Create a log and return its id. A `name` of one's own may stand for the id later, and finds it again."""
        if name:
            return str(self._post("logs", {"title": title, "id": name})["id"])
        return str(self._post("logs", {"title": title}, key=key or str(uuid4()))["id"])

    def log(self, log: str) -> dict[str, Any]:
        """Return a log's facts: last_seq, head, title, times."""
        return self._get(f"logs/{_part(log)}")

    def record(
        self,
        log: str,
        content: str = "",
        *,
        actor: str,
        kind: str = "message",
        actor_kind: str = "agent",
        key: str = "",
        expected_last_seq: int | None = None,
        **more: Any,
    ) -> Recorded:
        """Record one event; `more` are its other fields (payload, type, causation, correlation, audience …)."""
        event = {"kind": kind, "actor_kind": actor_kind, "actor": actor, "content": content, **more}
        params = {} if expected_last_seq is None else {"expected_last_seq": expected_last_seq}
        return Recorded.of(self._post(f"logs/{_part(log)}/events", event, key=key or str(uuid4()), params=params))

    def record_all(self, log: str, events: Iterable[Mapping[str, Any]]) -> list[Recorded]:
        """Record up to 1,000 events whole or not at all; each without a key is given one."""
        keyed = [{"idempotency_key": str(uuid4()), **event} for event in events]
        answer = self._post(f"logs/{_part(log)}/events", keyed, again=True)
        return [Recorded.of(event) for event in answer["events"]]

    def close_unit(self, log: str, reason: str = "manual", *, key: str = "") -> Recorded:
        """End the open unit, so that it is consolidated within the minute."""
        return Recorded.of(self._post(f"logs/{_part(log)}/close", {"reason": reason}, key=key or str(uuid4())))

    def brief(self, log: str, *, upto: int | None = None, budget: int | None = None) -> Brief:
        """Read the brief; it leaves a receipt."""
        return Brief.of(self._get(f"logs/{_part(log)}/brief", upto=upto, budget=budget))

    def page(self, log: str, **filters: Any) -> Page:
        """Read a page of events: kind, actor_kind, since, upto, last, limit."""
        answer = self._get(f"logs/{_part(log)}/events", **filters)
        events = [Event.of(event) for event in answer["events"]]
        return Page(events=events, of=answer["of"], next_since=answer["next_since"])

    def events(self, log: str, *, since: int = 0, **filters: Any) -> Iterator[Event]:
        """Yield events after `since`, a page at a time, to the end."""
        after: int | None = since
        while after is not None:
            page = self.page(log, since=after, **filters)
            yield from page.events
            after = page.next_since

    def list(self, log: str, *, limit: int | None = None) -> Listed:
        """List what stands for the log."""
        answer = self._get(f"logs/{_part(log)}/chronicle", limit=limit)
        entries = [Entry.of(entry) for entry in answer["entries"]]
        return Listed(entries=entries, **{name: answer[name] for name in ("of", "through", "text", "receipt")})

    def open(self, log: str, section: str) -> Opened:
        """Open one generation of a section, `12-31#2`."""
        return Opened.of(self._get(f"logs/{_part(log)}/chronicle/{_part(section)}"))

    def expand(self, log: str, section: str, *, after: int | None = None, limit: int | None = None) -> Expanded:
        """Expand a section into its events, a page at a time."""
        answer = self._get(f"logs/{_part(log)}/chronicle/{_part(section)}/events", after=after, limit=limit)
        events = [Event.of(event) for event in answer["events"]]
        return Expanded(events=events, **{name: answer[name] for name in ("of", "next_after", "text", "receipt")})

    def reconsolidate(self, log: str, section: str, *, accept_divergence: bool, reason: str = "") -> dict[str, Any]:
        """Have another generation drawn; without acceptance ApiError carries the bill in `details["bill"]`."""
        body = {"accept_divergence": accept_divergence, "reason": reason}
        return self._post(f"logs/{_part(log)}/chronicle/{_part(section)}/reconsolidate", body, again=True)

    def policy(self, log: str) -> dict[str, Any]:
        """Return the log's policy rows and the ranges of their values."""
        return self._get(f"logs/{_part(log)}/policy")

    def set_policy(self, log: str, **values: Any) -> dict[str, Any]:
        """Write the next policy row; it is not tried again by itself."""
        return self._post(f"logs/{_part(log)}/policy", values)

    def verify(self, log: str) -> dict[str, Any]:
        """Have the log proven; `status` is OK or says what is wrong."""
        return self._get(f"logs/{_part(log)}/verify")

    def export(self, log: str, path: Path) -> int:
        """Write the log's carry into a file and return its size in bytes; what lies there stays until all has come."""
        with self._http.stream("GET", f"logs/{_part(log)}/export") as answer:
            if answer.is_error:
                answer.read()
                raise _error(answer)
            part = path.with_name(f".{path.name}.{uuid4().hex}")
            try:
                with part.open("xb") as file:
                    size = sum(file.write(chunk) for chunk in answer.iter_bytes())
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            return size

    def _get(self, address: str, **params: Any) -> dict[str, Any]:
        given = {name: value for name, value in params.items() if value is not None}
        return self._call("GET", address, again=True, params=given)

    def _post(
        self, address: str, body: Any, *, key: str = "", again: bool = False, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        headers = {"Idempotency-Key": key} if key else {}
        return self._call("POST", address, again=again or bool(key), json=body, headers=headers, params=params)

    def _call(self, method: str, address: str, *, again: bool, **sent: Any) -> dict[str, Any]:
        for tried in range(self._retries + 1):
            last = tried == self._retries or not again
            try:
                answer = self._http.request(method, address, **sent)
            except httpx.TransportError:
                if last:
                    raise
            else:
                if answer.is_success:
                    found: dict[str, Any] = answer.json()
                    return found
                if last or answer.status_code not in TRY_AGAIN:
                    raise _error(answer)
            self._pause(FIRST_WAIT * 2**tried)
        raise AssertionError("unreachable")


def _error(answer: httpx.Response) -> ApiError:
    try:
        told = answer.json()
    except ValueError:
        told = {}
    return ApiError(answer.status_code, told if isinstance(told, dict) else {})


def _part(text: str) -> str:
    """Write a log's or a section's id as a part of an address."""
    return quote(text.replace("~", "~7E").replace("/", "~2F"), safe="~")
