"""Tokens: how an agent or a script proves whose logs it may record into and read.

Guarantees: a token is shown once, when it is made; kept are its prefix and an HMAC under a secret of its own
(`conf.token_key`), so neither the database nor a new SECRET_KEY gives one away or ends one. Expiry, revocation and
owner are read at each use. A token's name is the name its holder reads by: it sees public events and those whose
audience names it; one with `admin` sees all. `admin` holds every capability, `expand` holds `read`.
Refuses: capabilities that do not exist, a token unknown, expired or revoked (Unauthorized), a use it was not made for.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from chronicle import audit, conf
from chronicle.envelope import check_name, check_owner
from chronicle.errors import CapabilityMissing, InvalidToken, Unauthorized, UnknownToken
from chronicle.log.database import ALPHABET
from chronicle.models import Token

logger = logging.getLogger(__name__)

MARK = "chronicle"
PREFIX, SECRET = 12, 32  # 32 of 57 characters are 186 bits
MOST_DAYS = 36_500
_FORM = re.compile(rf"{MARK}_([{ALPHABET}]{{{PREFIX}}})_[{ALPHABET}]{{{SECRET}}}")


class Capability(StrEnum):
    """What a token may do: record; read list, open and brief; expand into events; everything."""

    RECORD = "record"
    READ = "read"
    EXPAND = "expand"
    ADMIN = "admin"


HOLDS = {Capability.EXPAND: {Capability.READ}, Capability.ADMIN: set(Capability)}


class Made(NamedTuple):
    """A token as it is shown once, and its row."""

    token: str
    row: Token


@dataclass(frozen=True, slots=True)
class Credential:
    """Who a request is from: the token's name, its owner, what it may do."""

    name: str
    owner: str
    prefix: str
    can: frozenset[Capability]

    @property
    def reader(self) -> str | None:
        """By which name events are filtered; None sees every event of the owner."""
        return None if Capability.ADMIN in self.can else self.name

    @property
    def capability(self) -> Capability:
        """How much it reads, in the word that a receipt keeps."""
        order = (Capability.ADMIN, Capability.EXPAND, Capability.READ)
        return next((one for one in order if one in self.can), Capability.RECORD)

    def check(self, needed: Capability) -> None:
        """Raise CapabilityMissing unless the token was made for this."""
        if needed not in self.can:
            raise CapabilityMissing(f"This token may not {needed}; make one with --can {needed}.", needs=str(needed))


def parse_capabilities(words: Iterable[str]) -> list[Capability]:
    """Return the capabilities named, each once, in a fixed order. Raises InvalidToken."""
    given = {word.strip() for word in words} - {""}
    for unknown in sorted(given - set(Capability)):
        raise InvalidToken(f"{unknown!r} is no capability; there are {', '.join(Capability)}.", field="can")
    if not given:
        raise InvalidToken(f"A token is for something: give one or more of {', '.join(Capability)}.", field="can")
    return [one for one in Capability if one in given]


def make(name: str, *, owner: str, can: Iterable[str], days: int | None = None, by: str) -> Made:
    """Make a token and return it, this once. Raises InvalidToken, InvalidEvent, OwnerEmpty."""
    check_owner(owner)
    check_name("name", name, required=True)
    if not name.isprintable():
        raise InvalidToken("name holds a control or formatting character; give it printable ones only.", field="name")
    capabilities = parse_capabilities(can)
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise InvalidToken(f"days is a whole number from 1 to {MOST_DAYS}, not {days}.", field="days")
    prefix, now = _random(PREFIX), timezone.now()
    token = f"{MARK}_{prefix}_{_random(SECRET)}"
    with transaction.atomic():
        row = Token.objects.create(
            name=name,
            owner=owner,
            prefix=prefix,
            hash=_hash(token),
            capabilities=[str(one) for one in capabilities],
            made_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        audit.record(by, "token.made", f"token {prefix}", owner=owner, name=name, can=row.capabilities, days=days)
    return Made(token, row)


def revoke(prefix: str, *, by: str) -> Token:
    """Revoke the token with this prefix (or the whole token); again is no change. Raises UnknownToken."""
    found = _FORM.fullmatch(prefix)
    wanted = found[1] if found else prefix.removeprefix(f"{MARK}_")
    with transaction.atomic():
        row = Token.objects.select_for_update().filter(prefix=wanted).first()
        if row is None:
            raise UnknownToken("There is no token with this prefix; the admin lists them.")
        if row.revoked_at is None:
            row.revoked_at = timezone.now()
            row.save(update_fields=["revoked_at"])
            audit.record(by, "token.revoked", f"token {row.prefix}", owner=row.owner, name=row.name)
    return row


def authenticate(token: str) -> Credential:
    """Return who holds this token. Raises Unauthorized; a wrong one takes as long as a right one."""
    found = _FORM.fullmatch(token)
    row = Token.objects.filter(prefix=found[1]).first() if found else None
    hashed = _hash(token)
    if not hmac.compare_digest(hashed, row.hash if row else "0" * len(hashed)) or row is None:
        raise Unauthorized("This token is not known here.", reason="invalid_token")
    _check_in_force(row, timezone.now())
    given = {Capability(one) for one in row.capabilities if one in set(Capability)}
    held = given.union(*(HOLDS.get(one, set()) for one in given))
    return Credential(row.name, row.owner, row.prefix, frozenset(held))


def _check_in_force(row: Token, now: datetime) -> None:
    if row.revoked_at is not None:
        raise Unauthorized("This token was revoked; make another one.", reason="invalid_token")
    if row.expires_at is not None and row.expires_at <= now:
        raise Unauthorized("This token has expired; make another one.", reason="invalid_token")


def _hash(token: str) -> str:
    return hmac.new(conf.token_key().encode(), token.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
