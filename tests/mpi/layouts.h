/* Datatypes of every constructor, all with the same elements in different arrangements. A buffer
 * has LAYOUT_ROOM bytes, and its address is LAYOUT_AT bytes into it, because a datatype's data may
 * lie before the address. */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "test.h"

enum { ELEMENTS = 24, LAYOUT_ROOM = 16384, LAYOUT_AT = 6400, LAYOUTS_MAX = 64 };

struct layout {
    const char *name;
    MPI_Datatype type;
    int count; /* ELEMENTS elements of this type */
};

struct layouts {
    struct layout list[LAYOUTS_MAX];
    int count;
};

/* Takes ownership of the type. */
static inline void layout_add(struct layouts *all, const char *name, MPI_Datatype type, int count)
{
    MPI_Type_commit(&type);
    all->list[all->count++] = (struct layout){name, type, count};
}

static inline void layouts_free(struct layouts *all)
{
    for (int i = 0; i < all->count; i++)
        MPI_Type_free(&all->list[i].type);
    all->count = 0;
}

static inline MPI_Datatype with_extent(MPI_Datatype type, MPI_Aint low, MPI_Aint extent)
{
    MPI_Datatype resized;
    MPI_Type_create_resized(type, low, extent, &resized);
    MPI_Type_free(&type);
    return resized;
}

static inline void add_vectors(struct layouts *all, MPI_Datatype element, MPI_Aint extent)
{
    MPI_Datatype t, u;
    MPI_Type_contiguous(ELEMENTS, element, &t);
    layout_add(all, "contiguous", t, 1);
    MPI_Type_contiguous(6, element, &t);
    layout_add(all, "contiguous, several", t, 4);
    MPI_Type_dup(element, &t);
    layout_add(all, "dup", t, ELEMENTS);
    MPI_Type_vector(8, 3, 5, element, &t);
    layout_add(all, "vector", t, 1);
    MPI_Type_vector(2, 3, 4, element, &t);
    layout_add(all, "vector, several", t, 4);
    MPI_Type_vector(3, 8, -9, element, &t);
    layout_add(all, "vector backwards", t, 1);
    MPI_Type_vector(3, 4, -5, element, &t);
    layout_add(all, "vectors backwards", with_extent(t, 0, 14 * extent), 2);
    MPI_Type_create_hvector(12, 2, 3 * extent + 1, element, &t);
    layout_add(all, "hvector of odd stride", t, 1);
    MPI_Type_create_hvector(24, 1, -2 * extent - 3, element, &t);
    layout_add(all, "hvector backwards", t, 1);
    MPI_Type_vector(2, 3, 4, element, &u);
    MPI_Type_create_hvector(2, 2, 20 * extent, u, &t);
    MPI_Type_free(&u);
    layout_add(all, "hvector of vectors", t, 1);
}

static inline void add_indexed(struct layouts *all, MPI_Datatype element, MPI_Aint extent)
{
    MPI_Datatype t;
    int lengths[] = {5, 0, 1, 10, 8}, displs[] = {40, 7, 3, 20, -9};
    MPI_Aint bytes[5];
    for (int i = 0; i < 5; i++)
        bytes[i] = displs[i] * extent + i;
    MPI_Type_indexed(5, lengths, displs, element, &t);
    layout_add(all, "indexed", t, 1);
    MPI_Type_create_hindexed(5, lengths, bytes, element, &t);
    layout_add(all, "hindexed", t, 1);
    int starts[] = {0, 6, 11, 31, 17, 23};
    MPI_Aint start_bytes[6];
    for (int i = 0; i < 6; i++)
        start_bytes[i] = starts[i] * (extent + 1);
    MPI_Type_create_indexed_block(6, 4, starts, element, &t);
    layout_add(all, "indexed_block", t, 1);
    MPI_Type_create_indexed_block(3, 4, starts, element, &t);
    layout_add(all, "indexed_block, several", with_extent(t, -extent, 17 * extent), 2);
    MPI_Type_create_hindexed_block(6, 4, start_bytes, element, &t);
    layout_add(all, "hindexed_block", t, 1);
}

static inline void add_structs(struct layouts *all, MPI_Datatype element, MPI_Aint extent)
{
    MPI_Datatype t, u, row, pieces[3];
    MPI_Type_vector(3, 2, 3, element, &row);
    MPI_Type_contiguous(5, element, &u);
    pieces[0] = element, pieces[1] = row, pieces[2] = u;
    int lengths[] = {7, 2, 1};
    MPI_Aint displs[] = {30 * extent, 0, -7 * extent - 1};
    MPI_Type_create_struct(3, lengths, displs, pieces, &t);
    layout_add(all, "struct", t, 1);
    int two[] = {0, 3};
    MPI_Type_create_indexed_block(2, 1, two, row, &t);
    layout_add(all, "indexed_block of vectors", with_extent(t, 0, 40 * extent), 2);
    MPI_Type_dup(row, &t);
    layout_add(all, "dup of vector", t, 4);
    MPI_Type_free(&row);
    MPI_Type_free(&u);
    MPI_Type_contiguous(3, element, &t);
    layout_add(all, "resized: a hole behind", with_extent(t, 0, 4 * extent + 1), 8);
    MPI_Type_contiguous(2, element, &t);
    layout_add(all, "resized: holes around", with_extent(t, -extent, 5 * extent), 12);
    MPI_Type_dup(element, &t);
    layout_add(all, "resized: one of two", with_extent(t, 0, 2 * extent), ELEMENTS);
    MPI_Type_vector(4, 1, 6, element, &t); /* columns of a matrix, side by side */
    layout_add(all, "resized: columns", with_extent(t, 0, extent), 6);
}

static inline void add_arrays(struct layouts *all, MPI_Datatype element)
{
    MPI_Datatype t, u;
    int sizes[] = {5, 4, 6}, parts[] = {3, 2, 4}, starts[] = {1, 2, 1};
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, element, &t);
    layout_add(all, "subarray", t, 1);
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, element, &t);
    layout_add(all, "subarray, Fortran's order", t, 1);
    int flat_sizes[] = {4, 5}, flat_parts[] = {3, 2}, flat_starts[] = {1, 3};
    MPI_Type_create_subarray(2, flat_sizes, flat_parts, flat_starts, MPI_ORDER_C, element, &t);
    layout_add(all, "subarrays", t, 4);
    int all_of_it[] = {0, 0};
    MPI_Type_create_subarray(2, flat_parts, flat_parts, all_of_it, MPI_ORDER_FORTRAN, element, &t);
    layout_add(all, "subarray that is all", t, 4);
    /* Of 12 x 8 elements, process 1 of a 2 x 2 grid has every second pair of rows, and half of each
     * row. */
    int whole[] = {12, 8}, grid[] = {2, 2}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
        arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(4, 1, 2, whole, kinds, arguments, grid, MPI_ORDER_C, element, &t);
    layout_add(all, "darray", t, 1);
    MPI_Type_create_darray(4, 2, 2, whole, kinds, arguments, grid, MPI_ORDER_FORTRAN, element, &t);
    layout_add(all, "darray, Fortran's order", t, 1);
    /* The last process of an uneven distribution: elements 8, 9 and 10 of 11. */
    int line[] = {11}, three[] = {3}, cyclic[] = {MPI_DISTRIBUTE_BLOCK}, four[] = {4};
    MPI_Type_create_darray(3, 2, 1, line, cyclic, four, three, MPI_ORDER_C, element, &t);
    layout_add(all, "darray, uneven", t, 8);
    int none[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC}, small[] = {3, 7}, ones[] = {1, 2},
        standard[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(2, 0, 2, small, none, standard, ones, MPI_ORDER_C, element, &t);
    layout_add(all, "darray, one dimension whole", t, 2);
    MPI_Type_create_subarray(2, flat_sizes, flat_parts, flat_starts, MPI_ORDER_C, element, &u);
    MPI_Type_vector(2, 2, 3, u, &t);
    MPI_Type_free(&u);
    layout_add(all, "vector of subarrays", t, 1);
}

#if MPI_VERSION >= 4
static inline void add_large_counts(struct layouts *all, MPI_Datatype element, MPI_Aint extent)
{
    MPI_Datatype t;
    MPI_Type_contiguous_c(12, element, &t);
    layout_add(all, "contiguous_c", t, 2);
    MPI_Type_vector_c(6, 4, 5, element, &t);
    layout_add(all, "vector_c", t, 1);
    MPI_Type_create_hvector_c(6, 4, 4 * extent + 2, element, &t);
    layout_add(all, "hvector_c", t, 1);
    MPI_Count lengths[] = {5, 0, 1, 10, 8}, displs[] = {40, 7, 3, 20, -9}, bytes[5];
    for (int i = 0; i < 5; i++)
        bytes[i] = displs[i] * extent + i;
    MPI_Type_indexed_c(5, lengths, displs, element, &t);
    layout_add(all, "indexed_c", t, 1);
    MPI_Type_create_hindexed_c(5, lengths, bytes, element, &t);
    layout_add(all, "hindexed_c", t, 1);
    MPI_Count starts[] = {0, 6, 11, 31, 17, 23}, start_bytes[6];
    for (int i = 0; i < 6; i++)
        start_bytes[i] = starts[i] * (extent + 1);
    MPI_Type_create_indexed_block_c(6, 4, starts, element, &t);
    layout_add(all, "indexed_block_c", t, 1);
    MPI_Type_create_hindexed_block_c(6, 4, start_bytes, element, &t);
    layout_add(all, "hindexed_block_c", t, 1);
    MPI_Datatype pair[] = {element, element};
    MPI_Count pair_lengths[] = {20, 4}, pair_places[] = {6 * extent, 0};
    MPI_Type_create_struct_c(2, pair_lengths, pair_places, pair, &t);
    layout_add(all, "struct_c", t, 1);
    MPI_Count sizes[] = {5, 4, 6}, parts[] = {3, 2, 4}, firsts[] = {1, 2, 1};
    MPI_Type_create_subarray_c(3, sizes, parts, firsts, MPI_ORDER_C, element, &t);
    layout_add(all, "subarray_c", t, 1);
    MPI_Count whole[] = {12, 8};
    int grid[] = {2, 2}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
        arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray_c(4, 1, 2, whole, kinds, arguments, grid, MPI_ORDER_FORTRAN, element,
                             &t);
    layout_add(all, "darray_c", t, 1);
    MPI_Datatype u;
    MPI_Type_contiguous(2, element, &u);
    MPI_Type_create_resized_c(u, -extent, 5 * extent, &t);
    MPI_Type_free(&u);
    layout_add(all, "resized_c", t, 12);
}
#endif

static inline void layouts_make(struct layouts *all, MPI_Datatype element)
{
    MPI_Aint low, extent;
    all->count = 0;
    MPI_Type_get_extent(element, &low, &extent);
    add_vectors(all, element, extent);
    add_indexed(all, element, extent);
    add_structs(all, element, extent);
    add_arrays(all, element);
#if MPI_VERSION >= 4
    add_large_counts(all, element, extent);
#endif
}

#endif
