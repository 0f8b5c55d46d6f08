/* How a derived datatype was made (MPI-4.0, 5.1.13), in one form for all constructors: the integers
 * as the constructors with int counts list them, and the addresses. */
#ifndef MPIACCEL_CONTENTS_H
#define MPIACCEL_CONTENTS_H

#include "pmpi_wrap/abi/host_api.h"

struct contents {
    int combiner;
    int64_t *integers;
    int64_t *addresses;
    int type_count;
    MPI_Datatype *types; /* the caller frees those that are not permanent */
};

/* Find out how a datatype was made. False: no memory, or the host refuses. Call contents_free() in
 * either case. */
bool contents_get(MPI_Datatype type, struct contents *contents);
void contents_free(struct contents *contents);

bool is_predefined(MPI_Datatype type);

/* Whether MPI_Type_create_f90_real, _complex or _integer has made the datatype. Such datatypes are
 * predefined, but have no names. */
bool is_f90(int combiner);

/* Whether the datatype is predefined, with or without a name, so that it must not be freed. */
bool is_permanent(MPI_Datatype type);

#endif
