"""The API's own page and its OpenAPI: open to read, and served by this site alone."""

import json
import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing_inline(client: Client) -> None:
    answer = client.get("/api/v1/docs")
    page = answer.content.decode()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)

    assert answer.status_code == 200
    assert {"/static/ninja/swagger-ui-bundle.js", "/static/ninja/swagger-ui.css"} <= set(loaded)
    assert all(address.startswith("/static/") and finders.find(address[8:]) for address in loaded)
    assert not re.findall(r"<style|\son[a-z]+=", page)
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page))
    assert json.loads(re.findall(r'id="swagger-settings">(.*?)</script>', page, re.S)[0])["validatorUrl"] is None
    assert "script-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.promise("S84")
def test_openapi_names_the_token_the_limits_and_the_values_of_a_policy(client: Client) -> None:
    told = client.get("/api/v1/openapi.json").json()
    post = told["paths"]["/api/v1/logs/{log_id}/policy"]["post"]

    assert "rollup_batch" in json.dumps(post["requestBody"])
    assert post["security"]
    assert "16 MiB" in told["paths"]["/api/v1/logs/{log_id}/events"]["post"]["description"]
