#include "alloc/statics.h"

#include "alloc/halt.h"
#include "alloc/node.h"
#include "core/log.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whole pages, and where they lie in their executable or library. */
struct area {
    char *at;
    size_t size;
    uintptr_t inside;
};

static struct {
    struct area area[NODE_ALIASES_MAX / 2];
    size_t count;
    uint64_t programs; /* which executables and libraries they are of */
    bool too_many, all_of_executable;
} found;

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- finding ---- */

static void note(uintptr_t start, uintptr_t end, uintptr_t base)
{
    start = round_down(start, page());
    end = round_up(end, page());
    if (end <= start)
        return;
    for (size_t i = 0; i < found.count; i++) {
        struct area *a = &found.area[i];
        uintptr_t first = (uintptr_t)a->at, last = first + a->size;
        if (start >= last || end <= first)
            continue;
        /* Pages in common: both are one. */
        start = start < first ? start : first;
        end = end > last ? end : last;
        *a = found.area[--found.count];
        note(start, end, base);
        return;
    }
    if (found.count == sizeof found.area / sizeof *found.area)
        found.too_many = true;
    else
        found.area[found.count++] = (struct area){(char *)start, end - start, start - base};
}

/* The note of <mpiaccel/mpiaccel.h>: two words, relative to their own places. */
enum { NOTE_TYPE = 1, SECTION_EMPTY = 16 };

static void read_note(const char *at, uintptr_t base)
{
    int64_t to_start, to_end;
    memcpy(&to_start, at, sizeof to_start);
    memcpy(&to_end, at + sizeof to_start, sizeof to_end);
    uintptr_t start = (uintptr_t)at + (uintptr_t)to_start;
    uintptr_t end = (uintptr_t)at + sizeof to_start + (uintptr_t)to_end;
    if (end - start > SECTION_EMPTY)
        note(start, end, base);
}

static void read_notes(const char *at, size_t size, size_t align, uintptr_t base)
{
    size_t next = 0;
    align = align < 4 ? 4 : align;
    while (next < size && size - next > sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(at + next);
        const char *name = (const char *)(n + 1);
        size_t content = round_up(next + sizeof *n + n->n_namesz, align);
        next = round_up(content + n->n_descsz, align);
        if (n->n_namesz == sizeof "mpiaccel" && !memcmp(name, "mpiaccel", n->n_namesz) &&
            n->n_type == NOTE_TYPE && n->n_descsz == 2 * sizeof(int64_t))
            read_note(at + content, base);
    }
}

/* The writable part, without the pages that the loader makes read-only when it has relocated. */
static void note_segments(const struct dl_phdr_info *object)
{
    uintptr_t base = object->dlpi_addr, read_only = 0, read_only_end = 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            read_only = base + object->dlpi_phdr[i].p_vaddr;
            read_only_end = round_down(read_only + object->dlpi_phdr[i].p_memsz, page());
        }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t start = base + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        if (read_only_end > start && read_only < end)
            start = read_only_end;
        note(start, end, base);
    }
}

/* A note that was not loaded has an address all the same. */
static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) * part)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && part->p_vaddr >= p->p_vaddr &&
            part->p_vaddr + part->p_memsz <= p->p_vaddr + p->p_memsz)
            return true;
    }
    return false;
}

static uint64_t mixed(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* By its sizes, and by its notes, among which is the linker's build id. */
static uint64_t mixed_object(uint64_t h, const struct dl_phdr_info *object)
{
    h = mixed(h, object->dlpi_phdr, object->dlpi_phnum * sizeof *object->dlpi_phdr);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE && is_loaded(object, p))
            h = mixed(h, (const char *)object->dlpi_addr + p->p_vaddr, p->p_memsz);
    }
    return h;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *first)
{
    size_t before = found.count;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE && is_loaded(object, p))
            read_notes((const char *)object->dlpi_addr + p->p_vaddr, p->p_memsz, p->p_align,
                       object->dlpi_addr);
    }
    if (*(bool *)first && found.all_of_executable)
        note_segments(object);
    *(bool *)first = false;
    if (found.count > before)
        found.programs = mixed_object(found.programs, object);
    return 0;
}

size_t statics_find(bool all_of_executable)
{
    bool first = true;
    size_t bytes = 0;
    found.all_of_executable = all_of_executable;
    dl_iterate_phdr(look_at, &first);
    for (size_t i = 0; i < found.count; i++)
        bytes += found.area[i].size;
    return bytes;
}

/* ---- judging ---- */

/* Whether all of it is private memory to read and write. */
static bool is_plain(const struct area *a)
{
    char line[512], rights[8];
    unsigned long start, end;
    uintptr_t at = (uintptr_t)a->at;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && at < (uintptr_t)a->at + a->size && fgets(line, sizeof line, maps)) {
        size_t length = strlen(line); /* of a long path the rest comes as further lines */
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && start <= at && at < end) {
            if (strcmp(rights, "rw-p") != 0)
                break;
            at = end;
        }
        while (length && line[length - 1] != '\n' && fgets(line, sizeof line, maps))
            length = strlen(line);
    }
    if (maps)
        fclose(maps);
    return at >= (uintptr_t)a->at + a->size;
}

static const char *objection(void)
{
    size_t bytes = 0;
    if (found.too_many)
        return "they lie in too many places";
    for (size_t i = 0; i < found.count; i++) {
        bytes += found.area[i].size;
        if (!is_plain(&found.area[i]))
            return "they lie on pages that are not private memory to read and write";
    }
    return bytes > node.header->statics_size ? "there is no room; see `ulimit -v` and `ulimit -f`"
                                             : NULL;
}

/* ---- moving ---- */

/* Nothing but copies and system calls: other threads are stopped. */
static void copy_pages(char *to, const char *from, size_t size)
{
    static const char zeroes[4096];
    for (size_t at = 0; at < size; at += sizeof zeroes)
        if (memcmp(from + at, zeroes, sizeof zeroes) != 0)
            memcpy(to + at, from + at, sizeof zeroes);
}

static bool move_all(void)
{
    char *to = node_slice(node.me) + layout_statics_at(node.header);
    bool all = true;
    for (size_t i = 0; i < found.count; i++) {
        const struct area *a = &found.area[i];
        copy_pages(to, a->at, a->size);
        all &= node_add_alias(a->at, a->size, (uint64_t)(to - node.base), true, true);
        to += a->size;
    }
    return all;
}

/* Equal where the same program has the same variables at the same places: another program's may lie
 * on the same pages in another order. */
static uint64_t fingerprint(void)
{
    uint64_t h = found.programs;
    for (size_t i = 0; i < found.count; i++) {
        h = mixed(h, &found.area[i].inside, sizeof found.area[i].inside);
        h = mixed(h, &found.area[i].size, sizeof found.area[i].size);
    }
    return h | 1;
}

/* Their library must stay: of an address that something else has taken we would still think that it
 * is in shared memory. */
static void keep_libraries(void)
{
    Dl_info info;
    for (size_t i = 0; i < found.count; i++)
        if (dladdr(found.area[i].at, &info) && info.dli_fname)
            dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void statics_move(void)
{
    const char *why = NULL;
    if (!found.count || !node.header)
        return;
    if (!(why = objection()) && halt_begin(&why)) {
        bool all = move_all();
        halt_end();
        keep_libraries();
        if (all)
            node_member(node.me)->statics = fingerprint();
        else
            why = "the system refuses to map them";
    }
    if (why)
        log_message(found.all_of_executable ? 0 : 1,
                    "variables stay in private memory, and windows over them are the host's: %s",
                    why);
}
