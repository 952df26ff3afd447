"""Prompts in the admin: the next version of a name may be added, none is ever changed."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chronicle.models import AuditEntry, Prompt
from chronicle.summarisers.prompts import ROLLUP, SECTION, prompt_digest

pytestmark = pytest.mark.django_db
ADD = "admin:chronicle_prompt_add"


def test_the_form_begins_with_the_built_in_texts(client: Client, root: User) -> None:
    page = client.get(reverse(ADD)).content.decode()
    assert SECTION.splitlines()[0].replace("'", "&#x27;") in page


def test_adding_a_name_twice_makes_two_versions_and_two_audit_entries(client: Client, root: User) -> None:
    for text in ("Tell it\r\nbriefly.", "Tell it."):
        answer = client.post(reverse(ADD), {"name": "terse", "section": text, "rollup": ROLLUP})
        assert answer.status_code == 302
    assert [prompt.label for prompt in Prompt.objects.order_by("pk")] == ["terse/1", "terse/2"]
    first = Prompt.objects.get(version=1)
    assert (first.section, first.made_by) == ("Tell it\nbriefly.", "root")
    assert first.rollup_digest == prompt_digest(ROLLUP)  # the blank at its end included
    assert first.section_digest == prompt_digest("Tell it\nbriefly.")
    entries = AuditEntry.objects.filter(what="prompt.made").order_by("pk")
    assert [entry.target for entry in entries] == ["terse/1", "terse/2"]
    assert "briefly" not in entries[0].details
    page = client.get(reverse("admin:chronicle_prompt_change", args=[first.pk])).content.decode()
    assert "briefly" in page and '<textarea name="section"' not in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "Not/this"}, "a-z, 0-9, dot, dash"),
        ({"name": "built-in"}, "a-z, 0-9, dot, dash"),
        ({"section": " \u200b "}, "has words"),
        ({"rollup": "x" * 20_001}, "at most 20,000 characters"),
    ],
)
def test_what_is_no_prompt_is_refused_with_the_reason(
    client: Client, root: User, given: dict[str, str], words: str
) -> None:
    answer = client.post(reverse(ADD), {"name": "terse", "section": "Tell it.", "rollup": "Tell all.", **given})
    assert answer.status_code == 200 and words in answer.content.decode()
    assert not Prompt.objects.exists()
