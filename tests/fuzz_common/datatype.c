/* Conversions of a layout: to a list of elements, to an MPI datatype, to text. */
#include "layout.h"

#include <stdarg.h>

/* ---- the datatype ---- */

static void check(int error, const struct layout *l, const char *what)
{
    char text[4096];
    if (!error)
        return;
    layout_print(l, text, sizeof text);
    give_up("the host fails at %s of %s", what, text);
}

static int *ints(const long *from, long n)
{
    int *to = keep((size_t)(n + 1) * sizeof *to);
    for (long i = 0; i < n; i++)
        to[i] = (int)from[i];
    return to;
}

static MPI_Aint *addresses(const long *from, long n)
{
    MPI_Aint *to = keep((size_t)(n + 1) * sizeof *to);
    for (long i = 0; i < n; i++)
        to[i] = from[i];
    return to;
}

#if MPI_VERSION >= 4
static MPI_Count *counts(const long *from, long n)
{
    MPI_Count *to = keep((size_t)(n + 1) * sizeof *to);
    for (long i = 0; i < n; i++)
        to[i] = from[i];
    return to;
}

static MPI_Count *wide(const int *from, int n)
{
    MPI_Count *to = keep((size_t)(n + 1) * sizeof *to);
    for (int i = 0; i < n; i++)
        to[i] = from[i];
    return to;
}

static int construct_large(const struct layout *l, MPI_Datatype child, MPI_Datatype *children,
                           MPI_Datatype *type)
{
    MPI_Count n = l->count, *lengths = counts(l->lengths, l->count),
              *displs = counts(l->displs, l->count);
    switch (l->constructor) {
    case CONTIGUOUS:
        return MPI_Type_contiguous_c(n, child, type);
    case VECTOR:
        return MPI_Type_vector_c(n, l->block, l->stride, child, type);
    case HVECTOR:
        return MPI_Type_create_hvector_c(n, l->block, l->stride, child, type);
    case INDEXED:
        return MPI_Type_indexed_c(n, lengths, displs, child, type);
    case HINDEXED:
        return MPI_Type_create_hindexed_c(n, lengths, displs, child, type);
    case INDEXED_BLOCK:
        return MPI_Type_create_indexed_block_c(n, l->block, displs, child, type);
    case HINDEXED_BLOCK:
        return MPI_Type_create_hindexed_block_c(n, l->block, displs, child, type);
    case STRUCT:
        return MPI_Type_create_struct_c(n, lengths, displs, children, type);
    case SUBARRAY:
        return MPI_Type_create_subarray_c(l->dims, wide(l->sizes, l->dims),
                                          wide(l->subsizes, l->dims), wide(l->starts, l->dims),
                                          l->order, child, type);
    case DARRAY:
        return MPI_Type_create_darray_c(l->processes, l->process, l->dims, wide(l->sizes, l->dims),
                                        l->kinds, l->arguments, l->grid, l->order, child, type);
    default:
        return MPI_Type_create_resized_c(child, l->displs[0], l->displs[1], type);
    }
}
#endif

static int construct(const struct layout *l, MPI_Datatype child, MPI_Datatype *children,
                     MPI_Datatype *type)
{
    int n = (int)l->count, *lengths = ints(l->lengths, n), *displs = ints(l->displs, n);
    MPI_Aint *bytes = addresses(l->displs, n);
#if MPI_VERSION >= 4
    if (l->large && l->constructor != DUP)
        return construct_large(l, child, children, type);
#endif
    switch (l->constructor) {
    case CONTIGUOUS:
        return MPI_Type_contiguous(n, child, type);
    case VECTOR:
        return MPI_Type_vector(n, (int)l->block, (int)l->stride, child, type);
    case HVECTOR:
        return MPI_Type_create_hvector(n, (int)l->block, l->stride, child, type);
    case INDEXED:
        return MPI_Type_indexed(n, lengths, displs, child, type);
    case HINDEXED:
        return MPI_Type_create_hindexed(n, lengths, bytes, child, type);
    case INDEXED_BLOCK:
        return MPI_Type_create_indexed_block(n, (int)l->block, displs, child, type);
    case HINDEXED_BLOCK:
        return MPI_Type_create_hindexed_block(n, (int)l->block, bytes, child, type);
    case STRUCT:
        return MPI_Type_create_struct(n, lengths, bytes, children, type);
    case SUBARRAY:
        return MPI_Type_create_subarray(l->dims, l->sizes, l->subsizes, l->starts, l->order, child,
                                        type);
    case DARRAY:
        return MPI_Type_create_darray(l->processes, l->process, l->dims, l->sizes, l->kinds,
                                      l->arguments, l->grid, l->order, child, type);
    case DUP:
        return MPI_Type_dup(child, type);
    default:
        return MPI_Type_create_resized(child, l->displs[0], l->displs[1], type);
    }
}

static void release_type(const struct layout *l, MPI_Datatype *type)
{
    if (l->constructor != PREDEFINED)
        check(MPI_Type_free(type), l, "MPI_Type_free");
}

static MPI_Datatype build(const struct layout *l)
{
    if (l->constructor == PREDEFINED)
        return basics[l->basic].type;
    MPI_Datatype type, child = MPI_DATATYPE_NULL, *children = NULL;
    if (l->children) {
        children = keep((size_t)l->count * sizeof *children);
        for (long i = 0; i < l->count; i++)
            children[i] = build(l->children[i]);
    } else {
        child = build(l->child);
    }
    check(construct(l, child, children, &type), l, "making");
    for (long i = 0; l->children && i < l->count; i++)
        release_type(l->children[i], &children[i]);
    if (!l->children)
        release_type(l->child, &child);
    return type;
}

MPI_Datatype layout_type(const struct layout *l)
{
    MPI_Datatype type = build(l);
    MPI_Aint low, extent;
    if (l->constructor == PREDEFINED)
        return type;
    check(MPI_Type_commit(&type), l, "committing");
    MPI_Type_get_extent(type, &low, &extent);
    check(low != l->low || extent != layout_extent(l), l, "the bounds");
    return type;
}

void layout_type_free(const struct layout *l, MPI_Datatype *type)
{
    release_type(l, type);
}

/* ---- elements ---- */

struct walk {
    struct pieces *pieces;
    long at;
};

static void add_piece(struct pieces *p, long at, int basic, long count)
{
    const struct basic *b = &basics[basic];
    struct part parts[2];
    struct part last = parts[basic_parts(b, parts) - 1];
    long high = at + (count - 1) * b->extent + last.at + last.size;
    p->low = p->count && p->low < at ? p->low : at;
    p->high = p->count && p->high > high ? p->high : high;
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 4;
        struct piece *list = keep((size_t)p->room * sizeof *list);
        if (p->count)
            memcpy(list, p->list, (size_t)p->count * sizeof *list);
        p->list = list;
    }
    p->list[p->count++] = (struct piece){at, count, basic};
}

static void walk_block(void *context, const struct layout *l, long at, long copies)
{
    struct walk *outer = context, inner = *outer;
    inner.at += at;
    if (l->constructor == PREDEFINED && copies)
        add_piece(inner.pieces, inner.at, l->basic, copies);
    for (long i = 0; l->constructor != PREDEFINED && i < copies; i++, inner.at += layout_extent(l))
        layout_blocks(l, walk_block, &inner);
}

struct pieces layout_pieces(const struct layout *l, long count)
{
    struct pieces p = {0};
    walk_block(&(struct walk){&p, 0}, l, 0, count);
    return p;
}

bool pieces_disjoint(const struct pieces *p)
{
    char *taken = calloc((size_t)(p->high - p->low + 1), 1);
    bool disjoint = true;
    for (long i = 0; disjoint && i < p->count; i++) {
        const struct basic *b = &basics[p->list[i].basic];
        char *at = taken + p->list[i].at - p->low;
        struct part parts[2];
        int part_count = basic_parts(b, parts);
        for (long e = 0; disjoint && e < p->list[i].count; e++, at += b->extent)
            for (int part = 0; part < part_count; part++) {
                char *bytes = at + parts[part].at;
                disjoint &= !memchr(bytes, 1, (size_t)parts[part].size);
                memset(bytes, 1, (size_t)parts[part].size);
            }
    }
    free(taken);
    return disjoint;
}

/* ---- text ---- */

struct text {
    char *at;
    size_t room;
};

static void log_message(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->at, t->room, format, arguments);
    va_end(arguments);
    size_t used = n < 0 ? 0 : (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += used;
    t->room -= used;
}

static void say_longs(struct text *t, const char *name, const long *values, long n)
{
    log_message(t, " %s", name);
    for (long i = 0; i < n; i++)
        log_message(t, "%s%ld", i ? "," : "=", values[i]);
}

static void say_ints(struct text *t, const char *name, const int *values, int n)
{
    log_message(t, " %s", name);
    for (int i = 0; i < n; i++)
        log_message(t, "%s%d", i ? "," : "=", values[i]);
}

static void print(struct text *t, const struct layout *l)
{
    static const char *const names[] = {"",        "contiguous", "vector",        "hvector",
                                        "indexed", "hindexed",   "indexed_block", "hindexed_block",
                                        "struct",  "subarray",   "darray",        "dup",
                                        "resized"};
    if (l->constructor == PREDEFINED) {
        log_message(t, "%s", basics[l->basic].name);
        return;
    }
    log_message(t, "%s%s(", names[l->constructor], l->large ? "_c" : "");
    switch (l->constructor) {
    case CONTIGUOUS:
        log_message(t, "%ld", l->count);
        break;
    case VECTOR:
    case HVECTOR:
        log_message(t, "%ld x %ld stride=%ld", l->count, l->block, l->stride);
        break;
    case INDEXED:
    case HINDEXED:
    case STRUCT:
        say_longs(t, "lengths", l->lengths, l->count);
        say_longs(t, "at", l->displs, l->count);
        break;
    case INDEXED_BLOCK:
    case HINDEXED_BLOCK:
        log_message(t, "length=%ld", l->block);
        say_longs(t, "at", l->displs, l->count);
        break;
    case DARRAY:
        log_message(t, "process=%d", l->process);
        say_ints(t, "grid", l->grid, l->dims);
        say_ints(t, "kinds", l->kinds, l->dims);
        say_ints(t, "arguments", l->arguments, l->dims);
        say_ints(t, "sizes", l->sizes, l->dims);
        log_message(t, " %s", l->order == MPI_ORDER_C ? "C" : "Fortran");
        break;
    case SUBARRAY:
        say_ints(t, "sizes", l->sizes, l->dims);
        say_ints(t, "subsizes", l->subsizes, l->dims);
        say_ints(t, "starts", l->starts, l->dims);
        log_message(t, " %s", l->order == MPI_ORDER_C ? "C" : "Fortran");
        break;
    case RESIZED:
        log_message(t, "lb=%ld extent=%ld", l->displs[0], l->displs[1]);
        break;
    default:
        break;
    }
    for (long i = 0; l->children && i < l->count; i++) {
        log_message(t, " ");
        print(t, l->children[i]);
    }
    if (!l->children) {
        log_message(t, " ");
        print(t, l->child);
    }
    log_message(t, ")");
}

void layout_print(const struct layout *l, char *text, size_t room)
{
    struct text t = {text, room};
    print(&t, l);
}
