/* A clock that can be moved on. Preloaded into the daemons and jobs of a virtual cluster, it adds
 * an offset to what clocks tell, and makes every timed wait a wait on a word of shared memory, so
 * that whoever moves the offset can wake those whose time has come.
 *
 * Waits for a file or a socket keep real time: between processes of one machine nothing is under
 * way while all of them sleep. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "clock.h"

#define MEMORY 64 /* waits after which an average forgets */
/* ns beyond which a thread was late, or slow, because the machine was busy with others */
#define LATEST (SECOND / 1000)
#define SLOWEST (SECOND / 50)

static struct shared *shared;
static int kind = DAEMON;

static int64_t offset(void) {
    return shared ? __atomic_load_n(&shared->offset, __ATOMIC_SEQ_CST) : 0;
}

static int moves(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        return 1;
    }
    return 0;
}

static int64_t moved(clockid_t clock) { return real(clock) + (moves(clock) ? offset() : 0); }

static void raise_to(int32_t *most, int32_t value) {
    int32_t former = __atomic_load_n(most, __ATOMIC_SEQ_CST);
    while (former < value && !__atomic_compare_exchange_n(most, &former, value, 0,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static int claim(int32_t *place, int32_t pid) {
    int32_t none = 0;
    return __atomic_compare_exchange_n(place, &none, pid, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void enlist(void) {
    int32_t self = getpid();
    for (int i = 0; i < __atomic_load_n(&shared->processes, __ATOMIC_SEQ_CST); i++)
        if (__atomic_load_n(&shared->pids[i], __ATOMIC_SEQ_CST) == self) return;
    for (int i = 0; i < PROCESSES; i++)
        if (claim(&shared->pids[i], self)) {
            raise_to(&shared->processes, i + 1);
            return;
        }
}

/* Threads in a timed wait for a condition, which no real signal would reach. */
struct waiter {
    pthread_cond_t *condition;
    struct wait *wait;
    int signalled;
    struct waiter *next;
};
static struct waiter *waiters;
static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) {
    if (shared) __atomic_add_fetch(&shared->forking, 1, __ATOMIC_SEQ_CST);
}

static void in_child(void) {
    waiters = NULL;
    pthread_mutex_init(&waiters_lock, NULL);
    if (!shared) return;
    enlist();
    __atomic_sub_fetch(&shared->forking, 1, __ATOMIC_SEQ_CST);
}

static void *next_symbol(const char *name) {
    /* Without a version the loader may give the conditions of 1997. */
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                             const struct timespec *);
static int (*real_signal)(pthread_cond_t *), (*real_broadcast)(pthread_cond_t *);

static struct shared *map(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *found =
        mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return found == MAP_FAILED ? NULL : found;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SOJOURN_CLOCK");
    real_timedwait = next_symbol("pthread_cond_timedwait");
    real_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    real_signal = next_symbol("pthread_cond_signal");
    real_broadcast = next_symbol("pthread_cond_broadcast");
    if (!path || !(shared = map(path))) return;
    if (!strcmp(program_invocation_short_name, "sleep")) kind = JOB;
    if (!strncmp(program_invocation_short_name, "slurmstepd", 10)) kind = STEP;
    enlist();
    pthread_atfork(before_fork, NULL, in_child);
}

static __thread int32_t rounds; /* waits since this thread last read a clock */

int clock_gettime(clockid_t clock, struct timespec *t) {
    rounds = 0;
    int failed = syscall(SYS_clock_gettime, clock, t);
    if (!failed && moves(clock)) *t = timespec_of(nanoseconds(t) + offset());
    return failed;
}

time_t time(time_t *t) {
    rounds = 0;
    time_t now = moved(CLOCK_REALTIME) / SECOND;
    if (t) *t = now;
    return now;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    rounds = 0;
    int64_t now = moved(CLOCK_REALTIME);
    *t = (struct timeval){.tv_sec = now / SECOND, .tv_usec = now % SECOND / 1000};
    return 0;
}

/* How late this thread begins its next wait after the end of one: what it does in between, and how
 * late it woke, which only waits tell in which the clock was not moved. */
struct average {
    int64_t mean, count;
};
static __thread struct average work, lateness;
static __thread int64_t begun_at_offset, ended;
static __thread int64_t passed; /* the deadline of its last wait, if time was moved meanwhile */

static void measure(struct average *a, int64_t value, int64_t most) {
    if (value > most) return;
    if (a->count < MEMORY) a->count++;
    a->mean += (value - a->mean) / a->count;
}

static void end_wait(struct wait *w, int by_deadline) {
    if (by_deadline && offset() == begun_at_offset)
        measure(&lateness, moved(CLOCK_REALTIME) - w->deadline, LATEST);
    ended = by_deadline ? real(CLOCK_MONOTONIC) : 0;
    passed = offset() == begun_at_offset ? 0 : w->deadline;
    leave(w);
}

static struct wait *take(int64_t deadline, int64_t length) {
    for (int i = 0; shared && i < WAITS; i++) {
        struct wait *w = &shared->wait[i];
        if (!claim(&w->pid, getpid())) continue;
        w->tid = syscall(SYS_gettid);
        w->length = length;
        if (ended) measure(&work, real(CLOCK_MONOTONIC) - ended, SLOWEST);
        begun_at_offset = offset();
        w->late = lateness.mean;
        w->lag = lateness.mean + work.mean;
        w->kind = kind;
        w->round = rounds++;
        __atomic_store_n(&w->deadline, deadline, __ATOMIC_SEQ_CST);
        raise_to(&shared->waits, i + 1);
        return w;
    }
    return NULL;
}

/* Wait until the moved clock reaches the deadline (0), a signal (EINTR) or `*signalled` (0). */
static int wait_for(struct wait *w, const int *signalled) {
    for (;;) {
        uint32_t word = __atomic_load_n(&w->word, __ATOMIC_SEQ_CST);
        int64_t left = __atomic_load_n(&w->deadline, __ATOMIC_SEQ_CST) - moved(CLOCK_REALTIME);
        if (left <= 0 || (signalled && __atomic_load_n(signalled, __ATOMIC_SEQ_CST))) return 0;
        struct timespec t = timespec_of(left);
        if (futex(&w->word, FUTEX_WAIT, word, &t) && errno == EINTR && !signalled) return EINTR;
    }
}

/* The deadline of a sleep. Of several in a row, without a look at a clock between them, those that
 * would have passed while time was moved are over at once: the thread keeps its pace. */
static int64_t deadline_of(int64_t length) {
    int64_t deadline = moved(CLOCK_REALTIME) + length;
    int64_t paced = passed + lateness.mean + work.mean + length;
    return rounds && passed && paced < deadline ? paced : deadline;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
                    struct timespec *remaining) {
    int64_t now = moved(clock), asked = nanoseconds(request);
    int64_t length = flags & TIMER_ABSTIME ? asked - now : asked;
    int64_t deadline =
        flags & TIMER_ABSTIME ? moved(CLOCK_REALTIME) + length : deadline_of(length);
    if (passed && deadline <= moved(CLOCK_REALTIME)) {
        passed = deadline;
        rounds++;
        return 0;
    }
    struct wait *w = moves(clock) ? take(deadline, length) : NULL;
    if (!w) {
        struct timespec t = timespec_of(length > 0 ? length : 0);
        return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, remaining) ? errno : 0;
    }
    int failed = wait_for(w, NULL);
    int64_t left = w->deadline - moved(CLOCK_REALTIME);
    end_wait(w, !failed);
    if (failed && remaining && !(flags & TIMER_ABSTIME))
        *remaining = timespec_of(left > 0 ? left : 0);
    return failed;
}

int nanosleep(const struct timespec *request, struct timespec *remaining) {
    int failed = clock_nanosleep(CLOCK_REALTIME, 0, request, remaining);
    if (failed) errno = failed;
    return failed ? -1 : 0;
}

int usleep(useconds_t microseconds) {
    struct timespec t = timespec_of(microseconds * 1000LL);
    return nanosleep(&t, NULL);
}

unsigned sleep(unsigned seconds) {
    struct timespec t = {.tv_sec = seconds}, left = {0};
    return nanosleep(&t, &left) ? left.tv_sec + (left.tv_nsec > 0) : 0;
}

static int timed_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                      const struct timespec *deadline) {
    int64_t length = nanoseconds(deadline) - moved(clock);
    struct waiter self = {.condition = condition};
    self.wait = take(moved(CLOCK_REALTIME) + length, length);
    if (!self.wait) return ETIMEDOUT;
    /* On the list before the mutex is given up: whoever takes it to signal finds us. */
    pthread_mutex_lock(&waiters_lock);
    self.next = waiters;
    waiters = &self;
    pthread_mutex_unlock(&waiters_lock);
    pthread_mutex_unlock(mutex);
    wait_for(self.wait, &self.signalled);
    pthread_mutex_lock(&waiters_lock);
    struct waiter **place = &waiters;
    while (*place != &self) place = &(*place)->next;
    *place = self.next;
    int signalled = self.signalled;
    pthread_mutex_unlock(&waiters_lock);
    end_wait(self.wait, !signalled);
    pthread_mutex_lock(mutex);
    return signalled ? 0 : ETIMEDOUT;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *deadline) {
    if (!shared) return real_timedwait(condition, mutex, deadline);
    return timed_wait(condition, mutex, CLOCK_REALTIME, deadline);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *deadline) {
    if (!shared) return real_clockwait(condition, mutex, clock, deadline);
    return timed_wait(condition, mutex, clock, deadline);
}

/* Signal up to `most` timed waiters of a condition; return how many there were. */
static int signal_waiters(pthread_cond_t *condition, int most) {
    int found = 0;
    pthread_mutex_lock(&waiters_lock);
    for (struct waiter *w = waiters; w && found < most; w = w->next)
        if (w->condition == condition && !w->signalled) {
            __atomic_store_n(&w->signalled, 1, __ATOMIC_SEQ_CST);
            wake(w->wait);
            found++;
        }
    pthread_mutex_unlock(&waiters_lock);
    return found;
}

int pthread_cond_signal(pthread_cond_t *condition) {
    if (shared && signal_waiters(condition, 1)) return 0;
    return real_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (shared) signal_waiters(condition, INT_MAX);
    return real_broadcast(condition);
}
