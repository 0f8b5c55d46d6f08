/* Whether shared memory consists of huge pages where private memory does. */
#ifndef MPIACCEL_HUGE_PAGES_H
#define MPIACCEL_HUGE_PAGES_H

enum huge_pages {
    HUGE_PAGES_EQUAL,   /* both do, or neither does */
    HUGE_PAGES_ADVISED, /* both do, if the program requests them for shared memory */
    HUGE_PAGES_PRIVATE, /* only private memory does */
};

#define HUGE_PAGES_FOLDER "/sys/kernel/mm/transparent_hugepage/"

/* Read the settings of the OS, without allocating. */
enum huge_pages huge_pages_of_shared_memory(void);

#endif
