#include "pmpi_wrap/abi/datatypes/contents.h"

#include <stdlib.h>
#include <string.h>

/* What the host returns. Constructors with large counts have their counts in `large`. */
struct raw {
    MPI_Count integer_count, address_count, large_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *large;
};

static bool get_envelope(MPI_Datatype type, struct raw *raw, int *combiner)
{
    if (host.Type_get_envelope_c)
        return !host.Type_get_envelope_c(type, &raw->integer_count, &raw->address_count,
                                         &raw->large_count, &raw->type_count, combiner);
    int integers, addresses, types;
    if (host.Type_get_envelope(type, &integers, &addresses, &types, combiner))
        return false;
    *raw = (struct raw){.integer_count = integers, .address_count = addresses, .type_count = types};
    return true;
}

static bool get_contents(MPI_Datatype type, struct raw *raw, MPI_Datatype *types)
{
    if (host.Type_get_contents_c)
        return !host.Type_get_contents_c(type, raw->integer_count, raw->address_count,
                                         raw->large_count, raw->type_count, raw->integers,
                                         raw->addresses, raw->large, types);
    return !host.Type_get_contents(type, (int)raw->integer_count, (int)raw->address_count,
                                   (int)raw->type_count, raw->integers, raw->addresses, types);
}

bool is_predefined(MPI_Datatype type)
{
    struct raw raw;
    int combiner;
    return get_envelope(type, &raw, &combiner) && combiner == MPI_COMBINER_NAMED;
}

bool is_f90(int combiner)
{
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

bool is_permanent(MPI_Datatype type)
{
    struct raw raw;
    int combiner;
    return get_envelope(type, &raw, &combiner) &&
           (combiner == MPI_COMBINER_NAMED || is_f90(combiner));
}

/* How many of the large counts are integers of the int constructor; the rest are its addresses. */
static MPI_Count integers_among(int combiner, const struct raw *raw)
{
    switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return 1 + raw->large[0];
    case MPI_COMBINER_RESIZED:
        return 0;
    default:
        return raw->large_count;
    }
}

/* How many integers precede the large counts: in an array the number of dimensions, in a
 * distributed array also the size and the rank of the group. */
static MPI_Count integers_before(int combiner)
{
    return combiner == MPI_COMBINER_SUBARRAY ? 1 : combiner == MPI_COMBINER_DARRAY ? 3 : 0;
}

static void merge_integers(struct contents *c, const struct raw *raw)
{
    MPI_Count before = raw->large_count ? integers_before(c->combiner) : raw->integer_count;
    MPI_Count among = raw->large_count ? integers_among(c->combiner, raw) : 0;
    int64_t *n = c->integers, *a = c->addresses;
    for (MPI_Count i = 0; i < before; i++)
        *n++ = raw->integers[i];
    for (MPI_Count i = 0; i < among; i++)
        *n++ = raw->large[i];
    for (MPI_Count i = before; i < raw->integer_count; i++)
        *n++ = raw->integers[i];
    a += raw->address_count; /* get_contents() has stored them there */
    for (MPI_Count i = among; i < raw->large_count; i++)
        *a++ = raw->large[i];
}

#if defined(MPIACCEL_STANDARD_ABI_H)
/* For the order and the distribution of arrays, libmpi_abi of Open MPI 6.0 returns the constants of
 * Open MPI's own ABI. No number is a constant in both ABIs. */
static void correct_constants(struct contents *c)
{
    enum { OWN_ORDER_FORTRAN = 1, OWN_BLOCK = 0, OWN_NONE = 2, OWN_DFLT_DARG = -1 };
    int64_t *n = c->integers, *order = NULL;
    if (c->combiner == MPI_COMBINER_SUBARRAY) {
        order = &n[1 + 3 * n[0]];
    } else if (c->combiner == MPI_COMBINER_DARRAY) {
        int64_t dimensions = n[2], *kinds = &n[3 + dimensions], *arguments = kinds + dimensions;
        order = arguments + 2 * dimensions;
        for (int64_t d = 0; d < dimensions; d++) {
            kinds[d] = kinds[d] == OWN_BLOCK  ? MPI_DISTRIBUTE_BLOCK
                       : kinds[d] == OWN_NONE ? MPI_DISTRIBUTE_NONE
                                              : kinds[d];
            if (arguments[d] == OWN_DFLT_DARG)
                arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        }
    }
    if (order && *order == OWN_ORDER_FORTRAN)
        *order = MPI_ORDER_FORTRAN;
}
#else
static void correct_constants(struct contents *c)
{
    (void)c;
}
#endif

/* All arrays come from one allocation, because a program may make a datatype for each of its
 * messages. */
static bool allocate_arrays(struct contents *c, struct raw *raw)
{
    _Static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8, "arrays of both are adjacent");
    size_t large = (size_t)raw->large_count, integers = (size_t)raw->integer_count + large + 1;
    size_t addresses = (size_t)raw->address_count + large;
    size_t bytes = (integers + addresses + large) * sizeof *c->integers +
                   (size_t)raw->type_count * sizeof *c->types +
                   (size_t)raw->integer_count * sizeof *raw->integers;
    c->integers = malloc(bytes);
    if (!c->integers)
        return false;
    c->integers[0] = 0; /* some constructors have no integers */
    c->addresses = c->integers + integers;
    raw->addresses = (MPI_Aint *)c->addresses;
    raw->large = (MPI_Count *)(c->addresses + addresses);
    c->types = (MPI_Datatype *)(raw->large + raw->large_count);
    raw->integers = (int *)(c->types + raw->type_count);
    return true;
}

bool contents_get(MPI_Datatype type, struct contents *c)
{
    struct raw raw = {0};
    memset(c, 0, sizeof *c);
    if (!get_envelope(type, &raw, &c->combiner) || c->combiner == MPI_COMBINER_NAMED ||
        !allocate_arrays(c, &raw) || !get_contents(type, &raw, c->types))
        return false;
    c->type_count = (int)raw.type_count;
    merge_integers(c, &raw);
    correct_constants(c);
    return true;
}

void contents_free(struct contents *c)
{
    free(c->integers);
}
