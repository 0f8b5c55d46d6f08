/* The windows of the host that this process has kept for later fast windows; see
 * pmpi_wrap/abi/windows/host_window.h. There is one list for all communicators, which several
 * threads may use at the same time. */
#ifndef MPIACCEL_KEPT_H
#define MPIACCEL_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/* Limits, because each kept window takes memory and a context of the host. */
enum { KEPT_MAX = 32, KEPT_PER_GROUP = 8 };

/* A kept window can be used again for windows of the same ranks in the same order, and of the same
 * kind. */
struct kept_group {
    uint64_t ranks; /* a hash of them */
    uint32_t size, rank;
    bool shared;
};

/* The lowest number that has been kept for the group and is not offered yet. 0: none. NOT_KEPT: the
 * list is closed. */
#define NOT_KEPT UINT64_MAX
uint64_t kept_offer(struct kept_group group);

/* Withdraw an offer that has not been accepted. Ignores numbers that are not in the list. */
void kept_withdraw(uint64_t number);

/* Remove a window that has been offered. Returns its handle. */
uintptr_t kept_take(uint64_t number);

/* Make room for a window that is being freed, before the ranks agree to keep it. False: there is no
 * room, or the list is closed. After true, call one of the next two functions: cancel the
 * reservation, or add the window. */
bool kept_reserve(uint64_t ranks);
void kept_cancel(uint64_t ranks);
void kept_add(struct kept_group group, uint64_t number, uintptr_t handle);

/* A closed list takes and offers no windows. */
void kept_open(void);
void kept_close(void);

/* Remove the window with the lowest number. False: the list is empty. */
bool kept_take_lowest(uintptr_t *handle);

/* Remove all windows. */
void kept_forget(void);

#endif
