"""What must be right before the site starts."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from chronicle import append_only, checks


@pytest.mark.parametrize("key", ["django-insecure-abc", "changeme", "Example"])
def test_a_sample_key_is_refused_when_debug_is_off(settings: Settings, key: str) -> None:
    settings.SECRET_KEY, settings.DEBUG = key, False
    [found] = checks.sample_key()
    assert found.is_serious() and found.id == "chronicle.E001"
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY"):
        checks.refuse_unsafe_start()


@pytest.mark.django_db
def test_a_sample_key_may_be_used_while_debugging_and_a_random_one_always(settings: Settings) -> None:
    settings.SECRET_KEY, settings.DEBUG = "changeme", True
    assert not checks.sample_key()
    settings.SECRET_KEY, settings.DEBUG = "f2b8a9c1" * 8, False
    assert not checks.sample_key()
    checks.refuse_unsafe_start()


@pytest.mark.django_db(transaction=True)
def test_triggers_that_are_gone_are_named() -> None:
    assert not [found for found in checks.database(databases=["default"]) if found.id == "chronicle.W002"]
    append_only.drop(connection)
    [found] = [found for found in checks.database(databases=["default"]) if found.id == "chronicle.W002"]
    assert "protect_chronicle_" in found.msg and "migrate" in str(found.hint)


@pytest.mark.django_db
@pytest.mark.parametrize(("version", "warns"), [((3, 51, 2), True), ((3, 51, 3), False), ((3, 52, 0), False)])
def test_an_sqlite_with_the_wal_reset_bug_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], warns: bool
) -> None:
    monkeypatch.setattr(checks.sqlite3, "sqlite_version_info", version)
    found = [found.id for found in checks.database(databases=["default"])]
    assert ("chronicle.W001" in found) is (warns and connection.vendor == "sqlite")


def test_nothing_is_asked_of_a_database_that_is_not_named() -> None:
    assert checks.database() == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"SUMMARISER": "model", "MODEL": ""}, "set MODEL=provider:name"),
        ({"SUMMARISER": "oracle"}, "none of outline, model"),
        ({"SUMMARISER": "model", "MODEL": "openai:x", "MODEL_TEMPERATURE": "hot"}, "from 0 to 2"),
        ({"SUMMARISER": "model", "MODEL": "openai:x", "MODEL_TIMEOUT": 0}, "MODEL_TIMEOUT is a number from 1 to 540"),
    ],
)
def test_a_summariser_that_could_draw_nothing_is_warned_of(
    settings: Settings, given: dict[str, Any], words: str
) -> None:
    for name, value in given.items():
        setattr(settings, name, value)
    (warning,) = checks.summariser()
    assert warning.id == "chronicle.W003" and words in warning.msg
    settings.MODEL, settings.MODEL_TEMPERATURE, settings.MODEL_TIMEOUT = "openai:x", "0.5", 120
    settings.SUMMARISER = "model"
    assert checks.summariser() == []
