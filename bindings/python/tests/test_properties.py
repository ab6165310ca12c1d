"""Properties over arbitrary JSON: what the runtime digests, Python's standard library digests too."""
from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest

hypothesis = pytest.importorskip("hypothesis")
from agent_surface import Surface, canonical_json, request_digest, verify  # noqa: E402
from agent_surface._names import camel_case  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


def number(value: Any) -> str:
    """ECMAScript's text of a number; integers keep every digit."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    d, n = "".join(map(str, digits)), len(digits) + exponent
    if 0 < n <= 21:
        text = d.ljust(n, "0")[:n] + ("." + d[n:] if len(d) > n else "")
    elif -6 < n <= 0:
        text = "0." + "0" * -n + d
    else:
        text = d[0] + ("." + d[1:] if d[1:] else "") + "e%+d" % (n - 1)
    return "-" * sign + text


def canonical(value: Any) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


@settings(deadline=None, max_examples=400)
@given(JSON)
def test_the_canonical_text_is_pythons(value: Any) -> None:
    """AS-CONFIRM-002."""
    assert canonical_json(value) == canonical(value)


@settings(deadline=None, max_examples=300)
@given(OBJECTS)
def test_the_digest_is_pythons(value: Any) -> None:
    """AS-BINDING-001."""
    assert request_digest("view:a.b", value) == digest({"capabilityId": "view:a.b", "input": value})


surface = Surface.testing(limits={"maxInFlight": 64})


@surface.component("e", description="Echo").action("echo", input={"type": "object"}, output={})
def echo(given: Any) -> Any:
    return given


@settings(deadline=None, max_examples=300)
@given(OBJECTS, OBJECTS)
def test_results_belong_to_their_request_and_to_no_other(value: Any, other: Any) -> None:
    """AS-BINDING-002, AS-BINDING-004: through the whole of Python, the library, and back."""
    result = surface.invoke_sync("view:e.echo", value)
    assert result.raise_for_error().issued_digest == result.request_digest == digest({"capabilityId": "view:e.echo", "input": value})
    assert result.output_digest == digest(result.output)
    assert canonical(result.output) == canonical(value)
    assert verify(result, "view:e.echo", value)
    assert bool(verify(result, "view:e.echo", other)) == (canonical(value) == canonical(other))


@given(st.from_regex(r"[a-z]+(_[a-z0-9]+){0,3}", fullmatch=True))
def test_names_fit_the_grammar(name: str) -> None:
    """AS-ID-001."""
    import re

    assert re.fullmatch(r"[a-z][A-Za-z0-9]*", camel_case(name))
    assert camel_case(camel_case(name)) == camel_case(name)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"a": {1, object()}}, object()])
def test_what_no_json_can_hold_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        surface.invoke_sync("view:e.echo", {"value": value})


def test_keys_that_become_one_are_refused() -> None:
    from agent_surface import JsonError

    with pytest.raises(JsonError):
        surface.invoke_sync("view:e.echo", {"a": {1: "x", "1": "y"}})


def test_the_projects_vectors() -> None:
    """spec/vectors: every binding recomputes them."""
    from agent_surface._native import abi
    from conftest import PROJECT

    folder = PROJECT / "spec/vectors"
    for vector in json.loads((folder / "canonical.json").read_text(encoding="utf-8"))["accepted"]:
        assert abi.canonical_json(vector["json"].encode("utf-8")) == vector["canonical"], vector["name"]
    for vector in json.loads((folder / "digests.json").read_text(encoding="utf-8"))["requests"]:
        assert abi.request_digest(vector["capabilityId"], (vector["input"] or "").encode("utf-8")) == vector["digest"], vector["name"]
