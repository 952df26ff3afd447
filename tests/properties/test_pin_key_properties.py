"""Pin keys: one for what is one request, another for every other one."""

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chronicle.errors import InvalidPayload
from chronicle.replay import pin_key

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
requests = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts.map(lambda t: f"k{t}"), inner, max_size=4),
    max_leaves=12,
)


def nfc(value: Any) -> Any:
    return json.loads(unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False)))


def turned(value: Any) -> Any:
    """The same request as another program writes it: keys the other way round, tuples, decomposed letters."""
    if isinstance(value, dict):
        return {turned(key): turned(one) for key, one in reversed(value.items())}
    if isinstance(value, list):
        return tuple(turned(one) for one in value)
    return unicodedata.normalize("NFD", value) if isinstance(value, str) else value


def key_of(request: Any) -> str | None:
    try:
        return pin_key("model_call", request)
    except ValueError:  # two keys that NFC makes one
        return None


@pytest.mark.promise("A12")
@given(requests)
def test_a_key_has_one_form_and_the_order_and_form_of_a_request_do_not_matter(request: Any) -> None:
    key = key_of(request)
    assume(key is not None)
    assert key is not None and re.fullmatch(r"p1:model_call:[0-9a-f]{64}", key)
    assert key_of(turned(request)) == key
    assert pin_key("tool_call", request) != key


@pytest.mark.promise("A12")
@given(requests, requests)
def test_two_keys_are_one_only_where_the_requests_are(one: Any, other: Any) -> None:
    keys = key_of(one), key_of(other)
    assume(None not in keys)
    same = json.dumps(nfc(one), sort_keys=True) == json.dumps(nfc(other), sort_keys=True)
    assert (keys[0] == keys[1]) == same


@pytest.mark.promise("A12")
@given(requests)
def test_names_that_nfc_makes_one_are_refused_wherever_they_stand(inner: Any) -> None:
    twice = {"caf\u00e9": 1, "cafe\u0301": 2}
    for request in (twice, {"in": [inner, twice]}, [[twice]]):
        with pytest.raises(ValueError, match="NFC"):
            pin_key("model_call", request)


@pytest.mark.promise("A12")
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_json_has_no_form_for_is_refused(number: float) -> None:
    with pytest.raises(InvalidPayload):
        pin_key("model_call", {"temperature": number})
    with pytest.raises(InvalidPayload):
        pin_key("model_call", {"temperature": object()})


@pytest.mark.promise("A12")
def test_a_key_is_the_hash_of_the_text_that_the_promise_names() -> None:
    import hashlib

    text = b'{"a":[1,null,true],"b":"\\u00e9"}'
    assert pin_key("x", {"b": "e\u0301", "a": (1, None, True)}) == f"p1:x:{hashlib.sha256(text).hexdigest()}"
