/* A wall clock that can be set while a program runs: the first 8 bytes of $SKEW_FILE are how many seconds it is off.
   Only the wall clock; what a program counts by the monotonic one goes on undisturbed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *skew;

__attribute__((constructor)) static void look(void) {
    const char *name = getenv("SKEW_FILE");
    int file = name ? open(name, O_RDONLY) : -1;
    void *seen = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *skew, PROT_READ, MAP_SHARED, file, 0);
    if (seen != MAP_FAILED) skew = seen;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && skew && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *skew;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
