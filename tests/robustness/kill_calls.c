/* Ends the process at a chosen call that names, removes, writes or syncs a file: a library to preload.
   `evenrank_kill_at` chooses the call; `evenrank_count` says how often one was made so far. All threads count together.
   `evenrank_count_in` keeps the counts in a file, one long for each kind, where they outlive the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { RENAME, SYNC, REMOVE, WRITE, CUT, KINDS };
static const char *names[KINDS] = {"rename", "sync", "remove", "write", "cut"};
static atomic_long own_counts[KINDS];
static atomic_long *counts = own_counts;
static atomic_int chosen_kind = -1;
static atomic_long chosen_number;

static int kind_of(const char *name) {
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(names[kind], name) == 0) return kind;
    return -1;
}

void evenrank_kill_at(const char *name, long number) {
    for (int kind = 0; kind < KINDS; kind++) counts[kind] = 0;
    chosen_number = number;
    chosen_kind = kind_of(name);
}

long evenrank_count(const char *name) {
    int kind = kind_of(name);
    return kind < 0 ? -1 : (long)counts[kind];
}

void evenrank_count_in(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && posix_fallocate(file, 0, sizeof own_counts) == 0) {
        void *mapped = mmap(NULL, sizeof own_counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) counts = mapped;
    }
    if (file >= 0) close(file);
}

static void pass(int kind) {
    long number = ++counts[kind];
    if (kind == chosen_kind && number == chosen_number) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

#define CALL(kind, type, name, parameters, arguments)                  \
    type name parameters {                                             \
        static type(*real) parameters;                                 \
        if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        pass(kind);                                                    \
        return real arguments;                                         \
    }

CALL(RENAME, int, rename, (const char *a, const char *b), (a, b))
CALL(RENAME, int, renameat, (int x, const char *a, int y, const char *b), (x, a, y, b))
CALL(RENAME, int, renameat2, (int x, const char *a, int y, const char *b, unsigned int f), (x, a, y, b, f))
CALL(SYNC, int, fsync, (int x), (x))
CALL(SYNC, int, fdatasync, (int x), (x))
CALL(REMOVE, int, unlink, (const char *a), (a))
CALL(REMOVE, int, unlinkat, (int x, const char *a, int f), (x, a, f))
CALL(REMOVE, int, rmdir, (const char *a), (a))
CALL(WRITE, ssize_t, pwrite, (int x, const void *b, size_t n, off_t o), (x, b, n, o))
CALL(WRITE, ssize_t, pwrite64, (int x, const void *b, size_t n, off_t o), (x, b, n, o))
CALL(CUT, int, ftruncate, (int x, off_t n), (x, n))
CALL(CUT, int, ftruncate64, (int x, off_t n), (x, n))
