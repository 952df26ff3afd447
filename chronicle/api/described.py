"""What OpenAPI is told beside the shapes: refusals of a route, bodies that the views read themselves, headers."""

from typing import Any

from pydantic import BaseModel

from chronicle.api.incoming import JSON, LINES, MAX_KEY
from chronicle.api.shapes import Refusal

ALWAYS = (401, 403)
KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Again with this key is a replay: nothing is written twice.",
    "schema": {"type": "string", "maxLength": MAX_KEY, "pattern": "^[ -~]*$"},
}


def refusals(*statuses: int) -> dict[int, Any]:
    """Return the refusals of a route, by their status."""
    return dict.fromkeys(sorted({*ALWAYS, *statuses}), Refusal)


def sends(
    model: type[BaseModel], *, key: bool = False, required: bool = False, batches: bool = False
) -> dict[str, Any]:
    """Return what is said of a body: one `model`, and with `batches` a list of them or lines."""
    schema = model.model_json_schema()
    content: dict[str, Any] = {JSON: {"schema": schema}}
    if batches:
        content[JSON] = {"schema": {"oneOf": [schema, {"type": "array", "items": schema}]}}
        content[LINES[0]] = {"schema": {"type": "string", "description": "one event a line"}}
    parameters = {"parameters": [KEY]} if key else {}
    return {"requestBody": {"required": required, "content": content}, **parameters}


def reads(*types: str) -> dict[str, Any]:
    """Return what is said of an answer that has other types than JSON, and of its receipt."""
    headers = {"Chronicle-Receipt": {"schema": {"type": "string"}}, "Chronicle-Digest": {"schema": {"type": "string"}}}
    content = {one: {"schema": {"type": "string"}} for one in types}
    return {"responses": {200: {"headers": headers, "content": content}}}
