"""The exported laws, on both bundled stores."""

from typing import Any

import pytest

from chronicle import conformance
from chronicle.log import DatabaseStore, MemoryStore

BOTH = pytest.mark.parametrize("store", [MemoryStore, DatabaseStore])


@pytest.mark.promise("C1", "C6", "C16", "C43", "C44", "C45", "C46", "C48", "C49", "C25", "C27", "C28", "C33", "K4")
@pytest.mark.django_db(transaction=True)
@BOTH
@pytest.mark.parametrize("law", conformance.BASE, ids=lambda law: law.__name__)
def test_a_bundled_store_keeps_the_base_laws(law: conformance.Law, store: type) -> None:
    law(store())


@pytest.mark.promise("C35", "C36", "C37", "C40", "C47", "C49", "DC6")
@pytest.mark.django_db(transaction=True)
@BOTH
@pytest.mark.parametrize("law", conformance.IDEMPOTENT, ids=lambda law: law.__name__)
def test_a_bundled_store_keeps_the_idempotent_laws(law: conformance.IdempotentLaw, store: type) -> None:
    law(store())


@pytest.mark.promise("C46", "C47")
def test_the_suites_have_eleven_and_three_cases() -> None:
    assert len(conformance.BASE) == 11
    assert len(conformance.IDEMPOTENT) == 3


class Forgetful(MemoryStore):
    """A store that breaks laws: it loses the newest event of a window and takes any id."""

    def window(self, *args: Any) -> Any:
        return super().window(*args)[:-1]

    def create(self, log_id: str, owner: str) -> Any:
        self._logs.pop(log_id, None)
        return super().create(log_id, owner)

    def record_once(self, log_id: str, event: Any, key: str) -> Any:
        from chronicle.log import Recorded

        return Recorded(self.record(log_id, event))


@pytest.mark.promise("C46")
@pytest.mark.parametrize(
    "law",
    [
        conformance.create_twice_fails,
        conformance.filters_run_before_the_limit,
        conformance.order_is_the_order_of_recording,
        conformance.whole_event_is_returned,
        conformance.same_key_twice_is_one_event,
        conformance.stored_event_wins,
    ],
    ids=lambda law: law.__name__,
)
def test_a_law_can_fail(law: Any) -> None:
    with pytest.raises(AssertionError, match="law broken"):
        law(Forgetful())
