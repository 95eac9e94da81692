"""The keys of a scenario as a JSON Schema, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from .keys import ScenarioKeys

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file."""
    schema: dict[str, Any] = _plain(ScenarioKeys.model_json_schema(by_alias=False))
    return {"$schema": _DRAFT, **schema, "title": "sojourn scenario"}


def _plain(schema: Any) -> Any:
    """Leave out what TOML does not have (null) and what only repeats the name of a key."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: _plain(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str))
        and not (name == "default" and (value is None or isinstance(value, dict)))
    }
    for word in ("anyOf", "oneOf"):
        if word in kept:
            ways = [item for item in kept.pop(word) if item != {"type": "null"}]
            kept = {**ways[0], **kept} if len(ways) == 1 else {word: ways, **kept}
    return kept
