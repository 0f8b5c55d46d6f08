/* Where the files of this installation are. */
#ifndef MPIACCEL_LIBRARY_H
#define MPIACCEL_LIBRARY_H

#include <stdbool.h>

/* The path of the library. Valid until the next call of this function or of library_program(). */
const char *library_path(void);

/* The path of libmpiaccel_heap.so.0, which is beside the library. Valid until the next call. */
const char *library_heap_path(void);

/* The path of this program, whatever its name is. */
const char *library_command(void);

/* What the command `man` needs to show the manual: its name, or in a build folder its path. Valid
 * until the next call of any function that returns a path. */
const char *library_man_page(void);

/* Call before a program is started: if LD_PRELOAD names a missing library, the loader only prints a
 * warning in every process. Prints a message if it is missing. */
bool library_exists(void);
bool library_heap_exists(void);

/* The path of the program of a subcommand. Valid until the next call of this function or of
 * library_path(). */
const char *library_program(const char *name);

#endif
