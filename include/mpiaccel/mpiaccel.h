/* For programs and tools that check whether libmpiaccel is loaded, or that mark static variables.
 * MPI programs do not need this header to be accelerated.
 *
 *     if (mpiaccel_version)
 *         printf("libmpiaccel %s\n", mpiaccel_version());
 *
 * The symbol is weak: the program links and runs without the library, and the address is then NULL.
 * Compile with -fPIE or -fPIC, the default of most compilers; otherwise the linker resolves the
 * address to NULL even if the library is preloaded.
 */
#ifndef MPIACCEL_MPIACCEL_H
#define MPIACCEL_MPIACCEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a string such as "0.2.0". May be called at any time. */
const char *mpiaccel_version(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* Marks a static or global variable. MPI_Init moves it into memory that the processes of a node
 * share, so that windows over it are accelerated:
 *
 *     MPIACCEL_SHARED static double grid[100][100];
 *     MPIACCEL_SHARED int counters[8] = {1, 2, 3};
 *
 * Works in C and C++, in executables and shared libraries. The variable keeps its address and its
 * value, and each process still has its own. Without the library nothing changes. Not for constants
 * and thread-local variables. The variable takes space in the executable file even if it is zero,
 * like any variable in a named section. */
#define MPIACCEL_SHARED __attribute__((section("mpiaccel_shared")))

/* An ELF note that tells the library the start and the end of the section, relative to the note.
 * The 16 bytes make the section exist if no variable is marked. */
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
