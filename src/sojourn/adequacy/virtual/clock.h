/* The memory that a moved clock and its driver share. */
#ifndef SOJOURN_CLOCK_H
#define SOJOURN_CLOCK_H

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITS 8192
#define PROCESSES 8192
#define SECOND 1000000000LL

enum { DAEMON, STEP, JOB };

/* A timed wait under way; free while `pid` is 0. */
struct wait {
    int64_t deadline; /* ns of the moved real-time clock */
    int64_t length;   /* ns that were asked for */
    int64_t late;     /* ns by which such a wait ends late, on average, */
    int64_t lag;      /* and after which, from its deadline, the next begins */
    int32_t pid, tid;
    uint32_t word; /* changes when the wait is to be looked at again */
    int32_t kind;
    int32_t round; /* waits of its thread before it since the thread last read a clock */
    int32_t unused;
};

struct shared {
    int64_t offset;    /* ns that the moved clocks are ahead */
    int32_t forking;   /* children that have not enlisted yet */
    int32_t waits;     /* no wait stands at or after this place, */
    int32_t processes; /* nor a process at or after this one */
    int32_t unused;
    int32_t pids[PROCESSES];
    struct wait wait[WAITS];
};

static inline int64_t nanoseconds(const struct timespec *t) {
    return t->tv_sec * SECOND + t->tv_nsec;
}

static inline struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static inline int64_t real(clockid_t clock) {
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return nanoseconds(&t);
}

static inline int futex(uint32_t *word, int operation, uint32_t value,
                        const struct timespec *timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static inline void wake(struct wait *w) {
    __atomic_add_fetch(&w->word, 1, __ATOMIC_SEQ_CST);
    futex(&w->word, FUTEX_WAKE, INT_MAX, NULL);
}

static inline void leave(struct wait *w) {
    __atomic_store_n(&w->deadline, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&w->pid, 0, __ATOMIC_SEQ_CST);
}

#endif
