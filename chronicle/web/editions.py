"""Which edition a page shows: the one in force, or an older one that `?edition=N` names.

Guarantees: links of a page that shows an older edition stay in it; the page says so, and which is in force.
A number that is none is 400, an edition that is not there (or was never finished) 404.
"""

from dataclasses import dataclass

from django import forms
from django.http import HttpRequest

from chronicle.errors import InvalidFilter
from chronicle.models import Edition, EditionState, Log
from chronicle.reading import edition_of
from chronicle.web.events import BIG


class EditionForm(forms.Form):
    edition = forms.IntegerField(required=False, min_value=1, max_value=BIG)


@dataclass(frozen=True, slots=True)
class Standing:
    """The edition that is shown (None: nothing was consolidated yet) and the one in force."""

    edition: Edition | None
    current: Edition | None

    @property
    def older(self) -> bool:
        return self.edition != self.current

    @property
    def query(self) -> str:
        """What keeps a link in the edition: `?edition=1`, or nothing in the one in force."""
        return f"?edition={self.edition.number}" if self.edition and self.older else ""

    @property
    def ask(self) -> str:
        """The same before further parameters: `?edition=1&`, or `?`."""
        return f"{self.query}&" if self.query else "?"


def standing(request: HttpRequest, log: Log) -> Standing:
    """Return which edition of the log this request is for. Raises InvalidFilter, UnknownEdition."""
    form = EditionForm(request.GET)
    if not form.is_valid():
        raise InvalidFilter("An edition is a number: ?edition=1.")
    current = log.editions.filter(state=EditionState.CURRENT).select_related("log").first()
    number = form.cleaned_data["edition"]
    return Standing(current if number is None else edition_of(log, number), current)
