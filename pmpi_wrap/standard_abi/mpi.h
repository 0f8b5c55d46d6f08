/* MPI-5's standard ABI (MPI-5.0, chapter 20 and annex A): the part that pmpi_wrap/abi/ uses. MPIs
 * that have it come in a library of its own, libmpi_abi.so, for programs built with mpicc_abi.
 *
 * Written from the standard, so that this library serves the ABI wherever it was built. The test
 * tests/preload/standard_header compares it with the header of the host.
 */
#ifndef MPIACCEL_STANDARD_ABI_H
#define MPIACCEL_STANDARD_ABI_H

#include <stdint.h>

#define MPI_VERSION     5
#define MPI_SUBVERSION  0
#define MPI_ABI_VERSION 1

/* ---- types ---- */

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct MPI_ABI_Win *MPI_Win;

/* ---- predefined handles ---- */

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM     ((MPI_Op)0x21)
#define MPI_MIN     ((MPI_Op)0x22)
#define MPI_MAX     ((MPI_Op)0x23)
#define MPI_PROD    ((MPI_Op)0x24)
#define MPI_BAND    ((MPI_Op)0x28)
#define MPI_BOR     ((MPI_Op)0x29)
#define MPI_BXOR    ((MPI_Op)0x2a)
#define MPI_LAND    ((MPI_Op)0x30)
#define MPI_LOR     ((MPI_Op)0x31)
#define MPI_LXOR    ((MPI_Op)0x32)
#define MPI_MINLOC  ((MPI_Op)0x38)
#define MPI_MAXLOC  ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP   ((MPI_Op)0x3d)

#define MPI_COMM_NULL     ((MPI_Comm)0x100)
#define MPI_COMM_WORLD    ((MPI_Comm)0x101)
#define MPI_COMM_SELF     ((MPI_Comm)0x102)
#define MPI_GROUP_NULL    ((MPI_Group)0x108)
#define MPI_WIN_NULL      ((MPI_Win)0x110)
#define MPI_INFO_NULL     ((MPI_Info)0x130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL  ((MPI_Request)0x180)

#define MPI_DATATYPE_NULL           ((MPI_Datatype)0x200)
#define MPI_AINT                    ((MPI_Datatype)0x201)
#define MPI_COUNT                   ((MPI_Datatype)0x202)
#define MPI_OFFSET                  ((MPI_Datatype)0x203)
#define MPI_PACKED                  ((MPI_Datatype)0x207)
#define MPI_SHORT                   ((MPI_Datatype)0x208)
#define MPI_INT                     ((MPI_Datatype)0x209)
#define MPI_LONG                    ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG_INT           ((MPI_Datatype)0x20b)
#define MPI_UNSIGNED_SHORT          ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED                ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG           ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG      ((MPI_Datatype)0x20f)
#define MPI_FLOAT                   ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX         ((MPI_Datatype)0x212)
#define MPI_CXX_FLOAT_COMPLEX       ((MPI_Datatype)0x213)
#define MPI_DOUBLE                  ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX        ((MPI_Datatype)0x216)
#define MPI_CXX_DOUBLE_COMPLEX      ((MPI_Datatype)0x217)
#define MPI_LOGICAL                 ((MPI_Datatype)0x218)
#define MPI_INTEGER                 ((MPI_Datatype)0x219)
#define MPI_REAL                    ((MPI_Datatype)0x21a)
#define MPI_COMPLEX                 ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION        ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX          ((MPI_Datatype)0x21d)
#define MPI_CHARACTER               ((MPI_Datatype)0x21e)
#define MPI_LONG_DOUBLE             ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX   ((MPI_Datatype)0x224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT               ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT              ((MPI_Datatype)0x229)
#define MPI_LONG_INT                ((MPI_Datatype)0x22a)
#define MPI_2INT                    ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT               ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT         ((MPI_Datatype)0x22d)
#define MPI_2REAL                   ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION       ((MPI_Datatype)0x231)
#define MPI_2INTEGER                ((MPI_Datatype)0x232)
#define MPI_C_BOOL                  ((MPI_Datatype)0x238)
#define MPI_CXX_BOOL                ((MPI_Datatype)0x239)
#define MPI_WCHAR                   ((MPI_Datatype)0x23c)
#define MPI_INT8_T                  ((MPI_Datatype)0x240)
#define MPI_UINT8_T                 ((MPI_Datatype)0x241)
#define MPI_CHAR                    ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR             ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR           ((MPI_Datatype)0x245)
#define MPI_BYTE                    ((MPI_Datatype)0x247)
#define MPI_INT16_T                 ((MPI_Datatype)0x248)
#define MPI_UINT16_T                ((MPI_Datatype)0x249)
#define MPI_INT32_T                 ((MPI_Datatype)0x250)
#define MPI_UINT32_T                ((MPI_Datatype)0x251)
#define MPI_INT64_T                 ((MPI_Datatype)0x258)
#define MPI_UINT64_T                ((MPI_Datatype)0x259)
#define MPI_LOGICAL1                ((MPI_Datatype)0x2c0)
#define MPI_INTEGER1                ((MPI_Datatype)0x2c1)
#define MPI_LOGICAL2                ((MPI_Datatype)0x2c8)
#define MPI_INTEGER2                ((MPI_Datatype)0x2c9)
#define MPI_LOGICAL4                ((MPI_Datatype)0x2d0)
#define MPI_INTEGER4                ((MPI_Datatype)0x2d1)
#define MPI_REAL4                   ((MPI_Datatype)0x2d2)
#define MPI_LOGICAL8                ((MPI_Datatype)0x2d8)
#define MPI_INTEGER8                ((MPI_Datatype)0x2d9)
#define MPI_REAL8                   ((MPI_Datatype)0x2da)
#define MPI_COMPLEX8                ((MPI_Datatype)0x2db)
#define MPI_REAL16                  ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX16               ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32               ((MPI_Datatype)0x2eb)

/* ---- constants ---- */

#define MPI_IN_PLACE         ((void *)1)
#define MPI_BUFFER_AUTOMATIC ((void *)2)
#define MPI_STATUS_IGNORE    ((MPI_Status *)0)

#define MPI_PROC_NULL (-3)
#define MPI_ROOT      (-4)
#define MPI_UNDEFINED (-32766)

#define MPI_CART           211
#define MPI_GRAPH          212
#define MPI_DIST_GRAPH     213
#define MPI_BSEND_OVERHEAD 512
#define MPI_MAX_INFO_VAL   1024
#define MPI_MAX_PORT_NAME  1024
#define MPI_TAG_UB         501
#define MPI_UNEQUAL        204

#define MPI_SUCCESS       0
#define MPI_ERR_BUFFER    1
#define MPI_ERR_COUNT     2
#define MPI_ERR_TYPE      3
#define MPI_ERR_COMM      5
#define MPI_ERR_RANK      6
#define MPI_ERR_ROOT      8
#define MPI_ERR_GROUP     9
#define MPI_ERR_OP        10
#define MPI_ERR_ARG       13
#define MPI_ERR_TRUNCATE  15
#define MPI_ERR_OTHER     16
#define MPI_ERR_ASSERT    22
#define MPI_ERR_BASE      24
#define MPI_ERR_DISP      26
#define MPI_ERR_LOCKTYPE  37
#define MPI_ERR_NO_MEM    39
#define MPI_ERR_RMA_RANGE 48
#define MPI_ERR_RMA_SYNC  50

#define MPI_THREAD_SINGLE     0
#define MPI_THREAD_FUNNELED   1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE   4096

#define MPI_MODE_NOCHECK   1024
#define MPI_MODE_NOPRECEDE 2048
#define MPI_MODE_NOPUT     4096
#define MPI_MODE_NOSTORE   8192
#define MPI_MODE_NOSUCCEED 16384

#define MPI_LOCK_EXCLUSIVE      301
#define MPI_LOCK_SHARED         302
#define MPI_WIN_FLAVOR_CREATE   311
#define MPI_WIN_FLAVOR_ALLOCATE 312
#define MPI_WIN_FLAVOR_DYNAMIC  313
#define MPI_WIN_FLAVOR_SHARED   314
#define MPI_WIN_UNIFIED         321
#define MPI_WIN_BASE            601
#define MPI_WIN_DISP_UNIT       602
#define MPI_WIN_SIZE            603
#define MPI_WIN_CREATE_FLAVOR   604
#define MPI_WIN_MODEL           605

#define MPI_ORDER_FORTRAN           15
#define MPI_DISTRIBUTE_NONE         16
#define MPI_DISTRIBUTE_BLOCK        17
#define MPI_DISTRIBUTE_DFLT_DARG    19
#define MPI_COMBINER_NAMED          101
#define MPI_COMBINER_DUP            102
#define MPI_COMBINER_CONTIGUOUS     103
#define MPI_COMBINER_VECTOR         104
#define MPI_COMBINER_HVECTOR        105
#define MPI_COMBINER_INDEXED        106
#define MPI_COMBINER_HINDEXED       107
#define MPI_COMBINER_INDEXED_BLOCK  108
#define MPI_COMBINER_HINDEXED_BLOCK 109
#define MPI_COMBINER_STRUCT         110
#define MPI_COMBINER_SUBARRAY       111
#define MPI_COMBINER_DARRAY         112
#define MPI_COMBINER_F90_REAL       113
#define MPI_COMBINER_F90_COMPLEX    114
#define MPI_COMBINER_F90_INTEGER    115
#define MPI_COMBINER_RESIZED        116

/* ---- functions ---- */

/* The calls with counts, which exist twice: MPI_Put and MPI_Put_c. */
#define MPIACCEL_CALLS_WITH_COUNTS(_c, COUNT, DISPLACEMENT)                                        \
    int PMPI_Win_create##_c(void *, MPI_Aint, DISPLACEMENT, MPI_Info, MPI_Comm, MPI_Win *);        \
    int PMPI_Win_allocate##_c(MPI_Aint, DISPLACEMENT, MPI_Info, MPI_Comm, void *, MPI_Win *);      \
    int PMPI_Win_allocate_shared##_c(MPI_Aint, DISPLACEMENT, MPI_Info, MPI_Comm, void *,           \
                                     MPI_Win *);                                                   \
    int PMPI_Win_shared_query##_c(MPI_Win, int, MPI_Aint *, DISPLACEMENT *, void *);               \
                                                                                                   \
    int PMPI_Put##_c(const void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT, MPI_Datatype,        \
                     MPI_Win);                                                                     \
    int PMPI_Get##_c(void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT, MPI_Datatype, MPI_Win);    \
    int PMPI_Accumulate##_c(const void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT, MPI_Datatype, \
                            MPI_Op, MPI_Win);                                                      \
    int PMPI_Get_accumulate##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype,    \
                                int, MPI_Aint, COUNT, MPI_Datatype, MPI_Op, MPI_Win);              \
    int PMPI_Rput##_c(const void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT, MPI_Datatype,       \
                      MPI_Win, MPI_Request *);                                                     \
    int PMPI_Rget##_c(void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT, MPI_Datatype, MPI_Win,    \
                      MPI_Request *);                                                              \
    int PMPI_Raccumulate##_c(const void *, COUNT, MPI_Datatype, int, MPI_Aint, COUNT,              \
                             MPI_Datatype, MPI_Op, MPI_Win, MPI_Request *);                        \
    int PMPI_Rget_accumulate##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype,   \
                                 int, MPI_Aint, COUNT, MPI_Datatype, MPI_Op, MPI_Win,              \
                                 MPI_Request *);                                                   \
                                                                                                   \
    int PMPI_Buffer_attach##_c(void *, COUNT);                                                     \
    int PMPI_Buffer_detach##_c(void *, COUNT *);                                                   \
    int PMPI_Comm_attach_buffer##_c(MPI_Comm, void *, COUNT);                                      \
    int PMPI_Session_attach_buffer##_c(MPI_Session, void *, COUNT);                                \
    int PMPI_Bsend##_c(const void *, COUNT, MPI_Datatype, int, int, MPI_Comm);                     \
    int PMPI_Ibsend##_c(const void *, COUNT, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);     \
    int PMPI_Bsend_init##_c(const void *, COUNT, MPI_Datatype, int, int, MPI_Comm, MPI_Request *); \
                                                                                                   \
    int PMPI_Bcast##_c(void *, COUNT, MPI_Datatype, int, MPI_Comm);                                \
    int PMPI_Gather##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype, int,       \
                        MPI_Comm);                                                                 \
    int PMPI_Gatherv##_c(const void *, COUNT, MPI_Datatype, void *, const COUNT[],                 \
                         const DISPLACEMENT[], MPI_Datatype, int, MPI_Comm);                       \
    int PMPI_Scatter##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype, int,      \
                         MPI_Comm);                                                                \
    int PMPI_Scatterv##_c(const void *, const COUNT[], const DISPLACEMENT[], MPI_Datatype, void *, \
                          COUNT, MPI_Datatype, int, MPI_Comm);                                     \
    int PMPI_Allgather##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype,         \
                           MPI_Comm);                                                              \
    int PMPI_Allgatherv##_c(const void *, COUNT, MPI_Datatype, void *, const COUNT[],              \
                            const DISPLACEMENT[], MPI_Datatype, MPI_Comm);                         \
    int PMPI_Alltoall##_c(const void *, COUNT, MPI_Datatype, void *, COUNT, MPI_Datatype,          \
                          MPI_Comm);                                                               \
    int PMPI_Alltoallv##_c(const void *, const COUNT[], const DISPLACEMENT[], MPI_Datatype,        \
                           void *, const COUNT[], const DISPLACEMENT[], MPI_Datatype, MPI_Comm);   \
    int PMPI_Alltoallw##_c(const void *, const COUNT[], const DISPLACEMENT[],                      \
                           const MPI_Datatype[], void *, const COUNT[], const DISPLACEMENT[],      \
                           const MPI_Datatype[], MPI_Comm);                                        \
    int PMPI_Reduce##_c(const void *, void *, COUNT, MPI_Datatype, MPI_Op, int, MPI_Comm);         \
    int PMPI_Allreduce##_c(const void *, void *, COUNT, MPI_Datatype, MPI_Op, MPI_Comm);           \
    int PMPI_Reduce_scatter##_c(const void *, void *, const COUNT[], MPI_Datatype, MPI_Op,         \
                                MPI_Comm);                                                         \
    int PMPI_Reduce_scatter_block##_c(const void *, void *, COUNT, MPI_Datatype, MPI_Op,           \
                                      MPI_Comm);                                                   \
    int PMPI_Scan##_c(const void *, void *, COUNT, MPI_Datatype, MPI_Op, MPI_Comm);                \
    int PMPI_Exscan##_c(const void *, void *, COUNT, MPI_Datatype, MPI_Op, MPI_Comm);

MPIACCEL_CALLS_WITH_COUNTS(, int, int)
MPIACCEL_CALLS_WITH_COUNTS(_c, MPI_Count, MPI_Aint)

int PMPI_Init(int *, char ***);
int PMPI_Init_thread(int *, char ***, int, int *);
int PMPI_Initialized(int *);
int PMPI_Finalize(void);
int PMPI_Finalized(int *);
int PMPI_Query_thread(int *);
int PMPI_Get_version(int *, int *);
int PMPI_Abort(MPI_Comm, int);
int PMPI_Error_class(int, int *);
int PMPI_Info_get(MPI_Info, const char *, int, char *, int *);
int PMPI_Alloc_mem(MPI_Aint, MPI_Info, void *);
int PMPI_Free_mem(void *);

int PMPI_Comm_call_errhandler(MPI_Comm, int);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef int MPI_Type_copy_attr_function(MPI_Datatype, int, void *, void *, void *, int *);
typedef int MPI_Type_delete_attr_function(MPI_Datatype, int, void *, void *);
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void *, void *, void *, int *);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void *, void *);

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *, MPI_Comm_delete_attr_function *, int *,
                            void *);
int PMPI_Comm_disconnect(MPI_Comm *);
int PMPI_Comm_free(MPI_Comm *);
int PMPI_Comm_free_keyval(int *);
int PMPI_Comm_get_attr(MPI_Comm, int, void *, int *);
int PMPI_Comm_get_errhandler(MPI_Comm, MPI_Errhandler *);
int PMPI_Errhandler_free(MPI_Errhandler *);
int PMPI_Lookup_name(const char *, MPI_Info, char *);
int PMPI_Publish_name(const char *, MPI_Info, const char *);
int PMPI_Unpublish_name(const char *, MPI_Info, const char *);
int PMPI_Comm_get_parent(MPI_Comm *);
int PMPI_Comm_group(MPI_Comm, MPI_Group *);
int PMPI_Comm_rank(MPI_Comm, int *);
int PMPI_Comm_remote_group(MPI_Comm, MPI_Group *);
int PMPI_Comm_remote_size(MPI_Comm, int *);
int PMPI_Comm_set_attr(MPI_Comm, int, void *);
int PMPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
int PMPI_Comm_size(MPI_Comm, int *);
int PMPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm *);
int PMPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm *);
int PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int PMPI_Comm_idup(MPI_Comm, MPI_Comm *, MPI_Request *);
int PMPI_Comm_idup_with_info(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
int PMPI_Comm_spawn(const char *, char *[], int, MPI_Info, int, MPI_Comm, MPI_Comm *, int[]);
int PMPI_Comm_spawn_multiple(int, char *[], char **[], const int[], const MPI_Info[], int, MPI_Comm,
                             MPI_Comm *, int[]);
int PMPI_Comm_accept(const char *, MPI_Info, int, MPI_Comm, MPI_Comm *);
int PMPI_Comm_connect(const char *, MPI_Info, int, MPI_Comm, MPI_Comm *);
int PMPI_Comm_join(int, MPI_Comm *);
int PMPI_Intercomm_create(MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *);
int PMPI_Intercomm_merge(MPI_Comm, int, MPI_Comm *);
int PMPI_Comm_dup_with_info(MPI_Comm, MPI_Info, MPI_Comm *);
int PMPI_Comm_split(MPI_Comm, int, int, MPI_Comm *);
int PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int PMPI_Cart_create(MPI_Comm, int, const int[], const int[], int, MPI_Comm *);
int PMPI_Cartdim_get(MPI_Comm, int *);
int PMPI_Cart_sub(MPI_Comm, const int[], MPI_Comm *);
int PMPI_Graph_create(MPI_Comm, int, const int[], const int[], int, MPI_Comm *);
int PMPI_Dist_graph_create(MPI_Comm, int, const int[], const int[], const int[], const int[],
                           MPI_Info, int, MPI_Comm *);
int PMPI_Dist_graph_create_adjacent(MPI_Comm, int, const int[], const int[], int, const int[],
                                    const int[], MPI_Info, int, MPI_Comm *);
int PMPI_Comm_test_inter(MPI_Comm, int *);
int PMPI_Dist_graph_neighbors_count(MPI_Comm, int *, int *, int *);
int PMPI_Graph_neighbors_count(MPI_Comm, int, int *);
int PMPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
int PMPI_Session_finalize(MPI_Session *);
int PMPI_Group_from_session_pset(MPI_Session, const char *, MPI_Group *);
int PMPI_Comm_create_from_group(MPI_Group, const char *, MPI_Info, MPI_Errhandler, MPI_Comm *);
int PMPI_Intercomm_create_from_groups(MPI_Group, int, MPI_Group, int, const char *, MPI_Info,
                                      MPI_Errhandler, MPI_Comm *);
int PMPI_Group_compare(MPI_Group, MPI_Group, int *);
int PMPI_Group_free(MPI_Group *);
int PMPI_Group_rank(MPI_Group, int *);
int PMPI_Group_incl(MPI_Group, int, const int[], MPI_Group *);
int PMPI_Group_size(MPI_Group, int *);
int PMPI_Group_translate_ranks(MPI_Group, int, const int[], MPI_Group, int[]);

int PMPI_Op_commutative(MPI_Op, int *);
int PMPI_Pack_size(int, MPI_Datatype, MPI_Comm, int *);
int PMPI_Type_commit(MPI_Datatype *);
int PMPI_Type_contiguous(int, MPI_Datatype, MPI_Datatype *);
int PMPI_Type_free(MPI_Datatype *);
int PMPI_Type_get_contents(MPI_Datatype, int, int, int, int[], MPI_Aint[], MPI_Datatype[]);
int PMPI_Type_get_contents_c(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[],
                             MPI_Aint[], MPI_Count[], MPI_Datatype[]);
int PMPI_Type_get_envelope(MPI_Datatype, int *, int *, int *, int *);
int PMPI_Type_get_envelope_c(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *,
                             int *);
int PMPI_Type_get_extent(MPI_Datatype, MPI_Aint *, MPI_Aint *);
int PMPI_Type_size(MPI_Datatype, int *);
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *, MPI_Type_delete_attr_function *, int *,
                            void *);
int PMPI_Type_free_keyval(int *);
int PMPI_Type_set_attr(MPI_Datatype, int, void *);

int PMPI_Cancel(MPI_Request *);
int PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int PMPI_Request_free(MPI_Request *);
int PMPI_Request_get_status(MPI_Request, int *, MPI_Status *);
int PMPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
int PMPI_Send_init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int PMPI_Start(MPI_Request *);
int PMPI_Startall(int, MPI_Request[]);
int PMPI_Topo_test(MPI_Comm, int *);
int PMPI_Test(MPI_Request *, int *, MPI_Status *);
int PMPI_Wait(MPI_Request *, MPI_Status *);
int PMPI_Buffer_flush(void);
int PMPI_Buffer_iflush(MPI_Request *);

int PMPI_Barrier(MPI_Comm);
int PMPI_Iallgather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                    MPI_Request *);
int PMPI_Reduce_local(const void *, void *, int, MPI_Datatype, MPI_Op);

int PMPI_Win_call_errhandler(MPI_Win, int);
int PMPI_Win_create_dynamic(MPI_Info, MPI_Comm, MPI_Win *);
int PMPI_Win_attach(MPI_Win, void *, MPI_Aint);
int PMPI_Win_detach(MPI_Win, const void *);
int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *, MPI_Win_delete_attr_function *, int *,
                           void *);
int PMPI_Win_free(MPI_Win *);
int PMPI_Win_free_keyval(int *);
int PMPI_Win_set_attr(MPI_Win, int, void *);
int PMPI_Win_get_errhandler(MPI_Win, MPI_Errhandler *);
int PMPI_Win_set_errhandler(MPI_Win, MPI_Errhandler);
int PMPI_Win_set_info(MPI_Win, MPI_Info);
int PMPI_Win_set_name(MPI_Win, const char *);
int PMPI_Win_get_attr(MPI_Win, int, void *, int *);
int PMPI_Win_get_group(MPI_Win, MPI_Group *);
int PMPI_Win_complete(MPI_Win);
int PMPI_Win_fence(int, MPI_Win);
int PMPI_Win_flush(int, MPI_Win);
int PMPI_Win_flush_all(MPI_Win);
int PMPI_Win_flush_local(int, MPI_Win);
int PMPI_Win_flush_local_all(MPI_Win);
int PMPI_Win_lock(int, int, int, MPI_Win);
int PMPI_Win_lock_all(int, MPI_Win);
int PMPI_Win_post(MPI_Group, int, MPI_Win);
int PMPI_Win_start(MPI_Group, int, MPI_Win);
int PMPI_Win_sync(MPI_Win);
int PMPI_Win_test(MPI_Win, int *);
int PMPI_Win_unlock(int, MPI_Win);
int PMPI_Win_unlock_all(MPI_Win);
int PMPI_Win_wait(MPI_Win);
int PMPI_Fetch_and_op(const void *, void *, MPI_Datatype, int, MPI_Aint, MPI_Op, MPI_Win);
int PMPI_Compare_and_swap(const void *, const void *, void *, MPI_Datatype, int, MPI_Aint, MPI_Win);

#endif
