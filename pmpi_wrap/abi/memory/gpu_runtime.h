/* Could a buffer be in the memory of a GPU? */
#ifndef MPIACCEL_GPU_RUNTIME_H
#define MPIACCEL_GPU_RUNTIME_H

#include "core/base.h"

/* A runtime that allocates GPU memory is loaded. Then all data are left to the host, which can find
 * out where a buffer is (H7: pointers that the CPU must not touch). */
bool gpu_runtime_loaded(void);

#endif
