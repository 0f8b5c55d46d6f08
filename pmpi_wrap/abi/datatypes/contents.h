/* How a derived datatype was made (MPI-4.0, 5.1.13), in one form for all constructors: the integers
 * as the constructors with int counts list them, and the addresses. */
#ifndef MPIACCEL_CONTENTS_H
#define MPIACCEL_CONTENTS_H

#include "pmpi_wrap/abi/abi.h"

struct contents {
    int combiner;
    int64_t *integers;
    int64_t *addresses;
    int type_count;
    MPI_Datatype *types; /* to be freed by who takes them, unless lasting */
};

/* False: no memory, or the host refuses. Ended by contents_free() either way. */
bool contents_get(MPI_Datatype type, struct contents *contents);
void contents_free(struct contents *contents);

bool is_predefined(MPI_Datatype type);

/* Made by MPI_Type_create_f90_real or its like: predefined, but without a name. */
bool is_f90(int combiner);

/* Of either kind: never freed. */
bool is_lasting(MPI_Datatype type);

#endif
