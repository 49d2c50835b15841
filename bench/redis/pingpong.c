/* The floor of a hand-over through Redis: one thread passes a lock to and fro between two connections of its own.
 *
 *   pingpong PORT ACQUIRE RELEASE SECONDS      (the two in the middle are the names of loaded scripts)
 *
 * Prints: hand-overs a second, and the median and the 99th percentile, in microseconds, of the time from the write of
 * the holder's release to the waiter's push.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, WORDS = 512 };

struct player {
    int line;
    char acquire[WORDS], release[WORDS];
};

static char heard[65536];
static double took[MOST];

static void stop(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void say(int line, const char *words) {
    ssize_t length = (ssize_t)strlen(words);
    if (write(line, words, (size_t)length) != length) stop("write");
}

static void hear(int line) {
    ssize_t length = read(line, heard, sizeof heard - 1);
    if (length <= 0) stop("read");
    heard[length] = 0;
    if (heard[0] == '-') {
        fputs(heard, stderr);
        exit(1);
    }
}

static int connected(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int line = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (connect(line, (struct sockaddr *)&address, sizeof address)) stop("connect");
    setsockopt(line, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return line;
}

static void word(char *words, const char *script, int number) {
    snprintf(words, WORDS,
             "*8\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n3\r\n$3\r\n{h}\r\n$5\r\n{h}:q\r\n$5\r\n{h}:f\r\n"
             "$5\r\npong%d\r\n$5\r\n30000\r\n",
             script, number);
}

/* Replies and pushes go to the same connection (RESP3), and each player waits for one of them at a time. */
static void join(struct player *player, int port, char **scripts, int number) {
    char words[WORDS];
    player->line = connected(port);
    say(player->line, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
    hear(player->line);
    snprintf(words, WORDS, "*2\r\n$9\r\nSUBSCRIBE\r\n$5\r\npong%d\r\n", number);
    say(player->line, words);
    hear(player->line);
    word(player->acquire, scripts[0], number);
    word(player->release, scripts[1], number);
    say(player->line, player->acquire);
    hear(player->line);
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words) {
    struct player players[2], *holder = &players[0], *waiter = &players[1], *next;
    size_t passes = 0;
    double began, until, elapsed, asked;
    if (count != 5) return 2;
    for (int number = 0; number < 2; number++) join(&players[number], atoi(words[1]), words + 2, number);
    began = now();
    until = began + atof(words[4]);
    while ((asked = now()) < until && passes < MOST) {
        say(holder->line, holder->release);
        hear(waiter->line);
        took[passes++] = now() - asked;
        hear(holder->line);
        say(holder->line, holder->acquire); /* and wait for the next turn */
        hear(holder->line);
        next = waiter, waiter = holder, holder = next;
    }
    elapsed = now() - began;
    if (!passes) return 1;
    qsort(took, passes, sizeof *took, by_size);
    printf("%f %f %f\n", (double)passes / elapsed, took[passes / 2] * 1e6, took[passes * 99 / 100] * 1e6);
    return 0;
}
