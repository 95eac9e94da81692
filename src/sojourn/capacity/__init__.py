"""Is the machine big enough? Theory and simulation, side by side.

- `saturation`: how many jobs a machine can take, by simulating it saturated
- `stability`: whether a machine keeps up with a log, and the smallest that does
- `plan`: how many processors keep waits within a target
- `limits`: how many jobs finish within their time limits
"""
