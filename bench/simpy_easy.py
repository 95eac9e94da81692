"""A plain SimPy script for EASY with exact runtimes: what a careful user writes in an afternoon."""

import simpy


def simpy_easy(submit, runtime, procs, servers):
    env = simpy.Environment()
    free = servers
    queue = []
    running = []
    start = [None] * len(submit)
    woken = [env.event()]

    def run(j):
        nonlocal free
        yield env.timeout(runtime[j])
        running.remove((start[j] + runtime[j], procs[j], j))
        free += procs[j]
        if not woken[0].triggered:
            woken[0].succeed()

    def launch(j):
        nonlocal free
        start[j] = env.now
        free -= procs[j]
        running.append((env.now + runtime[j], procs[j], j))
        env.process(run(j))

    def arrivals():
        for j, at in enumerate(submit):
            if at > env.now:
                yield env.timeout(at - env.now)
            queue.append(j)
            if not woken[0].triggered:
                woken[0].succeed()

    def schedule():
        while queue and procs[queue[0]] <= free:
            launch(queue.pop(0))
        if not queue:
            return
        have, extra, shadow = free, 0, 0.0
        for end, width, _ in sorted(running):
            if have >= procs[queue[0]] and end > shadow:
                break
            have += width
            shadow = end
        extra = have - procs[queue[0]]
        for j in queue[1:]:
            if free == 0:
                break
            if procs[j] > free:
                continue
            in_time = env.now + runtime[j] <= shadow
            if in_time or procs[j] <= extra:
                extra -= 0 if in_time else procs[j]
                queue.remove(j)
                launch(j)

    def scheduler():
        while True:
            yield woken[0]
            # Everything else due at this instant comes first: one pass per instant.
            while env.peek() == env.now:
                yield env.timeout(0)
            woken[0] = env.event()
            schedule()

    env.process(arrivals())
    env.process(scheduler())
    env.run()
    return start
