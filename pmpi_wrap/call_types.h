/* The arguments of an MPI call that has n of them, as integers of the size of a register: TYPES_n
 * is a list of parameters, NAMES_n one of arguments. */
#ifndef MPIACCEL_CALL_TYPES_H
#define MPIACCEL_CALL_TYPES_H

#define TYPES_0  void
#define TYPES_1  long a
#define TYPES_2  TYPES_1, long b
#define TYPES_3  TYPES_2, long c
#define TYPES_4  TYPES_3, long d
#define TYPES_5  TYPES_4, long e
#define TYPES_6  TYPES_5, long f
#define TYPES_7  TYPES_6, long g
#define TYPES_8  TYPES_7, long h
#define TYPES_9  TYPES_8, long i
#define TYPES_10 TYPES_9, long j
#define TYPES_11 TYPES_10, long k
#define TYPES_12 TYPES_11, long l
#define TYPES_13 TYPES_12, long m
#define NAMES_0
#define NAMES_1  a
#define NAMES_2  NAMES_1, b
#define NAMES_3  NAMES_2, c
#define NAMES_4  NAMES_3, d
#define NAMES_5  NAMES_4, e
#define NAMES_6  NAMES_5, f
#define NAMES_7  NAMES_6, g
#define NAMES_8  NAMES_7, h
#define NAMES_9  NAMES_8, i
#define NAMES_10 NAMES_9, j
#define NAMES_11 NAMES_10, k
#define NAMES_12 NAMES_11, l
#define NAMES_13 NAMES_12, m

#endif
