/* Attributes of windows. */
#ifndef MPIACCEL_WINDOW_ATTRIBUTES_H
#define MPIACCEL_WINDOW_ATTRIBUTES_H

#include "pmpi_wrap/abi/host_api.h"

/* The value of a predefined attribute of a Fortran handle. False: it is the same as the host's. */
bool fortran_window_attribute(int window, int keyval, int64_t *value);

/* Call when the program is setting an attribute of a Fortran handle. */
void fortran_window_changed(int window);

#endif
