/* Finding functions among the objects loaded in this process. */
#ifndef MPIACCEL_SYMBOLS_H
#define MPIACCEL_SYMBOLS_H

#include "pmpi_wrap/calls.h"

/* The first loaded object other than this library and copies of it that itself defines the symbol:
 * its dlopen() handle, and the symbol's address. NULL: there is none. */
void *symbol_definer(const char *symbol, void **address);

/* The function prefix + name that `library` exports, whatever other libraries define before it in
 * the search order; with RTLD_NEXT, the first one after this library. NULL: there is none. */
mpi_fn *symbol_in(void *library, const char *prefix, const char *name);

/* The definition of a symbol in another object than this library and copies of it. NULL: none. */
void *symbol_elsewhere(const char *symbol);

/* The next definition of a symbol after this library's own, wherever it is loaded. NULL: none. */
void *symbol_next(const char *symbol);

/* Where a call goes on after this library: PMPI_X of a tool loaded between this library and the
 * host, otherwise of the host. NULL: neither has it. */
mpi_fn *symbol_onward(void *library, const char *name);

/* MPI_X of a tool that is loaded behind this library and does not define PMPI_X. NULL: there is
 * none. */
mpi_fn *symbol_of_tool(void *library, const char *name);

/* Whether the object of a tool's MPI_X calls PMPI_X by its name, and therefore this library's. True
 * if that cannot be determined. */
bool symbol_calls_pmpi(mpi_fn *function, const char *name);

/* The file of the object that defines a function. */
const char *symbol_file(mpi_fn *function);

#endif
