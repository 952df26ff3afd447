"""The only door from a user to logs: it raises, it never returns None.

Guarantees: a superuser sees every log, anyone else those of the owners granted to them or to a group
of theirs; a log that is not theirs and one that does not exist raise the same LogNotFound.
"""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import BooleanField, F, Func, Q, QuerySet, Value

from chronicle import canonical
from chronicle.errors import LogNotFound
from chronicle.models import Event, Grant, Log

CHOSEN_TAG = "anagrapheus/chosen-log/1"


def granted_owners(user: User) -> QuerySet[Grant, str]:
    """Return the owners whose logs the user, or a group of the user's, was granted."""
    grants = Grant.objects.filter(Q(user=user) | Q(group__user=user))
    return grants.values_list("owner", flat=True).distinct()


def visible_logs(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Log]:
    """Return the logs this user may see; the scope is inside the query."""
    if not isinstance(user, User) or not user.is_active:
        return Log.objects.none()
    if user.is_superuser:
        return Log.objects.all()
    return Log.objects.filter(owner__in=granted_owners(user))


def log_for(user: AbstractBaseUser | AnonymousUser, public_id: str) -> Log:
    """Return the log, or raise LogNotFound: unknown and not yours are one answer."""
    found = visible_logs(user).filter(public_id=public_id).first()
    if found is None:
        raise LogNotFound
    return found


def log_of(owner: str, public_id: str) -> Log:
    """Return the owner's log, by its id or by the name the owner chose for it. Raises LogNotFound."""
    if canonical.unstorable(public_id) is None:
        ids = [public_id, chosen_id(owner, public_id)]
        if (found := Log.objects.filter(owner=owner, public_id__in=ids).order_by("pk").first()) is not None:
            return found
    raise LogNotFound


def chosen_id(owner: str, name: str) -> str:
    """Return the id of the log that an owner calls `name`.

    It is the owner's own: what others call theirs cannot be learnt by choosing a name that is taken.
    """
    return f"c{canonical.digest(CHOSEN_TAG, owner, name)[:32]}"


def events_for(events: QuerySet[Event], reader: str | None) -> QuerySet[Event]:
    """Return the events that a reader may see: public ones and those that name the reader; None sees all.

    A name is compared whole, as the database reads the list: case counts, and no piece of two names passes for one.
    """
    if reader is None:
        return events
    return events.filter(Q(audience="") | Q(Names(F("audience"), Value(reader))))


class Names(Func):
    """True when a JSON list of names, kept as text, holds a name; an empty text holds none."""

    output_field = BooleanField()
    conditional = True

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        names, name, params = self._parts(compiler)
        return f"EXISTS (SELECT 1 FROM json_each({names}) WHERE value = {name})", params

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        names, name, params = self._parts(compiler)
        return f"jsonb_exists({names}::jsonb, {name}::text)", params

    def _parts(self, compiler: Any) -> tuple[str, str, tuple[Any, ...]]:
        column, of_column = compiler.compile(self.source_expressions[0])
        name, of_name = compiler.compile(self.source_expressions[1])
        return f"(CASE WHEN {column} = '' THEN '[]' ELSE {column} END)", name, (*of_column, *of_column, *of_name)


def may_redraw(user: AbstractBaseUser | AnonymousUser) -> bool:
    """True for who may have other prose written over what stands: staff with the permission to change sections."""
    return isinstance(user, User) and user.is_staff and user.has_perm("chronicle.change_section")
