/* Calls of MPI-4.0 and 4.1 that older headers lack: the library is built with the headers of one
 * release, and serves newer releases of the same ABI, which have these calls. The host is asked for
 * them when it is bound; for a host without them see narrowed.h.
 *
 * host_api.h includes this file, behind the host's header.
 */
#ifndef MPIACCEL_NEWER_CALLS_H
#define MPIACCEL_NEWER_CALLS_H

/* The headers of Open MPI 5.0 declare these, although MPI_VERSION is 3. */
#if MPI_VERSION < 4 && !defined MPI_SESSION_NULL
typedef struct mpiaccel_session *MPI_Session; /* in Open MPI, the only ABI with such headers */

int PMPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session);
int PMPI_Session_finalize(MPI_Session *session);
int PMPI_Group_from_session_pset(MPI_Session session, const char *set, MPI_Group *group);
int PMPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info,
                                MPI_Errhandler handler, MPI_Comm *comm);
int PMPI_Intercomm_create_from_groups(MPI_Group local, int local_leader, MPI_Group remote,
                                      int remote_leader, const char *tag, MPI_Info info,
                                      MPI_Errhandler handler, MPI_Comm *comm);
#endif

#if MPI_VERSION < 4
int PMPI_Comm_idup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm *created,
                             MPI_Request *request);
int PMPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                      MPI_Win *win);
int PMPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                        void *baseptr, MPI_Win *win);
int PMPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                               void *baseptr, MPI_Win *win);
int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                            void *baseptr);

int PMPI_Put_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
               MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
               MPI_Win win);
int PMPI_Get_c(void *origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
               MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
               MPI_Win win);
int PMPI_Accumulate_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type,
                      int target, MPI_Aint displacement, MPI_Count target_count,
                      MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int PMPI_Get_accumulate_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type,
                          void *result, MPI_Count result_count, MPI_Datatype result_type,
                          int target, MPI_Aint displacement, MPI_Count target_count,
                          MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int PMPI_Rput_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
                MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
                MPI_Win win, MPI_Request *request);
int PMPI_Rget_c(void *origin, MPI_Count origin_count, MPI_Datatype origin_type, int target,
                MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
                MPI_Win win, MPI_Request *request);
int PMPI_Raccumulate_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type,
                       int target, MPI_Aint displacement, MPI_Count target_count,
                       MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request *request);
int PMPI_Rget_accumulate_c(const void *origin, MPI_Count origin_count, MPI_Datatype origin_type,
                           void *result, MPI_Count result_count, MPI_Datatype result_type,
                           int target, MPI_Aint displacement, MPI_Count target_count,
                           MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request *request);

int PMPI_Buffer_attach_c(void *buffer, MPI_Count size);
int PMPI_Buffer_detach_c(void *buffer, MPI_Count *size);
int PMPI_Bsend_c(const void *data, MPI_Count count, MPI_Datatype type, int target, int tag,
                 MPI_Comm comm);
int PMPI_Ibsend_c(const void *data, MPI_Count count, MPI_Datatype type, int target, int tag,
                  MPI_Comm comm, MPI_Request *request);
int PMPI_Bsend_init_c(const void *data, MPI_Count count, MPI_Datatype type, int target, int tag,
                      MPI_Comm comm, MPI_Request *request);

int PMPI_Bcast_c(void *data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
int PMPI_Gather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int PMPI_Gatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                   const MPI_Count receive_counts[], const MPI_Aint displacements[],
                   MPI_Datatype receive_type, int root, MPI_Comm comm);
int PMPI_Scatter_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                   MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm);
int PMPI_Scatterv_c(const void *send, const MPI_Count send_counts[], const MPI_Aint displacements[],
                    MPI_Datatype send_type, void *receive, MPI_Count receive_count,
                    MPI_Datatype receive_type, int root, MPI_Comm comm);
int PMPI_Allgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int PMPI_Allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                      const MPI_Count receive_counts[], const MPI_Aint displacements[],
                      MPI_Datatype receive_type, MPI_Comm comm);
int PMPI_Alltoall_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                    MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm);
int PMPI_Alltoallv_c(const void *send, const MPI_Count send_counts[],
                     const MPI_Aint send_displacements[], MPI_Datatype send_type, void *receive,
                     const MPI_Count receive_counts[], const MPI_Aint receive_displacements[],
                     MPI_Datatype receive_type, MPI_Comm comm);
int PMPI_Alltoallw_c(const void *send, const MPI_Count send_counts[],
                     const MPI_Aint send_displacements[], const MPI_Datatype send_types[],
                     void *receive, const MPI_Count receive_counts[],
                     const MPI_Aint receive_displacements[], const MPI_Datatype receive_types[],
                     MPI_Comm comm);
int PMPI_Reduce_c(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm comm);
int PMPI_Allreduce_c(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm);
int PMPI_Reduce_scatter_c(const void *send, void *receive, const MPI_Count receive_counts[],
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int PMPI_Reduce_scatter_block_c(const void *send, void *receive, MPI_Count receive_count,
                                MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int PMPI_Scan_c(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm);
int PMPI_Exscan_c(const void *send, void *receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);

int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count *integer_count, MPI_Count *address_count,
                             MPI_Count *large_count, MPI_Count *type_count, int *combiner);
int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count integer_count, MPI_Count address_count,
                             MPI_Count large_count, MPI_Count type_count, int integers[],
                             MPI_Aint addresses[], MPI_Count large[], MPI_Datatype types[]);
#endif

#if MPI_VERSION * 10 + MPI_SUBVERSION < 41
#if defined(OPEN_MPI)
#define MPI_BUFFER_AUTOMATIC ((void *)4) /* Open MPI 6.0 */
#else
#define MPI_BUFFER_AUTOMATIC ((void *)-2) /* MPICH 4.2 to 5.0 */
#endif
int PMPI_Buffer_flush(void);
int PMPI_Buffer_iflush(MPI_Request *request);
int PMPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size);
int PMPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size);
int PMPI_Session_attach_buffer(MPI_Session session, void *buffer, int size);
int PMPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size);
#endif

#endif
