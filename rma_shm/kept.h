/* The windows of the host that this process has kept for later fast windows; see
 * pmpi_wrap/abi/windows/host_window.h. One list for all communicators; threads may use it at the
 * same time. */
#ifndef MPIACCEL_KEPT_H
#define MPIACCEL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/* Each takes memory and a context of the host. */
enum { KEPT_MAX = 32, KEPT_PER_GROUP = 8 };

/* A window serves others of the same ranks in the same order, and of the same kind. */
struct kept_group {
    uint64_t ranks; /* a hash of them */
    uint32_t size, rank;
    bool shared;
};

/* The lowest number that has been kept for the group and is not offered yet. 0: none. NOT_KEPT: the
 * list is closed. */
#define NOT_KEPT UINT64_MAX
uint64_t kept_offer(struct kept_group group);

/* The offer has not been accepted. Ignores numbers that are not in the list. */
void kept_withdraw(uint64_t number);

/* Remove a window that has been offered. Returns its handle. */
uintptr_t kept_take(uint64_t number);

/* Make room for a window that is being freed, before the ranks agree to keep it. False: there is
 * none, or the list is closed. Then either cancel that, or add the window. */
bool kept_reserve(uint64_t ranks);
void kept_cancel(uint64_t ranks);
void kept_add(struct kept_group group, uint64_t number, uintptr_t handle);

/* A closed list takes and offers no windows. */
void kept_open(void);
void kept_close(void);

/* Remove the window with the lowest number. False: the list is empty. */
bool kept_take_lowest(uintptr_t *handle);

/* Remove all of them. */
void kept_forget(void);

#endif
