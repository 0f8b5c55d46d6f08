#include "pmpi_wrap/abi/contents.h"

#include <stdlib.h>
#include <string.h>

/* As the host gives them. `large` are the counts of constructors with large counts. */
struct raw {
    MPI_Count integer_count, address_count, large_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *large;
};

static bool get_envelope(MPI_Datatype type, struct raw *raw, int *combiner)
{
#if MPI_VERSION >= 4
    if (host.Type_get_envelope_c)
        return !host.Type_get_envelope_c(type, &raw->integer_count, &raw->address_count,
                                         &raw->large_count, &raw->type_count, combiner);
#endif
    int integers, addresses, types;
    if (host.Type_get_envelope(type, &integers, &addresses, &types, combiner))
        return false;
    *raw = (struct raw){.integer_count = integers, .address_count = addresses, .type_count = types};
    return true;
}

static bool get_contents(MPI_Datatype type, struct raw *raw, MPI_Datatype *types)
{
#if MPI_VERSION >= 4
    if (host.Type_get_contents_c)
        return !host.Type_get_contents_c(type, raw->integer_count, raw->address_count,
                                         raw->large_count, raw->type_count, raw->integers,
                                         raw->addresses, raw->large, types);
#endif
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

bool is_lasting(MPI_Datatype type)
{
    struct raw raw;
    int combiner;
    return get_envelope(type, &raw, &combiner) &&
           (combiner == MPI_COMBINER_NAMED || is_f90(combiner));
}

/* How many of the large counts are what the int constructor lists as integers; the rest are its
 * addresses. */
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

/* Where the large counts go among the integers: an array's sizes stand after its dimensions. */
static MPI_Count integers_before(int combiner)
{
    return combiner == MPI_COMBINER_SUBARRAY ? 1 : combiner == MPI_COMBINER_DARRAY ? 3 : 0;
}

static void unite(struct contents *c, const struct raw *raw)
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
    for (MPI_Count i = 0; i < raw->address_count; i++)
        *a++ = raw->addresses[i];
    for (MPI_Count i = among; i < raw->large_count; i++)
        *a++ = raw->large[i];
}

static void *array(MPI_Count count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

bool contents_get(MPI_Datatype type, struct contents *c)
{
    struct raw raw = {0};
    memset(c, 0, sizeof *c);
    if (!get_envelope(type, &raw, &c->combiner) || c->combiner == MPI_COMBINER_NAMED)
        return false;
    MPI_Count all = raw.integer_count + raw.address_count + raw.large_count;
    raw.integers = array(raw.integer_count, sizeof *raw.integers);
    raw.addresses = array(raw.address_count, sizeof *raw.addresses);
    raw.large = array(raw.large_count, sizeof *raw.large);
    c->integers = array(all, sizeof *c->integers);
    c->addresses = array(all, sizeof *c->addresses);
    c->types = array(raw.type_count, sizeof *c->types);
    bool good = raw.integers && raw.addresses && raw.large && c->integers && c->addresses &&
                c->types && get_contents(type, &raw, c->types);
    if (good) {
        c->type_count = (int)raw.type_count;
        unite(c, &raw);
    }
    free(raw.integers);
    free(raw.addresses);
    free(raw.large);
    return good;
}

void contents_free(struct contents *c)
{
    free(c->integers);
    free(c->addresses);
    free(c->types);
}
