"""Schemas from type hints, and JSON back to the hinted types."""
from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from typing import Annotated, Any, Dict, FrozenSet, List, Literal, NewType, Optional, Sequence, Set, Tuple, TypedDict, Union

import pytest
from agent_surface import Field, Surface
from agent_surface.schema import decoder, schema_of


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    tags: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    name: str
    children: "List[Tree]" = dataclasses.field(default_factory=list)


class Total(TypedDict):
    a: int


class Partial(Total, total=False):
    when: datetime.date


UserId = NewType("UserId", str)
CASES: List[Tuple[Any, Dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (UserId, {"type": "string"}),
    (List[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (Tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (Tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
    (Set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (Dict[str, int], {"type": "object"}),
    (Optional[str], {"type": ["string", "null"]}),
    (Union[int, List[int]], {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1], {"enum": ["a", 1]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (Annotated[int, Field(ge=1, lt=9), "How many"], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "description": "How many"}),
    (Annotated[str, Field(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
    (Annotated[List[int], Field(min_length=1, max_length=3)],
     {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
    (Total, {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False, "required": ["a"]}),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "schema"), CASES)
def test_schema_of(hint: Any, schema: Dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_dataclasses_have_their_required_fields() -> None:
    schema = schema_of(Point)
    assert schema["required"] == ["x"]
    assert schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}


def test_optional_members_of_a_typed_dict() -> None:
    assert schema_of(Partial)["required"] == ["a"]


def test_a_type_that_contains_itself_is_defined_once() -> None:
    schema = schema_of(Tree)
    assert schema["$ref"] == "#/$defs/Tree"
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


@pytest.mark.parametrize("hint", [bytes, complex, Dict[int, str], object()])
def test_what_has_no_schema_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError):
        schema_of(hint)


def decoded(hint: Any, value: Any) -> Any:
    decode = decoder(hint)
    return decode(value) if decode else value


def test_json_comes_back_as_the_hinted_types() -> None:
    assert decoded(Point, {"x": 1}) == Point(1.0)
    assert decoded(Tree, {"name": "a", "children": [{"name": "b"}]}) == Tree("a", [Tree("b")])
    assert decoded(List[Point], [{"x": 1}]) == [Point(1.0)]
    assert decoded(Dict[str, Point], {"a": {"x": 1}}) == {"a": Point(1.0)}
    assert decoded(Set[str], ["a"]) == {"a"}
    assert decoded(FrozenSet[int], [1]) == frozenset({1})
    assert decoded(Tuple[int, Colour], [1, "red"]) == (1, Colour.RED)
    assert decoded(Optional[Colour], None) is None
    assert decoded(Union[int, Point], 5) == 5
    assert decoded(Union[int, Point], {"x": 5}) == Point(5.0)
    assert decoded(datetime.datetime, "2026-01-01T00:00:00Z").tzinfo is not None
    assert decoded(Partial, {"a": 1, "when": "2026-01-02"}) == {"a": 1, "when": datetime.date(2026, 1, 2)}
    assert decoder(List[int]) is None, "what is JSON already costs nothing"


def test_every_schema_is_one_the_runtime_takes() -> None:
    """AS-SCHEMA-001: the subset is checked at registration."""
    with Surface.testing() as surface:
        for i, (hint, _) in enumerate([*CASES, (Point, {}), (Tree, {})]):
            component = surface.component(f"c{i}", description="A case")

            def handler(value: Any) -> None:
                """A case."""

            handler.__annotations__ = {"value": hint, "return": hint}
            component.action("go")(handler)
            component.register()
            assert component.status == "active"


def test_pydantic_models() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        n: int = pydantic.Field(ge=1, description="How many")

    class Outer(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        inner: Inner
        by_name: Dict[str, Inner] = {}

    schema = schema_of(Outer)
    assert schema["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert schema["$defs"]["Inner"]["properties"]["n"]["minimum"] == 1
    assert decoded(Outer, {"inner": {"n": 1}}) == Outer(inner=Inner(n=1))
    with Surface.testing() as surface:
        component = surface.component("c", description="Models")

        def handler(value: Any) -> Any:
            assert isinstance(value, Outer)
            return value

        handler.__annotations__ = {"value": Outer, "return": Outer}
        component.action("go")(handler)
        assert surface.invoke_sync("view:c.go", {"value": {"inner": {"n": 2}}}).output == {"inner": {"n": 2}, "by_name": {}}
        refused = surface.invoke_sync("view:c.go", {"value": {"inner": {"n": 0}}})
        assert refused.error is not None and refused.error.code == "INVALID_INPUT"
