"""What came of a run: from the engine's tables to tables and numbers for people.

- `schedule`: who was served when; `summary`: the measures of that; `energy`, `ledger`, `resources`
- `states`, `caps`, `domains`: of nodes that sleep, power under caps, rates of sets of nodes
- `aftermath`: what events did to jobs
- `unmodelled`: what it does not act on
- `recorded_nodes`: the nodes that a log records, checked
"""
