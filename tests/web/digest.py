"""One digest over every table that a page could write to."""

import hashlib

from django.apps import apps
from django.contrib.sessions.models import Session

# A session's row may be renewed by reading with it, and says nothing about the records.
LEFT_OUT = {Session._meta.label}


def database_digest() -> str:
    """Return the sha256 over every row of every table, the sessions' left out."""
    hashed = hashlib.sha256()
    for model in sorted(apps.get_models(), key=lambda model: model._meta.label):
        if model._meta.label in LEFT_OUT or model._meta.proxy:
            continue
        names = [field.attname for field in model._meta.concrete_fields if field.attname != "last_login"]
        for row in model._base_manager.order_by("pk").values_list(*names):
            hashed.update(repr((model._meta.label, row)).encode())
    return hashed.hexdigest()
