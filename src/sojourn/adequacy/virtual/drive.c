/* The driver's side of a moved clock: it tells when no thread of the cluster has anything to do
 * (settle), moves time on to an instant (step), and moves it there over a stretch of time in which
 * loops of the daemons would find nothing to do (leap). */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* ns between two looks at a cluster that may be quiet, and at one that has long been busy */
#define SHORTEST 150000
#define LONGEST 2000000

size_t sojourn_clock_size(void) { return sizeof(struct shared); }

static int64_t processor_time(int32_t pid) {
    struct timespec t = {0};
    /* The clock of another process, as clock_getcpuclockid makes it. */
    syscall(SYS_clock_gettime, (clockid_t)((~(unsigned)pid << 3) | 2), &t);
    return nanoseconds(&t);
}

/* Whether all threads of a process sleep; -1 if it is gone. */
static int sleeps(int32_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) return -1;
    int all = 1, living = 0;
    for (struct dirent *e; all && (e = readdir(tasks));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%.20s/stat", e->d_name);
        int file = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        if (length <= 0) continue;
        text[length] = 0;
        char *state = strrchr(text, ')');
        all = state && strchr("SZXITt", state[2]) != NULL;
        living |= !state || !strchr("ZX", state[2]);
    }
    closedir(tasks);
    return living ? all : -1;
}

/* Forget a process that is gone, and the waits it was killed in. */
static void bury(struct shared *s, int32_t *pid) {
    for (int i = 0; i < s->waits; i++)
        if (s->wait[i].pid == *pid) leave(&s->wait[i]);
    *pid = 0;
}

/* Whether no thread of the cluster has anything to do.
 *
 * Every thread was seen asleep, and no process used the processor between the first look and the
 * last, so at one instant in between all slept at once. */
static int is_quiet(struct shared *s) {
    static int64_t before[PROCESSES];
    if (__atomic_load_n(&s->forking, __ATOMIC_SEQ_CST) > 0) return 0;
    int last = __atomic_load_n(&s->processes, __ATOMIC_SEQ_CST);
    for (int i = 0; i < last; i++)
        if (s->pids[i]) before[i] = processor_time(s->pids[i]);
    for (int i = 0; i < last; i++) {
        int found = s->pids[i] ? sleeps(s->pids[i]) : 1;
        if (!found) return 0;
        if (found < 0) bury(s, &s->pids[i]);
    }
    for (int i = 0; i < last; i++)
        if (s->pids[i] && processor_time(s->pids[i]) != before[i]) return 0;
    return __atomic_load_n(&s->forking, __ATOMIC_SEQ_CST) <= 0;
}

static void pause_for(int64_t ns) {
    struct timespec t = timespec_of(ns);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Wake those whose time has come or comes soon: time that passes by itself must find them with a
 * timeout that knows how far it was moved. */
static void wake_before(struct shared *s, int64_t ahead) {
    int64_t until = real(CLOCK_REALTIME) + s->offset + ahead;
    for (int i = 0; i < s->waits; i++) {
        struct wait *w = &s->wait[i];
        if (w->pid && w->deadline <= until) wake(w);
    }
}

/* Wait until the cluster is quiet, twice in a row; 0 if it is not within so many ns.
 *
 * A packet on the loopback may wait for the kernel while all processes sleep, hence twice. */
int sojourn_clock_settle(struct shared *s, int64_t patience) {
    int64_t until = real(CLOCK_MONOTONIC) + patience;
    int64_t pause = SHORTEST;
    for (int quiet = 0; quiet < 2;) {
        if (!quiet && real(CLOCK_MONOTONIC) > until) return 0;
        pause_for(pause);
        wake_before(s, 0);
        quiet = is_quiet(s) ? quiet + 1 : 0;
        pause = quiet ? SHORTEST : pause < LONGEST ? 2 * pause : LONGEST;
    }
    return 1;
}

/* Move time on to an instant, in ns of the moved real-time clock. */
void sojourn_clock_step(struct shared *s, int64_t instant) {
    int64_t ahead = instant - real(CLOCK_REALTIME) - s->offset;
    if (ahead > 0) __atomic_add_fetch(&s->offset, ahead, __ATOMIC_SEQ_CST);
    wake_before(s, SECOND);
}

static int is_among(int32_t tid, const int32_t *tids, int32_t count) {
    for (int i = 0; i < count; i++)
        if (tids[i] == tid) return 1;
    return 0;
}

/* Move time on to an instant as if the loops of the daemons, but for some threads, had gone round
 * and found nothing: a wait that would have ended ends as many rounds later as were made. */
void sojourn_clock_leap(struct shared *s, int64_t instant, const int32_t *kept, int32_t count) {
    for (int i = 0; i < s->waits; i++) {
        struct wait *w = &s->wait[i];
        int64_t round = w->length + w->lag;
        if (!w->pid || w->kind == JOB || w->deadline >= instant || w->length <= 0) continue;
        if (is_among(w->tid, kept, count)) continue;
        int64_t rounds = (instant - w->deadline + round - 1) / round;
        __atomic_add_fetch(&w->deadline, rounds * round, __ATOMIC_SEQ_CST);
    }
    sojourn_clock_step(s, instant);
}
