"""A small typed client of the HTTP API: `from chronicle.client import Client`. It needs httpx and no Django."""

from chronicle.client.answers import Brief, Entry, Event, Expanded, Listed, Opened, Page, Recorded
from chronicle.client.client import ApiError, Client

__all__ = ["ApiError", "Brief", "Client", "Entry", "Event", "Expanded", "Listed", "Opened", "Page", "Recorded"]
