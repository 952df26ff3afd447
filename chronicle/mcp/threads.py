"""Where the ORM is asked from a loop: in threads of our own, as many as the database has connections for.

Guarantees: the loop never waits for the database; sessions are answered side by side, not one after another; a
connection is taken and given back per question, so one that the database has dropped in between is not used again.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

AT_ONCE = 8  # the size of the pool of connections, where there is one

_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mcp")


async def aside[**Given, Found](function: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs) -> Found:
    """Return what the function returns, called in a thread that has a connection of its own."""

    def asked() -> Found:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await sync_to_async(asked, thread_sensitive=False, executor=_threads)()
