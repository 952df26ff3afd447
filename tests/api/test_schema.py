"""What the API says of itself, held against what it does: no 5xx, no answer that is not documented.

So many calls per route, drawn from its own OpenAPI, sound ones and broken ones; half of them are of a log and a
section that are there.
"""

import json
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests.api.conftest import token
from tests.web.world import World, world

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
CALLS = 15


@schemathesis.serializer("application/x-ndjson")
def lines(_: Any, value: Any) -> bytes:
    return json.dumps(value).encode()


schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())
schema.config.generation.update(modes=list(schemathesis.GenerationMode))


@pytest.fixture
def known(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.close", lambda _: None)  # one transaction
    return world(units=2)


@pytest.fixture
def held(db: None) -> str:
    return token("admin", name="root")


@schema.parametrize()
@settings(
    max_examples=CALLS,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_answer_is_a_fault_or_undocumented(case: Any, known: World, held: str) -> None:
    parameters = case.path_parameters or {}
    if "log_id" in parameters and len(str(parameters["log_id"])) % 2:
        parameters["log_id"] = known.log.public_id
        if "section" in parameters:
            parameters["section"] = "1-3"
    case.call_and_validate(headers={"Authorization": f"Bearer {held}"}, checks=CHECKS)
