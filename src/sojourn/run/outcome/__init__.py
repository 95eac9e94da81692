"""What came of a run: from the engine's tables to tables and numbers for people.

- `schedule`: who was served when, and the measures of that; `energy`, `resources`
- `aftermath`: what events did to jobs
- `unmodelled`: what it does not act on
- `recorded_nodes`: the nodes that a log records, checked
"""
