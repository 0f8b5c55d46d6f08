#include "pmpi_wrap/abi/datatypes/typemap_of.h"

#include "pmpi_wrap/abi/datatypes/contents.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/private_comm.h"

#include <errno.h>
#include <stdlib.h>

static const struct typemap *typemap_find_or_decode(MPI_Datatype type);
static struct typemap *decode(MPI_Datatype type);

/* ---- arrays ---- */

/* An array of n dimensions is built from the innermost dimension outwards: `inner` is the typemap
 * of the dimensions so far, and copies of it lie `stride` bytes apart. */
struct array {
    const struct typemap *element;
    struct typemap *inner; /* NULL: no dimension yet, one element */
    int64_t stride;
};

/* Add a dimension of `size` indices. Those that belong to the type: `count` from `first` on,
 * `count` from `first` + `step` on, and so on. */
static bool add_dimension(struct array *a, int64_t size, int64_t first, int64_t count, int64_t step)
{
    const struct typemap *in = a->inner ? a->inner : a->element;
    struct typemap *outer = typemap_derived();
    int64_t whole = count > 0 && first + count <= size ? (size - first - count) / step + 1 : 0;
    int64_t rest = first + whole * step;
    struct placement p = {first * a->stride, (size_t)whole, &count, NULL, 0, step * a->stride, 0};
    bool ok = outer && typemap_append_blocks(outer, in, &p);
    if (ok && count > 0 && rest < size)
        ok = typemap_append(outer, in, rest * a->stride, (size_t)(size - rest));
    a->stride *= size;
    ok = ok && typemap_end(outer, a->stride);
    typemap_free(a->inner);
    a->inner = outer;
    return ok;
}

/* The i-th of n dimensions from the inside. */
static int64_t dimension(int64_t i, int64_t n, int64_t order)
{
    return order == MPI_ORDER_FORTRAN ? i : n - 1 - i;
}

static bool decode_subarray(struct typemap *map, const struct contents *c, const struct typemap *in)
{
    int64_t n = c->integers[0];
    const int64_t *sizes = &c->integers[1], *counts = sizes + n, *starts = counts + n;
    struct array a = {.element = in, .stride = in->extent};
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        int64_t d = dimension(i, n, starts[n]);
        ok = add_dimension(&a, sizes[d], starts[d], counts[d], sizes[d]);
    }
    ok = ok && typemap_append(map, a.inner, 0, 1);
    typemap_free(a.inner);
    return ok;
}

/* Add the part of a dimension that belongs to process `at` of `processes` (MPI-4.0, 5.1.4). */
static bool add_distributed(struct array *a, int64_t size, int64_t kind, int64_t argument,
                            int64_t processes, int64_t at)
{
    if (kind == MPI_DISTRIBUTE_NONE || processes == 1)
        return add_dimension(a, size, 0, size, size ? size : 1);
    int64_t block = argument;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = kind == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    return add_dimension(a, size, at * block, block, block * processes);
}

static bool decode_darray(struct typemap *map, const struct contents *c, const struct typemap *in)
{
    int64_t rank = c->integers[1], n = c->integers[2];
    const int64_t *sizes = &c->integers[3], *kinds = sizes + n, *arguments = kinds + n,
                  *processes = arguments + n;
    int64_t *coords = malloc((size_t)(n + 1) * sizeof *coords);
    bool ok = coords;
    for (int64_t d = n - 1; ok && d >= 0; d--) { /* the grid of processes is row-major */
        coords[d] = rank % processes[d];
        rank /= processes[d];
    }
    struct array a = {.element = in, .stride = in->extent};
    for (int64_t i = 0; ok && i < n; i++) {
        int64_t d = dimension(i, n, processes[n]);
        ok = add_distributed(&a, sizes[d], kinds[d], arguments[d], processes[d], coords[d]);
    }
    ok = ok && typemap_append(map, a.inner, 0, 1);
    typemap_free(a.inner);
    free(coords);
    return ok;
}

/* ---- blocks ---- */

/* Append `in`, the only child of every constructor but MPI_Type_create_struct. */
static bool append_child(struct typemap *map, const struct contents *c, const struct typemap *in)
{
    const int64_t *n = c->integers, *a = c->addresses, count = n[0];
    size_t blocks = (size_t)count;
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return typemap_append(map, in, 0, (size_t)count);
    case MPI_COMBINER_VECTOR:
        return typemap_append_blocks(
            map, in, &(struct placement){0, blocks, &n[1], NULL, 0, n[2] * in->extent, 0});
    case MPI_COMBINER_HVECTOR:
        return typemap_append_blocks(map, in,
                                     &(struct placement){0, blocks, &n[1], NULL, 0, a[0], 0});
    case MPI_COMBINER_INDEXED:
        return typemap_append_blocks(
            map, in, &(struct placement){0, blocks, &n[1], &n[1 + count], 1, 0, in->extent});
    case MPI_COMBINER_HINDEXED:
        return typemap_append_blocks(map, in, &(struct placement){0, blocks, &n[1], a, 1, 0, 1});
    case MPI_COMBINER_INDEXED_BLOCK:
        return typemap_append_blocks(
            map, in, &(struct placement){0, blocks, &n[1], &n[2], 0, 0, in->extent});
    case MPI_COMBINER_HINDEXED_BLOCK:
        return typemap_append_blocks(map, in, &(struct placement){0, blocks, &n[1], a, 0, 0, 1});
    case MPI_COMBINER_SUBARRAY:
        return decode_subarray(map, c, in);
    case MPI_COMBINER_DARRAY:
        return decode_darray(map, c, in);
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return typemap_append(map, in, 0, 1);
    default:
        return false;
    }
}

/* ---- all constructors ---- */

/* Append `count` children of the same type, from `first` on: several only in a structure. */
static bool append_children(struct typemap *map, const struct contents *c, const struct typemap *in,
                            int first, int count)
{
    if (c->combiner != MPI_COMBINER_STRUCT)
        return append_child(map, c, in);
    struct placement members = {
        0, (size_t)count, &c->integers[1 + first], &c->addresses[first], 1, 0, 1};
    return typemap_append_blocks(map, in, &members);
}

/* Frees the types that contents_get() returned, also after a failure. Permanent ones must not be
 * freed (MPI-4.0, 19.1.5): in Open MPI that is an error. */
static bool decode_contents(struct typemap *map, const struct contents *c)
{
    bool ok = true;
    for (int t = 0, end; t < c->type_count; t = end) {
        MPI_Datatype type = c->types[t];
        for (end = t + 1; end < c->type_count && c->types[end] == type;)
            end++;
        const struct typemap *in = predefined_known(type);
        bool permanent = in || is_permanent(type);
        struct typemap *made = permanent ? NULL : decode(type);
        if (!in)
            in = permanent ? typemap_find_or_decode(type) : made;
        ok = ok && in && append_children(map, c, in, t, end - t);
        typemap_free(made);
        for (int i = t; !permanent && i < end; i++)
            host.Type_free(&c->types[i]);
    }
    return ok;
}

/* Make the typemap of a datatype of MPI_Type_create_f90_real, _complex or _integer, which is
 * predefined: its kind and size determine it. */
static struct typemap *decode_f90(MPI_Datatype type, int combiner)
{
    enum kind kind = combiner == MPI_COMBINER_F90_REAL      ? REAL
                     : combiner == MPI_COMBINER_F90_COMPLEX ? COMPLEX
                                                            : SIGNED;
    MPI_Aint lb, extent;
    int size;
    if (host.Type_size(type, &size) || host.Type_get_extent(type, &lb, &extent))
        return NULL;
    return typemap_predefined(BITS(type), prim_of(kind, size), (size_t)size, (size_t)extent);
}

static struct typemap *decode(MPI_Datatype type)
{
    struct contents c;
    struct typemap *map = NULL;
    MPI_Aint lb, extent;
    bool ok = contents_get(type, &c) && !host.Type_get_extent(type, &lb, &extent);
    if (ok && is_f90(c.combiner))
        map = decode_f90(type, c.combiner);
    else if (ok && (map = typemap_derived()) &&
             !(decode_contents(map, &c) && typemap_end(map, extent))) {
        typemap_free(map);
        map = NULL;
    }
    contents_free(&c);
    return map;
}

/* Call in one thread at a time, or a datatype could be registered twice. NULL: no memory. */
static const struct typemap *typemap_find_or_decode(MPI_Datatype type)
{
    struct entry *e = registry_find(&datatype_registry, BITS(type));
    if (e)
        return e->object;
    /* Almost all are derived, and decode() refuses predefined ones at once: asking is_predefined()
     * first would call the host once more. */
    struct typemap *map = decode(type);
    if (!map && is_predefined(type))
        return predefined_other(type);
    if (map && !registry_add(&datatype_registry, BITS(type), map, 0)) {
        typemap_free(map);
        return NULL;
    }
    return map;
}

/* ---- datatypes that are first used ---- */

/* The host refuses to send with a datatype that is not committed. The message has one element,
 * because MPICH accepts any datatype with none; it is not read, since it goes to MPI_PROC_NULL. */
static bool is_committed(MPI_Datatype type)
{
    char unread;
    return !host.Send(&unread, 1, type, MPI_PROC_NULL, 0, private_comm());
}

/* Before the node has settled, the predefined datatypes are not registered, and typemaps that refer
 * to them cannot be made. */
COLD const struct typemap *typemap_of_unregistered(MPI_Datatype type)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (!node_setup_is_over() || type == MPI_DATATYPE_NULL || !BITS(type) || !is_committed(type))
        return NULL;
    pthread_mutex_lock(&mutex);
    const struct typemap *map = typemap_find_or_decode(type);
    pthread_mutex_unlock(&mutex);
    /* Not under the mutex, which a delete function of the program may need while the host holds a
     * lock on all attributes. */
    if (map && map->base != BITS(type) && !registry_is_removing(&datatype_registry, BITS(type)))
        free_notice_type(type);
    return map;
}

COLD const struct typemap *typemap_of_unregistered_or_abort(MPI_Datatype type)
{
    errno = 0;
    const struct typemap *map = typemap_of_unregistered(type);
    if (!map && errno == ENOMEM)
        abort_without_memory("a datatype");
    return map;
}
