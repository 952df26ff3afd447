"""Policies: how a log is consolidated, in rows that are never changed.

Guarantees: every log has rows of its own from its first consolidation on, so a later change of the
site's default moves no anchor of it; a new row holds only for events that no section covers yet.
Refuses: values outside their ranges, with the range named, a summariser or prompt that is not here, with
what there is; nothing is silently corrected.
"""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chronicle import conf, prompts
from chronicle.cover import RollupPolicy
from chronicle.errors import InvalidPolicy
from chronicle.log import locked
from chronicle.models import Log, Policy
from chronicle.sections import consolidated_through, current_edition
from chronicle.summarisers import check_name, summariser_named
from chronicle.summarisers.protocol import Summariser
from chronicle.units import UnitPolicy

RANGES = {
    "interval_messages": (1, 100_000),
    "interval_tokens": (1, 10_000_000),
    "max_events_per_section": (1, 5000),
    "rollup_batch": (2, 100),
    "rollup_threshold": (2, 200),
    "max_recent": (1, 100),
    "max_older": (0, 100),
    "recent_window_hours": (1, 8760),
    "story_so_far": (0, 10),
    "token_budget": (200, 32_000),
}
VALUES = (*RANGES, "boundary", "summariser", "model", "prompt")


def check(values: dict[str, Any]) -> None:
    """Raise InvalidPolicy for the first value that is unknown or out of its range."""
    for name, value in values.items():
        if name not in VALUES:
            raise InvalidPolicy(f"A policy has no {name!r}; it has {', '.join(VALUES)}.", field=name)
        if name in RANGES and not (name == "interval_tokens" and value is None):
            low, high = RANGES[name]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InvalidPolicy(f"{name} is a whole number from {low} to {high}, not {value!r}.", field=name)
    batch, threshold = values.get("rollup_batch"), values.get("rollup_threshold")
    if batch and threshold and threshold < batch:
        raise InvalidPolicy(f"rollup_threshold is from rollup_batch ({batch}) to 200, not {threshold}.")
    _check_boundary(values.get("boundary", []))
    _check_words(values)


def _check_words(values: dict[str, Any]) -> None:
    """The summariser is one that is here, its model is named somewhere, its prompt is a row."""
    if summariser := values.get("summariser"):
        check_name(str(summariser))
    if summariser == "model" and "model" in values and not (values["model"] or conf.model()):
        raise InvalidPolicy("summariser 'model' needs a model here, as MODEL names none.", field="model")
    if prompt := values.get("prompt"):
        prompts.named(str(prompt))


def _check_boundary(boundary: Any) -> None:
    if not isinstance(boundary, list) or any(not isinstance(name, str) or "/" not in name for name in boundary):
        raise InvalidPolicy('boundary is a list of marker types, each "namespace/type".', field="boundary")


def default() -> Policy:
    """Return the site's default: the newest row without a log, else one with the built-in values (not stored)."""
    return Policy.objects.filter(log=None).order_by("-pk").first() or Policy(made_at=timezone.now())


def rows(log: Log) -> list[Policy]:
    """Return the log's own rows by from_seq; the first is made from the default where there is none."""
    found = list(Policy.objects.filter(log=log).order_by("from_seq"))
    if found:
        return found
    with transaction.atomic():
        row, basis = locked(log.pk), default()
        values = {name: getattr(basis, name) for name in VALUES}
        Policy.objects.get_or_create(log=row, from_seq=1, defaults={**values, "made_at": timezone.now()})
    return list(Policy.objects.filter(log=log).order_by("from_seq"))


def set_default(*, made_by: str, **values: Any) -> Policy:
    """Write a new default for logs that have not been consolidated yet. Raises InvalidPolicy."""
    return _write(None, 1, default(), made_by, values)


def set_for(log: Log, *, made_by: str, from_seq: int | None = None, **values: Any) -> Policy:
    """Write a row for the log, from `from_seq` on (by default the first seq that no section covers)."""
    with transaction.atomic():
        row = locked(log.pk)
        earlier, free = rows(row), first_free(row)
        if from_seq is not None and from_seq < free:
            raise InvalidPolicy(f"from_seq is {free} or later: earlier events are decided already.", field="from_seq")
        return _write(row, from_seq or free, earlier[-1], made_by, values)


def first_free(log: Log) -> int:
    """Return the first seq that a new row of the log may hold from: no section covers it, no row begins there."""
    return max(consolidated_through(current_edition(log)), rows(log)[-1].from_seq) + 1


def _write(log: Log | None, from_seq: int, basis: Policy, made_by: str, values: dict[str, Any]) -> Policy:
    merged = {name: getattr(basis, name) for name in VALUES} | values
    check(merged)
    return Policy.objects.create(log=log, from_seq=from_seq, made_by=made_by, made_at=timezone.now(), **merged)


def at(policies: list[Policy], seq: int) -> Policy:
    """Return the row in force at `seq`."""
    return [row for row in policies if row.from_seq <= seq][-1]


def for_units(policies: list[Policy]) -> list[UnitPolicy]:
    """Return the rows as what `units` decides by."""
    return [
        UnitPolicy(
            from_seq=row.from_seq,
            boundary=tuple(row.boundary),
            interval_messages=row.interval_messages,
            interval_tokens=row.interval_tokens,
            max_events_per_section=row.max_events_per_section,
        )
        for row in policies
    ]


def for_rollups(row: Policy) -> RollupPolicy:
    """Return a row as what `cover` decides by."""
    return RollupPolicy(row.rollup_threshold, row.rollup_batch, row.max_recent, row.max_older)


def summariser_for(row: Policy) -> Summariser:
    """Return the summariser that draws under a row, with the model and prompts it names. Raises InvalidPolicy."""
    name = summariser_name(row)
    if name != "model":
        return summariser_named(name)
    model, texts = row.model or conf.model(), prompts.named(row.prompt)
    return summariser_named(name, model=model, prompts=texts, settings=conf.model_settings())


def summariser_name(row: Policy) -> str:
    """Return the summariser a row names, else the site's own."""
    return row.summariser or str(settings.SUMMARISER)
