/* The calls that create communicators from all ranks of another one (MPI-4.0, 7.4.2 and 8.5). The
 * host creates them, and the new communicator gets its team from the parent. */
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/handlers.h"

/* Let the host create the communicator `created` between the two steps for its team. `all`: it has
 * all ranks of its parent, in the same order. */
#define FROM_PARENT(all, by_host)                                              \
    ({                                                                         \
        bool inherits = team_before_creation(parent);                          \
        int result = team_forget_freed((by_host), created);                    \
        inherits ? team_after_creation(parent, result, created, all) : result; \
    })

int accel_Comm_dup(MPI_Comm parent, MPI_Comm *created)
{
    return FROM_PARENT(true, host.Comm_dup(parent, created));
}

int accel_Comm_dup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm *created)
{
    return FROM_PARENT(true, host.Comm_dup_with_info(parent, info, created));
}

int accel_Comm_split(MPI_Comm parent, int color, int key, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Comm_split(parent, color, key, created));
}

int accel_Comm_split_type(MPI_Comm parent, int type, int key, MPI_Info info, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Comm_split_type(parent, type, key, info, created));
}

int accel_Comm_create(MPI_Comm parent, MPI_Group group, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Comm_create(parent, group, created));
}

int accel_Cart_create(MPI_Comm parent, int dims, const int sizes[], const int periods[],
                      int reorder, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Cart_create(parent, dims, sizes, periods, reorder, created));
}

int accel_Cart_sub(MPI_Comm parent, const int remain[], MPI_Comm *created)
{
    return FROM_PARENT(false, host.Cart_sub(parent, remain, created));
}

int accel_Graph_create(MPI_Comm parent, int nodes, const int index[], const int edges[],
                       int reorder, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Graph_create(parent, nodes, index, edges, reorder, created));
}

int accel_Dist_graph_create(MPI_Comm parent, int n, const int sources[], const int degrees[],
                            const int destinations[], const int weights[], MPI_Info info,
                            int reorder, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Dist_graph_create(parent, n, sources, degrees, destinations,
                                                     weights, info, reorder, created));
}

int accel_Dist_graph_create_adjacent(MPI_Comm parent, int indegree, const int sources[],
                                     const int source_weights[], int outdegree,
                                     const int destinations[], const int destination_weights[],
                                     MPI_Info info, int reorder, MPI_Comm *created)
{
    return FROM_PARENT(false, host.Dist_graph_create_adjacent(
                                  parent, indegree, sources, source_weights, outdegree,
                                  destinations, destination_weights, info, reorder, created));
}
