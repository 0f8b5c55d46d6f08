/* The tables of the accumulate family. */
#ifndef MPIACCEL_ABI_RMA_H
#define MPIACCEL_ABI_RMA_H

/* Choose the kernels for this processor; at Init. */
void reduction_functions_open(void);

#endif
