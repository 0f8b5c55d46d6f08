/* A window over private memory, which the library leaves to the host. With an argument the program
 * does not end. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Win window;
    MPI_Init(&argc, &argv);
    void *memory = malloc(64);
    MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    while (argc > 1)
        sleep(1);
    MPI_Win_free(&window);
    free(memory);
    MPI_Finalize();
    return 0;
}
