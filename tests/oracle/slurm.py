"""Slurm's two loops from their description, with sets and lists; nothing of sojourn is used.

A job is a dict: submit (s, in the queue), run, launch, finish (s), limit (min), nodes, cpus,
memory, gpus (per node), whole, features, partition, user, priority, cancel (s). A node is a dict:
cpus, memory, gpus, features, partitions, leaf (-1 where no switches are known).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .slurm_events import Events, Outside
from .slurm_power import PowerLoop


@dataclass
class Conf:
    backfill: bool = True
    main_period: int = 60
    main_delay: int = 3
    main_depth: int = 100
    main_starts: int = 0
    backfill_period: int = 30
    resolution: int = 60
    window: int = 86400
    tests: int = 500
    reserve: int = 0
    tests_per_user: int = 0
    tests_per_partition: int = 0
    backfill_starts: int = 0
    least_age: int = 0
    over_limit: int = 0
    limit_period: int = 30
    purge_period: int = 60
    purge_age: int = 300
    tiers: tuple = (1,)
    shared: bool = False


@dataclass
class Pace:
    started: float = -10.0
    epoch: int = 0
    epilog: float = 0.02
    tick: float = 1.0014
    nap: float = 0.0003
    testing: float = 0.0008


def tightest_groups(nodes, free, need):
    """The smallest sufficient run of neighbours (or leaf switch), else the largest, and so on."""
    runs = []
    switches = {}
    for node in sorted(free):
        leaf = nodes[node]["leaf"]
        if leaf >= 0:
            switches.setdefault(leaf, []).append(node)
        elif runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    runs += [switches[leaf] for leaf in sorted(switches)]
    taken = []
    while len(taken) < need:
        left = need - len(taken)
        enough = [run for run in runs if len(run) >= left]
        best = min(enough, key=len) if enough else max(runs, key=len)
        runs.remove(best)
        taken += best[:left]
    return taken


@dataclass
class Controller:
    jobs: list
    nodes: list
    conf: Conf
    pace: Pace
    saving: object = None
    outside: Outside = field(default_factory=Outside)
    start: dict = field(default_factory=dict)
    end: dict = field(default_factory=dict)
    by: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    timed_out: set = field(default_factory=set)
    cancelled: dict = field(default_factory=dict)
    stopped_by_log: set = field(default_factory=set)

    def suits(self, j, n):
        job, node = self.jobs[j], self.nodes[n]
        return (
            job["partition"] in node["partitions"]
            and job["features"] <= node["features"]
            and all(node[what] >= job[what] for what in ("cpus", "memory", "gpus"))
        )

    def fits(self, j, among, running):
        """Nodes of `among` on which a job fits beside the running ones."""
        job = self.jobs[j]
        fitting = set()
        for n in among:
            here = [self.jobs[i] for i in running if n in self.given[i]]
            if not self.suits(j, n) or (job["whole"] and here):
                continue
            if any(other["whole"] for other in here):
                continue
            if all(
                self.nodes[n][what] - sum(other[what] for other in here) >= job[what]
                for what in ("cpus", "memory", "gpus")
            ):
                fitting.add(n)
        return fitting

    def order(self, second):
        key = lambda j: (  # noqa: E731
            -self.conf.tiers[self.jobs[j]["partition"]],
            -self.jobs[j]["priority"],
            j,
        )
        return sorted((j for j in self.waiting if self.events.eligible[j] <= second), key=key)

    def begin(self, j, nodes, now, by):
        job = self.jobs[j]
        self.waiting.remove(j)
        self.start[j], self.by[j], self.given[j] = now, by, list(nodes)
        self.running[j] = math.floor(now) + 60 * job["limit"]
        self.jobs_changed = self.nodes_changed = math.floor(now)
        if self.power and not self.power.is_up(nodes):
            self.power.claim(j)
        else:
            self.set_going(j, now)

    def set_going(self, j, now):
        """All nodes of a job are up."""
        job = self.jobs[j]
        self.running[j] = math.floor(now) + 60 * job["limit"]
        self.ends[j] = now + job["launch"] + self.events.work(j) + job["finish"]
        self.jobs_changed = math.floor(now)

    def finish(self, j, now):
        self.leave(j, now)
        self.end[j] = now

    def leave(self, j, now):
        """A job is in service no longer; its nodes are left a moment later."""
        del self.running[j]
        self.ends.pop(j, None)
        if self.power and j in self.power.booting:
            self.power.booting.remove(j)
            self.power.up[j] = now
        self.closing[j] = now + self.pace.epilog
        self.jobs_changed = self.nodes_changed = math.floor(now)

    def closing_nodes(self):
        return {n for j in self.closing for n in self.given[j]}

    def main_pass(self, now, everybody):
        stopped = set()
        tested = started = 0
        second = math.floor(now)
        for j in self.order(second):
            if not everybody and tested > self.conf.main_depth:
                return
            if self.conf.main_starts and started >= self.conf.main_starts:
                return
            tested += 1
            job = self.jobs[j]
            if job["partition"] in stopped:
                self.jobs_changed = math.floor(now)
                continue
            among = {
                n
                for n, node in enumerate(self.nodes)
                if not node["partitions"] & stopped and n not in self.closing_nodes()
            }
            among -= self.events.down
            among -= self.events.reserved(now, second, second + 60 * job["limit"], among)
            fitting = self.fits(j, among, self.running)
            if self.power:
                nodes = self.power.choose(fitting, job["nodes"], tightest_groups)
            else:
                enough = len(fitting) >= job["nodes"]
                nodes = tightest_groups(self.nodes, fitting, job["nodes"]) if enough else None
            if nodes is not None:
                self.begin(j, nodes, now, "main")
                started += 1
            elif not self.events.is_passed_by(j, stopped, now):
                stopped.add(job["partition"])

    def earliest(self, j, kept, now, now_only):
        job = self.jobs[j]
        left = dict(self.running)
        fitting = self.fits(j, kept, left)
        if len(fitting) >= job["nodes"]:
            return now, tightest_groups(self.nodes, fitting, job["nodes"])
        if now_only:
            return None
        ending = sorted(self.running, key=lambda i: (self.running[i], i))
        for batch in self.batches(ending, kept):
            for i in batch:
                del left[i]
            fitting = self.fits(j, kept, left)
            if len(fitting) >= job["nodes"]:
                at = max(self.running[batch[-1]], now + 1)
                return at, tightest_groups(self.nodes, fitting, job["nodes"])
        return None

    def batches(self, ending, kept):
        """Jobs that count as ending together: each alone, or those within a growing window."""
        if not self.conf.shared:
            return [[i] for i in ending]
        batches, batch = [], []
        window, barrier = 30, None
        for k, i in enumerate(ending):
            if kept.isdisjoint(self.given[i]):
                continue
            batch.append(i)
            if barrier is None:
                barrier = self.rounded(self.running[i], 30) + 30
            if k + 1 == len(ending):
                break
            following = self.running[ending[k + 1]]
            if following > barrier + window:
                batches.append(batch)
                batch = []
                window *= 2
                while following > barrier + window:
                    window *= 2
        return [*batches, batch] if batch else batches

    def rounded(self, second, step):
        """Down to a multiple of the step, counted from the epoch."""
        return (second + self.pace.epoch) // step * step - self.pace.epoch

    def backfill_pass(self, instant):
        conf = self.conf
        now, step = math.floor(instant), conf.resolution
        if self.planned:
            self.nodes_changed = now
        self.planned = set()
        if not self.waiting:
            return
        # [from, until, nodes kept for somebody], one after the other.
        begins, ends = self.rounded(now, step), self.rounded(now + conf.window, step)
        away = frozenset(self.power.blocked) if self.power else frozenset()
        away |= self.events.down
        space = [[begins, ends, away]]

        def reserve(begin, end, nodes):
            begin = max(begin, space[0][0])
            end = max(end, begin + step)
            cuts = sorted(at for at in {begin, end} if space[0][0] <= at <= space[-1][1])
            for cut in cuts:
                for k, (a, b, kept) in enumerate(space):
                    if a < cut < b:
                        space[k : k + 1] = [[a, cut, kept], [cut, b, kept]]
                        break
            for stretch in space:
                if stretch[0] >= begin and stretch[1] <= end:
                    stretch[2] = stretch[2] | set(nodes)

        tests = started = 0
        users, looked, reserved = {}, {}, {}
        for j in self.order(now):
            if tests >= conf.tests:
                return self.note_planned(now)
            job = self.jobs[j]
            user, part = job["user"], job["partition"]
            if conf.tests_per_user:
                if users.get(user, 0) >= conf.tests_per_user:
                    continue
                users[user] = users.get(user, 0) + 1
            if conf.tests_per_partition:
                if looked.get(part, 0) >= conf.tests_per_partition:
                    continue
                looked[part] = looked.get(part, 0) + 1
            young = conf.least_age and now - self.events.eligible[j] < conf.least_age
            now_only = bool(young or (conf.reserve and reserved.get(part, 0) >= conf.reserve))
            members = {n for n, node in enumerate(self.nodes) if part in node["partitions"]}
            limit = 60 * job["limit"]
            later, tried, found = now, False, None
            while later is not None:
                begin_at, later = later, None
                until = max(begin_at, now) + limit
                booked = self.events.reserved(instant, begin_at, begin_at + limit, members)
                allowed = members - booked
                kept = set(allowed)
                for k, (a, b, taken) in enumerate(space):
                    if b <= begin_at:
                        continue
                    if k + 1 < len(space) and later is None:
                        after = allowed - space[k + 1][2]
                        if not after <= kept - taken:
                            later = b
                    if a > until:
                        break
                    kept -= taken
                if booked:
                    over = self.events.first_end(instant, begin_at)
                    over = self.rounded(over + step - 1, step) + 1
                    if over < space[-1][1] and (later is None or over < later):
                        later = over
                if now_only:
                    later = None
                if sum(self.suits(j, n) for n in kept) < job["nodes"]:
                    continue
                tried = True
                answer = self.earliest(j, kept, now, now_only)
                if answer is None:
                    continue
                at, nodes = answer
                if begin_at > at:
                    at = begin_at
                    self.jobs_changed = now
                if at <= now and set(nodes) & self.closing_nodes():
                    at, later = now + 1, None
                elif at <= now and self.power:
                    # Nodes are chosen anew where some that it could use are not up.
                    fitting = self.fits(j, kept, self.running)
                    if fitting & self.power.down:
                        nodes = self.power.choose(fitting, job["nodes"], tightest_groups)
                if at > now and now_only:
                    break
                if at > now:
                    if later is not None and at > later:
                        continue
                    if at > now + conf.window:
                        break
                    s, e = self.rounded(at, step), self.rounded(at + limit, step)
                    if any(b > s and a < e and set(nodes) & taken for a, b, taken in space):
                        later = at
                        continue
                found = at, nodes
                break
            tests += tried
            if found is None:
                continue
            at, nodes = found
            until = self.rounded(at + limit, step)
            if at == now:
                self.begin(j, nodes, instant, "backfill")
                if job["whole"]:
                    reserve(space[0][0], until, nodes)
                started += 1
                if conf.backfill_starts and started >= conf.backfill_starts:
                    return None
                continue
            reserved[part] = reserved.get(part, 0) + 1
            busy = {n for i in self.running for n in self.given[i]}
            self.planned |= set(nodes) - busy
            reserve(self.rounded(at, step), until, nodes)
        return self.note_planned(now)

    def note_planned(self, now):
        if self.planned:
            self.nodes_changed = now

    def run(self):
        conf, pace = self.conf, self.pace
        since = math.floor(pace.started)
        self.waiting, self.running, self.ends, self.closing = set(), {}, {}, {}
        self.planned = set()
        self.events = Events(self.outside, self)
        self.power = PowerLoop(self.saving, self) if self.saving else None
        self.jobs_changed = self.nodes_changed = since
        last_full = last_main = last_backfill = last_limits = last_purge = since
        purged = set()
        self.wanted = True
        tick = pace.started + pace.tick
        wake = pace.started + conf.backfill_period + pace.nap if conf.backfill else math.inf
        arrivals = list(range(len(self.jobs)))
        cancels = sorted(
            (j for j in arrivals if math.isfinite(self.jobs[j]["cancel"])),
            key=lambda j: (self.jobs[j]["cancel"], j),
        )
        while len(self.end) + len(self.cancelled) < len(self.jobs):
            first_end = min(((t, j) for j, t in self.ends.items()), default=(math.inf, -1))
            first_idle = min(((t, j) for j, t in self.closing.items()), default=(math.inf, -1))
            comes = self.jobs[arrivals[0]]["submit"] if arrivals else math.inf
            goes = self.jobs[cancels[0]]["cancel"] if cancels else math.inf
            change = self.power.first_change()[0] if self.power else math.inf
            look = self.power.at if self.power else math.inf
            happens = self.events.next_time()
            now = min(first_end[0], first_idle[0], comes, change, goes, happens, tick, wake, look)
            second = math.floor(now)
            quiet = not (self.running or self.closing or arrivals or cancels or self.events.ahead)
            if quiet and self.events.is_over(second):
                break
            if first_end[0] == now:
                self.finish(first_end[1], now)
            elif first_idle[0] == now:
                del self.closing[first_idle[1]]
                self.jobs_changed = self.nodes_changed = second
                self.wanted = True
                self.events.leave_nodes(first_idle[1], second)
                if self.power:
                    self.power.leave_nodes(first_idle[1], second)
            elif comes == now:
                j = arrivals.pop(0)
                if j not in self.cancelled:
                    self.waiting.add(j)
                    self.jobs_changed = self.events.quiet = second
                    self.wanted = True
            elif change == now:
                self.power.change()
            elif goes == now:
                j = cancels.pop(0)
                self.events.quiet = second
                if j in self.waiting:
                    self.waiting.remove(j)
                    self.jobs_changed = second
                    self.cancelled[j] = now
                elif j in self.running:
                    self.stopped_by_log.add(j)
                    self.finish(j, now)
            elif happens == now:
                self.events.take()
            elif tick == now:
                tick = now + pace.tick
                if second - last_limits >= conf.limit_period:
                    last_limits = second
                    if self.power:
                        self.power.let_go(now)
                    for j in sorted(self.running, key=lambda j: (self.running[j], j)):
                        boots = self.power and j in self.power.booting
                        if self.running[j] + conf.over_limit <= second and not boots:
                            self.timed_out.add(j)
                            self.finish(j, now)
                if conf.purge_age and second - last_purge >= conf.purge_period:
                    last_purge = second
                    old = {
                        j for j in self.end if math.floor(self.end[j]) <= second - conf.purge_age
                    }
                    if old - purged:
                        self.jobs_changed = second
                    purged = old
                everybody = second - last_full >= conf.main_period
                called = self.wanted and second - last_main >= conf.main_delay
                if (everybody or called) and not self.events.stopped:
                    self.wanted, last_main = False, second
                    last_full = second if everybody else last_full
                    self.main_pass(now, everybody)
            elif look == now and wake != now:
                self.power.look()
            else:
                changed = max(self.jobs_changed, self.nodes_changed)
                still = self.events.stopped
                if (
                    second - last_backfill < conf.backfill_period
                    or changed < last_backfill
                    or still
                ):
                    wake = now + 1.0 + pace.nap
                    continue
                self.backfill_pass(now)
                done = now + pace.testing
                last_backfill = math.floor(done)
                wake = done + conf.backfill_period + pace.nap
        return self
