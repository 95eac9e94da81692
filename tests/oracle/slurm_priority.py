"""Fair share of Slurm by plain recursion: a tree of names, usage in a dictionary."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Shares:
    """Accounts with users, all shares 1, and the user root beside the accounts."""

    accounts: dict[str, list[str]]
    decay: float
    dampening: float
    used: dict[tuple[str, str], float] = field(default_factory=dict)
    account_level: dict[str, float] = field(default_factory=dict)
    user_level: dict[tuple[str, str], float] = field(default_factory=dict)

    def spend(self, account, user, cpus, seconds):
        key = (account, user)
        if seconds > 0:
            self.used[key] = self.used.get(key, 0.0) + cpus * seconds * self.decay**seconds

    def total(self, account=None):
        return sum(use for (name, _), use in self.used.items() if account in (None, name))

    def begin_period(self, elapsed):
        whole = self.total()
        self.account_level = {
            name: self.total(name) / whole if whole else 0.0 for name in self.accounts
        }
        self.user_level = {}
        if elapsed > 0:
            self.used = {key: use * self.decay**elapsed for key, use in self.used.items()}

    def classic(self, account, user):
        key = (account, user)
        siblings = len(self.accounts[account])
        if key not in self.user_level:
            whole = self.total()
            own = self.used.get(key, 0.0) / whole if whole else 0.0
            above = self.account_level.get(account, 0.0)
            self.user_level[key] = own + (above - own) / siblings
        part = 1 / (len(self.accounts) + 1) / siblings
        return 2.0 ** (-(self.user_level[key] / part) / self.dampening)

    def tree(self):
        """Return the factor of every user: its rank over the number of users, root among them."""
        users = 1 + sum(len(names) for names in self.accounts.values())
        ranks: dict[tuple[str, str], int] = {}
        state = {"rank": users, "untied": users}

        def level(use, whole, siblings):
            ratio = use / whole if whole else 0.0
            return 1 / siblings / ratio if ratio else math.inf

        def visit(children, tied_above):
            # Python's sort keeps the order of equals.
            children.sort(key=lambda child: (-child[0], child[1] is None))
            before = None
            for k, (own, user, inner) in enumerate(children):
                tied = tied_above if k == 0 else own == before
                before = own
                if user is not None:
                    if not tied:
                        state["rank"] = state["untied"]
                    ranks[user] = state["rank"]
                    state["untied"] -= 1
                else:
                    visit(inner, tied)

        whole = self.total()
        top = [(math.inf, ("", "root"), None)]
        for account in sorted(self.accounts):
            names = sorted(self.accounts[account])
            inner = [
                (
                    level(self.used.get((account, name), 0.0), self.total(account), len(names)),
                    (account, name),
                    None,
                )
                for name in names
            ]
            siblings = len(self.accounts) + 1
            top.append((level(self.total(account), whole, siblings), None, inner))
        visit(top, False)
        return {user: rank / users for user, rank in ranks.items()}
