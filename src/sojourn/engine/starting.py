"""May a job start now on named nodes? If so, it gets them."""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined, spliced
from .booting import boot_of_nodes, is_up_by, use_nodes
from .calendar import stretch_of
from .caps import (
    is_hopeless,
    may_draw,
    may_stay_on,
    note_draw,
    note_waking,
    shift_draw,
    spare_room,
)
from .choosing import (
    choose,
    choose_from,
    keep_caps,
    pick_by_key,
    pick_under_caps,
    score_nodes,
)
from .domains import begin_in_domains
from .nodes import (
    AHEAD,
    BY_NODE,
    BY_SPEED,
    CONTIGUOUS,
    FREE,
    ORDERED,
    PICK,
    PICK_TASKS,
    SCORED,
    SPEED,
    THERE,
    USABLE,
    VIEW_FREE,
    expected,
    move,
    note_picks,
    nth_place,
    takes,
)
from .placing import (
    hand_over,
    pick_in_order,
    pick_live,
    put_back,
    shift_licences,
    take_nodes,
    take_pools,
)
from .service import begin


@called
def note_reserved(s, nodes, calendar):
    """Note on each node when, as work, the next known reservation of it begins."""
    for node in range(s.nodes):
        nodes.node[node].reserved = np.inf
    for i in range(s.over, calendar.reservation.shape[0]):
        begins, _ = stretch_of(s, calendar, i)
        if begins < np.inf and calendar.reservation[i].begins < s.now:
            # It has begun: not even a job of no length finds the node.
            begins = -np.inf
        node = calendar.reservation[i].what
        nodes.node[node].reserved = min(nodes.node[node].reserved, begins)


@called
def shut_reserved(s, nodes, until):
    """Let nobody find the nodes whose reservation begins before `until`."""
    for node in range(s.nodes):
        nodes.node[node].shut = 0
        if nodes.node[node].reserved < until and nodes.node[node].free > 0:
            nodes.node[node].shut = nodes.node[node].free
            move(s, nodes, node, -nodes.node[node].free)


@inlined
def _free_before(s, nodes, until):
    """Processors that are free on nodes whose reservation does not begin before `until`."""
    free = np.int64(0)
    for node in range(s.nodes):
        if nodes.node[node].reserved >= until:
            free += nodes.node[node].free
    return free


@called
def open_again(s, nodes):
    """Undo `shut_reserved`."""
    for node in range(s.nodes):
        if nodes.node[node].shut > 0:
            move(s, nodes, node, nodes.node[node].shut)
            nodes.node[node].shut = 0


@called
def take_picks(s, nodes, jobs, j, score, theta):
    """Take what was picked by pool; concrete nodes inside a pool go by the placement."""
    shift_draw(nodes.caps, FREE, j, -1)
    if s.pooling == BY_SPEED:
        take_pools(s, nodes)
        return
    if s.pooling != BY_NODE:
        if s.rule != SCORED:
            pick_live(s, nodes, j, jobs.procs[j], jobs.plan[j])
            return
        for node in range(s.nodes):
            nodes.list[USABLE, node] = nodes.node[node].free
            nodes.list[VIEW_FREE, node] = nodes.node[node].free
        score_nodes(s, nodes, jobs, j, score, theta)
        size, _ = pick_by_key(nodes, s.nodes, jobs.procs[j])
        note_picks(s, size)
    take_nodes(s, nodes, j)


@inlined
def _look_at_spare(s, nodes):
    """Let choices be made from what is free now and not needed by the head at its reservation."""
    for r in range(s.resources):
        for q in range(s.pools + 1):
            nodes.stock[THERE, r, q] = min(nodes.stock[FREE, r, q], nodes.stock[AHEAD, r, q])
    spare_room(nodes.caps)


@inlined
def _change_ahead(s, nodes, j, sign):
    """Take the picked nodes from what the head leaves (sign -1), or not; whether it can."""
    good = True
    for i in range(s.picked):
        q = nodes.node[nodes.list[PICK, i]].pool
        for r in range(s.resources):
            nodes.stock[AHEAD, r, q] += sign * takes(s, nodes, j, r, q, nodes.list[PICK_TASKS, i])
            good = good and nodes.stock[AHEAD, r, q] >= 0
    shift_licences(s, nodes, AHEAD, j, sign)
    for r in range(s.resources):
        good = good and nodes.stock[AHEAD, r, s.pools] >= 0
    if sign < 0:
        good = good and may_draw(nodes.caps, AHEAD, j)
    shift_draw(nodes.caps, AHEAD, j, sign)
    return good


@inlined
def _leaves_head_alone(s, nodes, j, width):
    """Whether a job that runs past the shadow time may have the picked nodes."""
    if s.pinned == 1:
        if _change_ahead(s, nodes, j, -1):
            return True
        _change_ahead(s, nodes, j, 1)
        return False
    if width > s.extra or not may_draw(nodes.caps, AHEAD, j):
        return False
    s.extra -= width
    shift_draw(nodes.caps, AHEAD, j, -1)
    return True


@inlined
def _slowness_of_nodes(s, nodes):
    slowness = 0.0
    for i in range(s.picked):
        slowness = max(slowness, nodes.node[nodes.list[PICK, i]].slowness)
    return slowness


@inlined
def _end_on_nodes(s, nodes, plan):
    """When a job is expected to end, as work, if it starts now on the picked nodes."""
    return s.work + boot_of_nodes(s, nodes) + expected(s, plan, _slowness_of_nodes(s, nodes))


@inlined
def nth_slowness(s, nodes, width):
    """Slowness of the `width`-th fastest free processor; that of the slowest if there are fewer."""
    if s.speeds == 1:
        return nodes.real[SPEED, 0]
    place = nth_place(nodes, s.nodes, True, width - 1)
    return nodes.node[min(place, s.nodes - 1)].ranked


@inlined
def _keeps_caps_live(s, nodes, j):
    """Whether the nodes that were picked for `j` keep all caps."""
    if s.varied == 0:
        return True
    note_draw(s, nodes, nodes.caps, j, True)
    return may_draw(nodes.caps, FREE, j)


@inlined
def _are_up(s, nodes):
    """Whether the nodes that were picked are up."""
    up = True
    for i in range(s.picked):
        up = up and is_up_by(s, nodes, nodes.node[nodes.list[PICK, i]].pool)
    return up


@inlined
def _take_under_caps(s, nodes, j, only_up):
    """Take nodes in the place of those that add too much; whether there are any."""
    s.only_up = 1 if only_up else 0
    found = pick_under_caps(s, nodes, nodes.caps, FREE, j, nodes.job[j].choice, np.inf)
    s.only_up = 0
    if found:
        take_nodes(s, nodes, j)
        shift_draw(nodes.caps, FREE, j, -1)
    return found


@inlined
def find_naturally(s, nodes, jobs, j, score, theta):
    """Take what the placement finds in what is free now; whether it finds enough.

    Where nodes sleep, what is free is looked at node by node, but for jobs that any node serves.
    """
    if s.varied == 0 and not may_draw(nodes.caps, FREE, j):
        return False
    if is_hopeless(s, nodes, nodes.caps, FREE, j):
        return False
    s.awake_by = s.work
    awake = s.not_up == 0
    if nodes.job[j].plain == 1 and (s.rule == ORDERED or (awake and s.rule != SCORED)):
        enough = pick_live(s, nodes, j, jobs.procs[j], jobs.plan[j])
        if enough and _keeps_caps_live(s, nodes, j):
            shift_draw(nodes.caps, FREE, j, -1)
            return True
        only_up = not awake and enough and _are_up(s, nodes)
        put_back(s, nodes, j, False)
        if only_up and _take_under_caps(s, nodes, j, True):
            return True
        return enough and _take_under_caps(s, nodes, j, False)
    if awake and s.rule == ORDERED and s.vectors == 1 and nodes.job[j].budget == np.inf:
        first = nodes.job[j].choice
        for choice in range(first, first + nodes.job[j].choices):
            if pick_in_order(s, nodes, j, choice):
                if keep_caps(s, nodes, nodes.caps, FREE, j, choice, np.inf):
                    take_nodes(s, nodes, j)
                    shift_draw(nodes.caps, FREE, j, -1)
                    return True
        return False
    if choose_from(s, nodes, jobs, FREE, j, np.inf, score, theta):
        take_picks(s, nodes, jobs, j, score, theta)
        return True
    return False


@inlined
def is_refused(s, nodes, jobs, j, beside):
    """Whether `j` finds nothing, since a job with the same request found nothing in this pass.

    Within a pass starts only take away: where there was no room there is none, and what was too
    long `beside` the reservations is so for all that are as long.
    """
    if s.vectors == 0 or s.lends == 1:
        # A node that was woken for one has room for others who could not have woken it.
        return False
    first = nodes.job[j].alike
    if first < 0 or nodes.job[first].refused != s.passes:
        return False
    return nodes.job[first].too_long <= (jobs.plan[j] if beside else -np.inf)


@inlined
def refuse(s, nodes, j, plan):
    """Remember that who asks for the same as `j` finds nothing in this pass, from a plan on."""
    first = nodes.job[j].alike
    if first >= 0:
        nodes.job[first].refused = s.passes
        nodes.job[first].too_long = plan


@inlined
def _is_in_time(s, nodes, j, plan):
    """Whether a job on the picked nodes ends before the shadow, and what it wakes may stay on."""
    if _end_on_nodes(s, nodes, plan) > s.shadow:
        return False
    if s.lends == 0 or s.asleep == 0 or s.unsure == 0:
        return True
    note_waking(s, nodes, nodes.caps, j, True)
    return may_stay_on(nodes.caps, AHEAD)


@spliced
def _try_around(s, nodes, jobs, j, reserved, score, theta):
    width, plan = jobs.procs[j], jobs.plan[j]
    if not find_naturally(s, nodes, jobs, j, score, theta):
        refuse(s, nodes, j, -np.inf)
        return False
    if not reserved or _is_in_time(s, nodes, j, plan):
        return True
    if _leaves_head_alone(s, nodes, j, width):
        return True
    boot = boot_of_nodes(s, nodes)
    put_back(s, nodes, j, True)
    if s.lends == 1 and s.pinned == 0 and s.speeds == 1:
        # It would find the same nodes again.
        return False
    # Among fewer nodes a placement finds no more, but for neighbours that draw too much: without
    # them others come first. Or others that take less to wake.
    draws = s.rule == CONTIGUOUS and (nodes.job[j].budget < np.inf or s.varied == 1)
    draws = draws or (s.lends == 1 and s.pinned == 1)
    for i in range(s.speeds):
        slowness = nodes.real[SPEED, i]
        in_time = s.work + boot + expected(s, plan, slowness) <= s.shadow
        if in_time:
            good = choose_from(s, nodes, jobs, FREE, j, slowness, score, theta)
        elif s.pinned == 1 and (i == 0 or draws):
            _look_at_spare(s, nodes)
            good = choose(s, nodes, jobs, j, slowness, score, theta)
        else:
            continue
        if good:
            take_picks(s, nodes, jobs, j, score, theta)
            if _is_in_time(s, nodes, j, plan):
                return True
            if s.pinned == 1 and _leaves_head_alone(s, nodes, j, width):
                return True
            put_back(s, nodes, j, True)
        if in_time and not draws:
            break
    refuse(s, nodes, j, plan)
    return False


@inlined
def least_boot(s):
    """Work until a node that is asleep is up, where all take as long; not more, for rounding."""
    if s.nap_leave == np.inf:
        return 0.0
    return max((s.nap_leave - 2e-15 * (abs(s.now) + abs(s.work))) * s.rate, 0.0)


@inlined
def _adds_too_much_ahead(s, nodes, j):
    """Whether `j` adds more than the head leaves at its reservation, wherever `j` runs."""
    if s.varied == 0 and not may_draw(nodes.caps, AHEAD, j):
        return True
    return is_hopeless(s, nodes, nodes.caps, AHEAD, j)


@inlined
def has_no_chance(s, nodes, jobs, j, reserved):
    """Whether `j` adds too much wherever it runs now, or is too long beside a reservation."""
    if nodes.caps is not None:
        if s.varied == 0 and not may_draw(nodes.caps, FREE, j):
            return True
        if is_hopeless(s, nodes, nodes.caps, FREE, j):
            return True
    plan, width = jobs.plan[j], jobs.procs[j]
    if reserved and (width > s.extra or _adds_too_much_ahead(s, nodes, j)):
        boot = 0.0
        if s.lends == 1 and s.pinned == 0 and width > s.free - s.asleep * s.nap_procs:
            # Somebody must be woken.
            boot = least_boot(s)
        # The fastest free processors must do.
        if s.work + boot + expected(s, plan, nth_slowness(s, nodes, width)) > s.shadow:
            refuse(s, nodes, j, plan)
            return True
    return False


@inlined
def try_to_start(s, nodes, jobs, j, reserved, score, theta):
    """Take nodes for `j`, if it may start now; whether it may.

    Without a reservation to respect (`reserved`) any that the placement finds. With one: those
    if the head does not need them, or not before they are free again; else such as the head
    leaves over; else such as are fast enough to be free in time. Where known reservations of nodes
    begin before it could be over, on the slowest nodes, these are not to be had.
    """
    plan, width = jobs.plan[j], jobs.procs[j]
    if s.reserving == 1:
        until = s.work + expected(s, plan, nodes.real[SPEED, 0])
        if _free_before(s, nodes, until) < width:
            refuse(s, nodes, j, plan)
            return False
        shut_reserved(s, nodes, until)
    started = _try_around(s, nodes, jobs, j, reserved, score, theta)
    if s.reserving == 1:
        open_again(s, nodes)
    if started and not reserved:
        s.reserved_for = -1
    return started


@inlined
def begin_on_nodes(s, run, nodes, calendar, jobs, j):
    """Job `j` starts on the picked nodes."""
    run.held[j] = hand_over(s, nodes, j)
    slowness = nodes.job[j].slowness
    work, plan = jobs.work[j] * slowness, jobs.plan[j] * slowness
    if s.sleeps == 1:
        # Its nodes come up first; how long that takes is planned, and may be drawn.
        plan += boot_of_nodes(s, nodes)
        use_nodes(s, nodes, j)
        work += nodes.job[j].boot
        s.begun |= s.lends
    begin(s, run, calendar, j, work, s.work + plan)
    amount = begin_in_domains(s, nodes, nodes.domains, calendar, j, jobs.work[j], work)
    # Until now its amount was that on the reference processor.
    s.load += amount - jobs.work[j]
