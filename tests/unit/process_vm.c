/* Copies from and to the memory of other processes: by plain copies if the process id and the
 * address denote memory in the node's file, whatever the base of the peer's mapping; otherwise
 * nothing is copied. */
#include "tests/unit/processes.h"

#include "pmpi_wrap/process_vm_entry.c"

#include <sys/mman.h>

enum { RANKS = 3, TEXT = 5000, LAST = 64 };

/* What each rank publishes. */
static struct published {
    int pid;
    uint64_t base, memory;
    size_t size;
} * published;

static char *memory_of(unsigned rank)
{
    return node_slice((uint32_t)node_member_of((int)rank)) + LAYOUT_PAGE;
}

/* Map the file at a different address in each process, as address space randomisation does. */
static void begin(unsigned rank)
{
    mmap(NULL, (size_t)(rank + 1) << 24, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    enter_in_order(rank);
    meet(RANKS);
    EXPECT(!copy_from_peer(getpid(), published, (uintptr_t)published, 1),
           "before anything is shared");
    settle(rank, RANKS);
    process_vm_open();
    published[rank] = (struct published){getpid(), (uintptr_t)node.base, (uintptr_t)memory_of(rank),
                                         (size_t)(node.end - node.base)};
    for (int i = 0; i < TEXT; i++)
        memory_of(rank)[i] = (char)(i * 7 + (int)rank);
    meet(RANKS);
    EXPECT(rank == 0 || published[rank].base != published[0].base, "bases that differ are wanted");
}

static bool is_text_of(unsigned rank, const char *text, int first, int bytes)
{
    for (int i = 0; i < bytes; i++)
        if (text[i] != (char)((first + i) * 7 + (int)rank))
            return false;
    return true;
}

static void read_and_write(unsigned rank)
{
    char text[TEXT];
    begin(rank);
    meet(RANKS);
    for (unsigned r = 0; r < RANKS; r++)
        for (int first = 0; first < 80; first++) {
            int bytes = first < 70 ? first : TEXT - first;
            memset(text, 0, sizeof text);
            EXPECT(copy_from_peer(published[r].pid, text, published[r].memory + (uint64_t)first,
                                  (size_t)bytes));
            EXPECT(is_text_of(r, text, first, bytes), "%d of rank %u from %d", bytes, r, first);
            EXPECT(!text[bytes], "one more than wanted");
        }
    meet(RANKS);
    /* Each rank writes a part of every rank's memory. */
    for (unsigned r = 0; r < RANKS; r++) {
        memset(text, (int)(100 + rank), 100);
        EXPECT(
            copy_to_peer(published[r].pid, published[r].memory + rank * UINT64_C(100), text, 100));
    }
    meet(RANKS);
    for (int i = 0; i < TEXT; i++) {
        char want = i < RANKS * 100 ? (char)(100 + i / 100) : (char)(i * 7 + (int)rank);
        EXPECT(memory_of(rank)[i] == want, "byte %d", i);
    }
    struct stats_snapshot *s = calloc(1, sizeof *s);
    stats_take(s);
    EXPECT(s->host_copies == RANKS * 81 && s->host_copied == RANKS * (2415 + 49255 + 100),
           "%lu copies, %lu bytes", s->host_copies, s->host_copied);
    free(s);
    meet(RANKS);
}

static void forked_child(unsigned peer)
{
    char byte = 1;
    EXPECT(!copy_from_peer(published[peer].pid, &byte, published[peer].memory, 1) && byte == 1);
    _exit(atomic_load(&unit_failures) != 0);
}

static void refuse(unsigned rank)
{
    char text[LAST] = "as before";
    begin(rank);
    for (unsigned r = 0; r < RANKS; r++) {
        const struct published *t = &published[r];
        uint64_t end = t->base + t->size;
        struct {
            int pid;
            uint64_t there;
            size_t bytes;
        } wrong[] = {
            {t->pid, t->base - 1, 1},
            {t->pid, end, 1},
            {t->pid, end - 5, 6},
            {t->pid, end - 5, SIZE_MAX},
            {t->pid, (uintptr_t)text, LAST},
            {t->pid, 0, 1},
            {getppid(), t->memory, 1},
            {0, t->memory, 1},
            {-t->pid, t->memory, 1},
            {t->pid ^ 1 << 20, t->memory, 1},
        };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            EXPECT(!copy_from_peer(wrong[i].pid, text, wrong[i].there, wrong[i].bytes), "%zu", i);
            EXPECT(!copy_to_peer(wrong[i].pid, wrong[i].there, text, wrong[i].bytes), "%zu", i);
        }
        EXPECT(!strcmp(text, "as before"));
        EXPECT(copy_from_peer(t->pid, text, end - 5, 5) && !text[0] && text[5] == 'f');
        memcpy(text, "as before", 10);
    }
    pid_t child = fork();
    if (!child)
        forked_child(rank ? 0 : 1);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && !status);
    meet(RANKS);
}

/* In separate PID namespaces two members may have the same process id. */
static void share_a_process_id(unsigned rank)
{
    char byte;
    begin(rank);
    if (rank == 2) {
        node_member(0)->pid = node_member(1)->pid = 77;
        process_vm_open();
        EXPECT(!copy_from_peer(77, &byte, published[0].memory, 1) &&
               !copy_from_peer(77, &byte, published[1].memory, 1));
        EXPECT(copy_from_peer(published[2].pid, &byte, published[2].memory, 1));
    }
    meet(RANKS);
}

static void switch_off(unsigned rank)
{
    char byte;
    config.cma = false;
    begin(rank);
    EXPECT(!copy_from_peer(published[1].pid, &byte, published[1].memory, 1));
    meet(RANKS);
}

static void all(process_fn *function)
{
    if (!published)
        published = mmap(NULL, RANKS * sizeof *published, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    config.cma = true;
    open_desk(RANKS);
    run(function, 0, RANKS - 1);
}

START_TEST(shared_memory_is_copied_plainly)
{
    all(read_and_write);
}
END_TEST

START_TEST(everything_else_is_left_to_the_os)
{
    all(refuse);
}
END_TEST

START_TEST(copies_by_a_shared_process_id_are_left_to_the_os)
{
    all(share_a_process_id);
}
END_TEST

START_TEST(it_can_be_switched_off)
{
    all(switch_off);
}
END_TEST

UNIT_MAIN(shared_memory_is_copied_plainly, everything_else_is_left_to_the_os,
          copies_by_a_shared_process_id_are_left_to_the_os, it_can_be_switched_off)
