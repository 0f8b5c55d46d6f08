/* For a program or tool that wants to know whether libmpiaccel is in its process. Nothing has to
 * include this to be made faster.
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

/* "0.1.0". May be called at any time. */
const char *mpiaccel_version(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
