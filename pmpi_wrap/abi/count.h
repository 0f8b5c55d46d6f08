/* MPI calls with counts exist twice: MPI_Put with int, and since MPI-4.0 MPI_Put_c with MPI_Count.
 *
 * Each file that implements such calls is compiled twice: by itself for int, and included by
 * large_count.c for MPI_Count. SUFFIXED(accel_Put) is accel_Put in the first case and accel_Put_c
 * in the second. Such a file has no variables. Calls without counts are in it inside
 * "#ifndef LARGE_COUNT".
 */
#ifdef LARGE_COUNT
#define COUNT          MPI_Count
#define DISPLACEMENT   MPI_Aint /* also the unit of a window's displacements */
#define IS_LARGE       true
#define SUFFIXED(name) name##_c
#else
#define COUNT          int
#define DISPLACEMENT   int
#define IS_LARGE       false
#define SUFFIXED(name) name
#endif
