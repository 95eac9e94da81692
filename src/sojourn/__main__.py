"""``python -m sojourn``: the command line."""

from .cli import main

raise SystemExit(main())
