/* What a child of fork finds where its parent has shared memory mapped, and that what it writes
 * stays its own (H6: a child shares nothing). */
#include "node/fork.c"

#include "node/memfd.h"
#include "tests/unit/unit.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SIZE = 1 << 20, WORDS = SIZE / sizeof(long) };

static struct shared {
    enum fork_kind kind;
    int file;
    volatile long *words;
} variables, heap;

static struct shared share(enum fork_kind kind)
{
    struct shared s = {.kind = kind, .file = memfd_create_sealed(SIZE)};
    s.words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s.file, 0);
    ck_assert(s.words != MAP_FAILED);
    ck_assert(fork_add(kind, (char *)s.words, SIZE, s.file, 0));
    s.words[0] = 1;
    s.words[WORDS - 1] = 2;
    return s;
}

static void unmap(struct shared *s)
{
    fork_remove((char *)s->words);
    munmap((void *)s->words, SIZE);
    close(s->file);
}

static void open_both(void)
{
    variables = share(FORK_VARIABLES);
    heap = share(FORK_HEAP);
}

static void close_both(void)
{
    unmap(&variables);
    unmap(&heap);
    ck_assert_uint_eq(mapping_count, 0);
}

/* Fork; the child runs `function` after the parent has written. */
static bool in_a_child(bool (*function)(void))
{
    int go[2], status;
    ck_assert(!pipe(go));
    pid_t child = fork();
    if (!child) {
        char byte;
        _exit(read(go[0], &byte, 1) == 1 && function() ? 0 : 1);
    }
    variables.words[0] = heap.words[0] = 10;
    ck_assert(write(go[1], "", 1) == 1);
    ck_assert(waitpid(child, &status, 0) == child);
    close(go[0]);
    close(go[1]);
    return status == 0;
}

static bool has_own(void)
{
    bool good = variables.words[0] == 1 && variables.words[1] == 0 &&
                variables.words[WORDS - 1] == 2 && heap.words[WORDS - 1] == 2;
    for (int i = 0; i < WORDS; i++)
        variables.words[i] = heap.words[i] = -1;
    return good && variables.words[0] == -1 && heap.words[0] == -1;
}

static void check_parent(void)
{
    ck_assert_int_eq(variables.words[0], 10);
    ck_assert_int_eq(variables.words[1], 0);
    ck_assert_int_eq(variables.words[WORDS - 1], 2);
    ck_assert_int_eq(heap.words[0], 10);
    ck_assert_int_eq(heap.words[WORDS - 1], 2);
}

START_TEST(a_child_has_variables_as_they_were_and_a_heap_of_its_own)
{
    open_both();
    ck_assert(in_a_child(has_own));
    check_parent();
    close_both();
}
END_TEST

static bool has_a_child_of_its_own(void)
{
    bool good = has_own();
    pid_t child = fork();
    if (!child) {
        good = variables.words[0] == -1 && heap.words[0] == -1;
        variables.words[0] = heap.words[0] = -2;
        _exit(good ? 0 : 1);
    }
    int status;
    return waitpid(child, &status, 0) == child && !status && good && variables.words[0] == -1 &&
           heap.words[0] == -1;
}

START_TEST(so_does_a_child_of_a_child)
{
    open_both();
    ck_assert(in_a_child(has_a_child_of_its_own));
    check_parent();
    close_both();
}
END_TEST

START_TEST(holes_stay_holes)
{
    open_both();
    struct stat before, after;
    fstat(variables.file, &before);
    ck_assert(in_a_child(has_own));
    fstat(variables.file, &after);
    ck_assert_int_eq(before.st_blocks, after.st_blocks);
    close_both();
}
END_TEST

/* The data that this process has, in bytes. */
static size_t data_size(void)
{
    char line[128];
    unsigned long size = 0;
    FILE *status = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof line, status) && sscanf(line, "VmData: %lu kB", &size) != 1)
        ;
    fclose(status);
    return size * 1024;
}

static bool has_own_data(void)
{
    bool good = heap.words[0] == 10 && heap.words[WORDS - 1] == 2;
    heap.words[0] = heap.words[WORDS - 1] = -1;
    return good;
}

START_TEST(a_heap_larger_than_the_limit_on_data_is_private_where_it_has_data)
{
    struct rlimit before, limit;
    variables.words = (long[1]){0}; /* none that are shared */
    heap = share(FORK_HEAP);
    getrlimit(RLIMIT_DATA, &before);
    limit = (struct rlimit){data_size() + SIZE / 2, before.rlim_max};
    ck_assert(!setrlimit(RLIMIT_DATA, &limit));
    bool good = in_a_child(has_own_data);
    setrlimit(RLIMIT_DATA, &before);
    ck_assert(good);
    ck_assert_int_eq(heap.words[0], 10);
    ck_assert_int_eq(heap.words[WORDS - 1], 2);
    unmap(&heap);
}
END_TEST

static bool has_own_variables(void)
{
    bool good = variables.words[0] == 1 && variables.words[1] == 0 &&
                variables.words[WORDS - 1] == 2 && heap.words[WORDS - 1] == 2;
    variables.words[0] = variables.words[1] = -1;
    return good;
}

START_TEST(where_the_program_has_closed_the_descriptors_variables_are_copied_whole)
{
    open_both();
    int other = memfd_create_sealed(2 * (size_t)SIZE);
    dup2(other, variables.file); /* and their numbers are another file's */
    dup2(other, heap.file);
    close(other);
    ck_assert(in_a_child(has_own_variables));
    ck_assert_int_eq(variables.words[0], 10);
    ck_assert_int_eq(variables.words[1], 0);
    close_both();
}
END_TEST

static bool sees_what_the_parent_writes(void)
{
    bool good =
        variables.words[0] == 10 && variables.words[1] == 0 && variables.words[WORDS - 1] == 2;
    for (int i = 0; i < WORDS; i++)
        variables.words[i] = -1;
    return good;
}

START_TEST(without_memory_for_a_copy_variables_are_private_pages_of_the_file)
{
    open_both();
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2000000000", 1); /* a few bytes for each rank */
    bool good = in_a_child(sees_what_the_parent_writes);
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    ck_assert(good);
    check_parent();
    close_both();
}
END_TEST

static void *fork_often(void *unused)
{
    for (unsigned i = 0; i < effort(2000); i++) {
        pid_t child = fork();
        if (!child) {
            variables.words[1] = -1;
            _exit(variables.words[WORDS - 1] == 2 ? 0 : 1);
        }
        int status;
        EXPECT(waitpid(child, &status, 0) == child && !status);
        EXPECT(variables.words[1] == 0, "the child wrote here");
    }
    return unused;
}

START_TEST(two_threads_may_fork_at_once)
{
    pthread_t thread;
    open_both();
    pthread_create(&thread, NULL, fork_often, NULL);
    fork_often(NULL);
    pthread_join(thread, NULL);
    no_failures();
    close_both();
}
END_TEST

UNIT_MAIN(a_child_has_variables_as_they_were_and_a_heap_of_its_own, so_does_a_child_of_a_child,
          holes_stay_holes, where_the_program_has_closed_the_descriptors_variables_are_copied_whole,
          a_heap_larger_than_the_limit_on_data_is_private_where_it_has_data,
          without_memory_for_a_copy_variables_are_private_pages_of_the_file,
          two_threads_may_fork_at_once)
