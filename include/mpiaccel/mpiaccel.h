/* For a program or tool that wants to know whether libmpiaccel is in its process, or that marks
 * static variables. Nothing has to include this to be made faster.
 *
 *     if (mpiaccel_version)
 *         printf("libmpiaccel %s\n", mpiaccel_version());
 *
 * The function is weak: the program links and runs without the library, and its address is then
 * NULL. Compile with -fPIE or -fPIC, as compilers mostly do by themselves; otherwise a library that
 * is only preloaded is not seen.
 */
#ifndef MPIACCEL_MPIACCEL_H
#define MPIACCEL_MPIACCEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version, for example "0.2.0". May be called at any time. */
const char *mpiaccel_version(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* A static or global variable marked so lies in memory that the processes of a node share, from
 * MPI_Init on, and windows over it are fast:
 *
 *     MPIACCEL_SHARED static double grid[100][100];
 *     MPIACCEL_SHARED int counters[8] = {1, 2, 3};
 *
 * In C and C++, in executables and shared libraries. It keeps its address and its value. Each
 * process has its own, as ever. Without the library nothing changes. Not for constants and
 * thread-local variables. Like all in a section of a name, it takes its size in the file, zero or
 * not. */
#define MPIACCEL_SHARED __attribute__((section("mpiaccel_shared")))

/* A note by which the library finds the section: where it begins and ends, relative to here. The 16
 * bytes are there so that it exists where nothing is marked. */
__asm__(".pushsection mpiaccel_shared,\"awG\",%progbits,mpiaccel_shared_mark,comdat\n"
        ".balign 16\n"
        ".zero 16\n"
        ".popsection\n"
        ".pushsection .note.mpiaccel,\"a\",%note\n"
        ".balign 4\n"
        ".long 9, 16, 1\n"
        ".asciz \"mpiaccel\"\n"
        ".balign 4\n"
        ".weak __start_mpiaccel_shared\n"
        ".hidden __start_mpiaccel_shared\n"
        ".weak __stop_mpiaccel_shared\n"
        ".hidden __stop_mpiaccel_shared\n"
        ".quad __start_mpiaccel_shared - .\n"
        ".quad __stop_mpiaccel_shared - .\n"
        ".popsection\n");

#endif
