"""What the engine is handed: nodes and requests as tables, queues, external events.

- `machine`, `requests`: named nodes, and what jobs ask of them
- `queues`: several queues and how they take turns
- `caps`: what jobs add to idle power, and what caps leave
- `events`, `gathering`: what happens from outside, as a calendar
- `engine`: a run at time zero, and the functions of the user in it
"""
