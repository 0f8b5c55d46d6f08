#include "node/statics.h"

#include "core/log.h"
#include "node/fork.h"
#include "node/memfd.h"
#include "node/node.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whole pages. */
struct area {
    char *start;
    size_t size;
    uintptr_t offset; /* in their executable or library */
};

static struct {
    struct area area[NODE_ALIASES_MAX / 2];
    size_t count, bytes;
    uint64_t programs; /* a hash of the executables and libraries that they are part of */
    bool too_many, all_of_executable;
} found;

/* The heap of malloc, the areas one after the other, the early heap; -1: there is none */
static int file = -1;
static bool file_is_mapped;
static uint64_t areas_at; /* in the file */
static const char *why_not;
static struct layout_heap heap;

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- finding ---- */

static void add_area(uintptr_t start, uintptr_t end, uintptr_t base)
{
    start = round_down(start, page_size());
    end = round_up(end, page_size());
    if (end <= start)
        return;
    for (size_t i = 0; i < found.count; i++) {
        struct area *a = &found.area[i];
        uintptr_t first = (uintptr_t)a->start, last = first + a->size;
        if (start >= last || end <= first)
            continue;
        /* They have pages in common: merge the two; the merged area may in turn overlap a third. */
        start = start < first ? start : first;
        end = end > last ? end : last;
        *a = found.area[--found.count];
        add_area(start, end, base);
        return;
    }
    if (found.count == sizeof found.area / sizeof *found.area)
        found.too_many = true;
    else
        found.area[found.count++] = (struct area){(char *)start, end - start, start - base};
}

/* The note of <mpiaccel/mpiaccel.h>: two words, each the distance from itself to one end of the
 * section. */
enum { NOTE_TYPE = 1, SECTION_EMPTY = 16 };

static void read_note(const char *note, uintptr_t base)
{
    int64_t to_start, to_end;
    memcpy(&to_start, note, sizeof to_start);
    memcpy(&to_end, note + sizeof to_start, sizeof to_end);
    uintptr_t start = (uintptr_t)note + (uintptr_t)to_start;
    uintptr_t end = (uintptr_t)note + sizeof to_start + (uintptr_t)to_end;
    if (end - start > SECTION_EMPTY)
        add_area(start, end, base);
}

static void read_notes(const char *notes, size_t size, size_t align, uintptr_t base)
{
    size_t next = 0;
    align = align < 4 ? 4 : align;
    while (next < size && size - next > sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(notes + next);
        const char *name = (const char *)(n + 1);
        size_t content = round_up(next + sizeof *n + n->n_namesz, align);
        next = round_up(content + n->n_descsz, align);
        if (n->n_namesz == sizeof "mpiaccel" && !memcmp(name, "mpiaccel", n->n_namesz) &&
            n->n_type == NOTE_TYPE && n->n_descsz == 2 * sizeof(int64_t))
            read_note(notes + content, base);
    }
}

/* Add the writable part of an object, without the pages that the loader makes read-only after
 * relocation. */
static void add_segments(const struct dl_phdr_info *object)
{
    uintptr_t base = object->dlpi_addr, read_only = 0, read_only_end = 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            read_only = base + object->dlpi_phdr[i].p_vaddr;
            read_only_end = round_down(read_only + object->dlpi_phdr[i].p_memsz, page_size());
        }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t start = base + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        if (read_only_end > start && read_only < end)
            start = read_only_end;
        add_area(start, end, base);
    }
}

/* A note that is not part of a loaded segment has an address, too, but memory there does not
 * contain it. */
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

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Identify an object by its sizes and by its notes, among them the linker's build id. */
static uint64_t hash_object(uint64_t h, const struct dl_phdr_info *object)
{
    h = hash_bytes(h, object->dlpi_phdr, object->dlpi_phnum * sizeof *object->dlpi_phdr);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE && is_loaded(object, p))
            h = hash_bytes(h, (const char *)object->dlpi_addr + p->p_vaddr, p->p_memsz);
    }
    return h;
}

static int find_in(struct dl_phdr_info *object, size_t size, void *first)
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
        add_segments(object);
    *(bool *)first = false;
    if (found.count > before)
        found.programs = hash_object(found.programs, object);
    return 0;
}

static void find_statics(bool all_of_executable)
{
    bool first = true; /* the executable is the first object */
    found.all_of_executable = all_of_executable;
    dl_iterate_phdr(find_in, &first);
    for (size_t i = 0; i < found.count; i++)
        found.bytes += found.area[i].size;
}

/* ---- checking ---- */

/* Whether all of the area is private memory that can be read and written. */
static bool is_private_memory(const struct area *a)
{
    char line[512], permissions[8];
    unsigned long start, end;
    uintptr_t next = (uintptr_t)a->start, last = next + a->size;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && next < last && fgets(line, sizeof line, maps)) {
        size_t length = strlen(line); /* a long path continues in further reads */
        if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) == 3 && start <= next &&
            next < end) {
            if (strcmp(permissions, "rw-p") != 0)
                break;
            next = end;
        }
        while (length && line[length - 1] != '\n' && fgets(line, sizeof line, maps))
            length = strlen(line);
    }
    if (maps)
        fclose(maps);
    return next >= last;
}

static unsigned count_threads(void)
{
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *d; tasks && (d = readdir(tasks));)
        threads += d->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return threads;
}

static const char *find_obstacle(void)
{
    if (found.too_many)
        return "they lie in too many places";
    for (size_t i = 0; i < found.count; i++)
        if (!is_private_memory(&found.area[i]))
            return "they lie on pages that are not private memory to read and write";
    unsigned threads = count_threads();
    return threads == 1 ? NULL
           : threads    ? "the process has several threads before MPI_Init"
                        : "/proc cannot be read";
}

/* ---- moving ---- */

static void copy_pages(char *to, const char *from, size_t size)
{
    static const char zeroes[4096];
    for (size_t i = 0; i < size; i += sizeof zeroes)
        if (memcmp(from + i, zeroes, sizeof zeroes) != 0)
            memcpy(to + i, from + i, sizeof zeroes);
}

/* The file's contents are at `to`. An area that has been moved stays in the file even if a later
 * one cannot be moved, so each is registered for fork on its own. */
static bool move_areas(int new_file, char *to)
{
    uint64_t position = areas_at;
    for (size_t i = 0; i < found.count; i++) {
        const struct area *a = &found.area[i];
        if (!fork_add(FORK_VARIABLES, a->start, a->size, new_file, position))
            return false;
        copy_pages(to + position - areas_at, a->start, a->size);
        if (mmap(a->start, a->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                 new_file, (off_t)position) == MAP_FAILED) {
            fork_remove(a->start);
            return false;
        }
        file_is_mapped = true;
        position += a->size;
    }
    return true;
}

/* Signal handlers must not write between the copy and the mapping. */
static bool move_areas_undisturbed(int new_file, char *to)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool moved = move_areas(new_file, to);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return moved;
}

/* Libraries whose variables have moved must not be unloaded: whatever is mapped at those addresses
 * afterwards would be taken for shared memory. */
static void keep_libraries(void)
{
    Dl_info info;
    for (size_t i = 0; i < found.count; i++)
        if (dladdr(found.area[i].start, &info) && info.dli_fname)
            dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static const char *move_all(int new_file)
{
    char *contents = new_file < 0 ? MAP_FAILED
                                  : mmap(NULL, found.bytes, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_NORESERVE, new_file, (off_t)areas_at);
    if (contents == MAP_FAILED)
        return "there is no room; see `ulimit -v`, `ulimit -f` and `ulimit -n`";
    bool moved = move_areas_undisturbed(new_file, contents);
    munmap(contents, found.bytes);
    keep_libraries();
    return moved ? NULL : "the system refuses to map them";
}

/* Keep the mapping out of core files, except for the pages that the arena hands out
 * (alloc/region.c). */
static bool map_heap(int new_file, size_t position, size_t size)
{
    char *start = memfd_map(new_file, position, size, NULL, 0);
    if (!start)
        return false;
    if (!fork_add(FORK_HEAP, start, size, new_file, position)) {
        munmap(start, size);
        return false;
    }
    madvise(start, size, MADV_DONTDUMP);
    file_is_mapped = true;
    heap = (struct layout_heap){(uintptr_t)start, size, position};
    return true;
}

/* The file of the heap of malloc, with `bytes` more bytes. -1: it cannot be made longer. */
static int lengthened(const struct malloc_heap *of_malloc, size_t bytes)
{
    heap = (struct layout_heap){(uintptr_t)of_malloc->start, of_malloc->size, 0};
    areas_at = of_malloc->size;
    file = of_malloc->file;
    file_is_mapped = true;
    return memfd_lengthen(file, areas_at + bytes) ? file : -1;
}

static int new_file_for(size_t bytes, size_t heap_size, const struct malloc_heap *of_malloc)
{
    if (of_malloc)
        return lengthened(of_malloc, bytes);
    int new_file = bytes + heap_size ? memfd_create_sealed(bytes + heap_size) : -1;
    if (new_file < 0 && bytes && heap_size) /* try without the early heap */
        new_file = memfd_create_sealed(bytes);
    return memfd_out_of_way(new_file);
}

int statics_move(bool all_of_executable, size_t heap_size, const struct malloc_heap *of_malloc)
{
    find_statics(all_of_executable);
    if (found.count)
        why_not = find_obstacle();
    size_t bytes = found.count && !why_not ? found.bytes : 0;
    int new_file = new_file_for(bytes, heap_size, of_malloc);
    if (bytes)
        why_not = move_all(new_file);
    if (of_malloc)
        return file;
    bool has_heap = memfd_sealed_size(new_file) > bytes && map_heap(new_file, bytes, heap_size);
    if ((bytes && !why_not) || has_heap)
        file = new_file;
    if (new_file >= 0 && !file_is_mapped)
        close(new_file);
    return file;
}

struct layout_heap statics_heap(void)
{
    return heap;
}

/* ---- opening ---- */

/* A number that is equal on two ranks if the same program has the same variables at the same
 * offsets there. Another program may have other variables on the same pages. */
static uint64_t fingerprint(void)
{
    uint64_t h = found.programs;
    for (size_t i = 0; i < found.count; i++) {
        h = hash_bytes(h, &found.area[i].offset, sizeof found.area[i].offset);
        h = hash_bytes(h, &found.area[i].size, sizeof found.area[i].size);
    }
    return h | 1; /* 0: none */
}

static uint64_t position_of_file(void)
{
    return (uint64_t)(node_slice(node.me) - node.base) + layout_statics_at(node.header);
}

static void add_aliases(void)
{
    uint64_t position = position_of_file() + areas_at;
    for (size_t i = 0; i < found.count; i++) {
        node_add_alias(found.area[i].start, found.area[i].size, position);
        position += found.area[i].size;
    }
    node_member(node.me)->statics = fingerprint();
}

void statics_open(void)
{
    if (node.header && node.header->statics_shared && heap.size)
        node_add_alias((char *)heap.address, heap.size, position_of_file() + heap.position);
    if (!found.count || !node.header)
        return;
    if (!why_not && !node.header->statics_shared)
        why_not = "the ranks of this node cannot exchange them; see `ulimit -v`, `ulimit -f` and "
                  "`ulimit -n`";
    if (!why_not)
        add_aliases();
    else
        log_message(found.all_of_executable ? 0 : 1,
                    "static variables are not shared with other ranks, and windows over them are "
                    "left to the host: %s",
                    why_not);
}
