"""`policy`: shown, set, refused with the range."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from chronicle import policies
from chronicle.models import AuditEntry
from tests.builders import log_of

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command("policy", *words, stdout=out)
    return out.getvalue()


@pytest.mark.promise("S84")
def test_values_are_set_from_the_first_free_event_on_and_shown() -> None:
    log = log_of(3)
    said = run(log.public_id, "--set", "rollup_batch=4", "--set", "rollup_threshold=6", "--set", 'boundary=["a/b"]')
    told = json.loads(run(log.public_id, "--json"))

    assert "rollup_batch: 4 (2 to 100)" in said
    assert [row["rollup_batch"] for row in told["rows"]] == [8, 4]
    assert told["rows"][-1]["boundary"] == ["a/b"]
    assert AuditEntry.objects.filter(what="policy.made", target=log.public_id).count() == 1


def test_without_a_log_it_is_the_default() -> None:
    run("--set", "max_recent=5")
    assert policies.default().max_recent == 5


@pytest.mark.promise("S84", "S61")
@pytest.mark.parametrize(
    ("word", "said"),
    [("rollup_batch=101", "2 to 100"), ("speed=3", "has no"), ("max_older=x", "number"), ("x", "NAME")],
)
def test_what_is_out_of_range_is_refused_with_the_range(word: str, said: str) -> None:
    log = log_of(3)
    with pytest.raises(CommandError, match=said) as refused:
        run(log.public_id, "--set", word)
    assert refused.value.returncode == 2
    assert len(policies.rows(log)) == 1
