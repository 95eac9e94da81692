"""What should happen: recursions, stability, limits and losses, without a simulation.

- `recursion`: delays by the recursion for workload vectors
- `stability`: the constant C of the stability criterion; `multiresource`: the same for demands
  of several kinds
- `saturated`: the saturated system: maximal throughput with classes of their own rates and speeds
- `markov`: small FCFS systems, with rate control, solved as a Markov chain; `two_server`
- `sleep`: servers that are switched off when idle and take time to wake; `sleep_own`: as in the
  simulation, where a boot belongs to its job; `sleep_two`: two of them and jobs that may need both;
  `setup`: one of them, with times of any law
- `checkpoint`: how often to save a job that may be killed
- `response`: mean waits near saturation
- `infinite`: servers without end and time limits; `batch`: the same for times of any law;
  `limits`: who finishes in time; `widths`: servers per request
- `loss`: Erlang's formulas and Kaufman and Roberts'
- `correlation`: dependence between columns of a log
- `fit`: the parameters of these models from a log

Nothing here knows the engine: each checks the other.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
