"""``sojourn schema``: the keys of a scenario file, for editors."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON Schema of scenario files, with which editors complete and check them.

    A scenario whose first line is "#:schema scenario.schema.json" has it looked for beside it.

    Example: sojourn schema > scenario.schema.json
    """
    from ..run.folder import as_json
    from ..study import scenario_schema

    print(as_json(scenario_schema()))
