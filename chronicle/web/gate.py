"""Which logs a person may see; stands in until the one door of the domain does this."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from chronicle.errors import LogNotFound
from chronicle.models import Grant, Log


def visible_logs(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Log]:
    if getattr(user, "is_superuser", False):
        return Log.objects.all()
    granted = Grant.objects.filter(Q(user=user.pk) | Q(group__user=user.pk)).values("owner")
    return Log.objects.filter(owner__in=granted)


def log_for(user: AbstractBaseUser | AnonymousUser, public_id: str) -> Log:
    log = visible_logs(user).filter(public_id=public_id).first()
    if log is None:
        raise LogNotFound()
    return log
