"""What the engine is handed: nodes and requests as tables, queues, external events.

- `machine`, `requests`: named nodes, and what jobs ask of them
- `queues`: several queues and how they take turns
- `events`: what happens from outside, as a calendar
"""
