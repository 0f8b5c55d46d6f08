/* The function of libmpiaccel_heap.so that libmpiaccel.so calls if that library is loaded. */
#ifndef MPIACCEL_HEAP_INTERFACE_H
#define MPIACCEL_HEAP_INTERFACE_H

#include "core/base.h"

/* The heap of malloc: `size` bytes at `start`, mapped from the beginning of `file` on. The file may
 * still be made longer (memfd_lengthen()), but not shorter. */
struct malloc_heap {
    int file;
    char *start;
    size_t size;
};

/* Open the heap, unless it is open. False: malloc is left to the next allocator. The number in the
 * name changes with the interface. */
typedef bool malloc_heap_open_fn(struct malloc_heap *heap);
malloc_heap_open_fn mpiaccel_malloc_heap_open_1;
#define MALLOC_HEAP_OPEN_NAME "mpiaccel_malloc_heap_open_1"

#endif
