/* k-means, as a user would write it: rank 0 scatters the points, and in each iteration the sums of
 * all clusters go through MPI_Allreduce, in place. The result depends on the start, so there are
 * many starts, of which the best is kept.
 *
 * Points have integer coordinates, so that their sums are exact and independent of the order of
 * addition.
 *
 *  usage: kmeans [points] [clusters] [starts]
 */
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 8, MOST_ITERATIONS = 100 };

static int rank, size, points, clusters;
static int mine, *counts,
    *places;                   /* points of this rank; of each rank, and the number of its first */
static double *all_points;     /* on rank 0 */
static double *point, *centre; /* DIMENSIONS each */
static double *sum; /* per cluster: the sum of DIMENSIONS coordinates, the number of points */
static int *label;  /* the cluster of each point of this rank */

static unsigned scramble(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x7feb352d;
    x = (x ^ (x >> 15)) * 0x846ca68b;
    return x ^ (x >> 16);
}

/* The points form clusters, which overlap. */
static void make_points(void)
{
    all_points = malloc(sizeof *all_points * (size_t)(points * DIMENSIONS));
    for (unsigned p = 0; p < (unsigned)points; p++) {
        unsigned heap = scramble(p) % (unsigned)clusters;
        for (unsigned d = 0; d < DIMENSIONS; d++)
            all_points[p * DIMENSIONS + d] =
                (double)(scramble(heap * DIMENSIONS + d + 12345) % 10000 +
                         scramble(p * DIMENSIONS + d) % 10000);
    }
}

static void share_points(void)
{
    MPI_Datatype coordinates;
    counts = malloc(sizeof *counts * (size_t)size);
    places = malloc(sizeof *places * (size_t)size);
    for (int r = 0; r < size; r++) {
        places[r] = (int)((long)points * r / size);
        counts[r] = (int)((long)points * (r + 1) / size) - places[r];
    }
    mine = counts[rank];
    point = malloc(sizeof *point * (size_t)(mine * DIMENSIONS));
    label = malloc(sizeof *label * (size_t)mine);
    MPI_Type_contiguous(DIMENSIONS, MPI_DOUBLE, &coordinates);
    MPI_Type_commit(&coordinates);
    MPI_Scatterv(all_points, counts, places, coordinates, point, mine, coordinates, 0,
                 MPI_COMM_WORLD);
    MPI_Type_free(&coordinates);
}

static double distance(const double *a, const double *b)
{
    double square = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]);
    return square;
}

/* Assign each point to the nearest centre; returns how many changed. */
static long assign(void)
{
    long changed = 0;
    for (int p = 0; p < mine; p++) {
        int best = 0;
        double least = distance(&point[p * DIMENSIONS], centre);
        for (int c = 1; c < clusters; c++) {
            double d = distance(&point[p * DIMENSIONS], &centre[c * DIMENSIONS]);
            if (d < least) {
                least = d;
                best = c;
            }
        }
        changed += label[p] != best;
        label[p] = best;
    }
    return changed;
}

static void move_centres(void)
{
    const int width = DIMENSIONS + 1;
    memset(sum, 0, sizeof *sum * (size_t)(clusters * width));
    for (int p = 0; p < mine; p++) {
        double *s = &sum[label[p] * width];
        for (int d = 0; d < DIMENSIONS; d++)
            s[d] += point[p * DIMENSIONS + d];
        s[DIMENSIONS]++;
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, clusters * width, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0; c < clusters; c++) {
        double *s = &sum[c * width];
        for (int d = 0; d < DIMENSIONS && s[DIMENSIONS] > 0; d++)
            centre[c * DIMENSIONS + d] = s[d] / s[DIMENSIONS];
    }
}

/* Iterate from the start with this number until nothing changes; returns the number of iterations.
 */
static int run(int start)
{
    if (rank == 0)
        for (int c = 0; c < clusters; c++)
            memcpy(&centre[c * DIMENSIONS],
                   &all_points[scramble((unsigned)(start * clusters + c)) % (unsigned)points *
                               DIMENSIONS],
                   sizeof *centre * DIMENSIONS);
    MPI_Bcast(centre, clusters * DIMENSIONS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    memset(label, -1, sizeof *label * (size_t)mine);
    for (int i = 0; i < MOST_ITERATIONS; i++) {
        long changed = assign(), all;
        MPI_Allreduce(&changed, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (!all)
            return i;
        move_centres();
    }
    return MOST_ITERATIONS;
}

/* The sum over all ranks of the squared distances to the centres, rounded so that it is exact. */
static long spread(void)
{
    long squares = 0, all;
    for (int p = 0; p < mine; p++)
        squares += lround(distance(&point[p * DIMENSIONS], &centre[label[p] * DIMENSIONS]));
    MPI_Allreduce(&squares, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void print_result(int start, long least, long iterations, double seconds)
{
    int *labels = malloc(sizeof *labels * (size_t)points);
    MPI_Gatherv(label, mine, MPI_INT, labels, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        unsigned check = 0;
        for (int p = 0; p < points; p++)
            check = scramble(check + (unsigned)labels[p]);
        printf("start %d, squares %ld, labels %08x, %ld iterations in all\n", start, least, check,
               iterations);
        printf("seconds %.3f\n", seconds);
    }
    free(labels);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    points = argc > 1 ? atoi(argv[1]) : 200;
    clusters = argc > 2 ? atoi(argv[2]) : 24;
    int starts = argc > 3 ? atoi(argv[3]) : 5000;
    if (points < size || clusters < 1 || starts < 1) {
        fprintf(stderr, "kmeans: at least a point a rank, a cluster and a start are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    MPI_Alloc_mem((MPI_Aint)sizeof *centre * clusters * DIMENSIONS, MPI_INFO_NULL, &centre);
    MPI_Alloc_mem((MPI_Aint)sizeof *sum * clusters * (DIMENSIONS + 1), MPI_INFO_NULL, &sum);
    if (rank == 0)
        make_points();
    share_points();

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    int best = 0;
    long least = LONG_MAX, iterations = 0;
    for (int s = 0; s < starts; s++) {
        iterations += run(s);
        long squares = spread();
        if (squares < least) {
            least = squares;
            best = s;
        }
    }
    run(best);
    print_result(best, least, iterations, MPI_Wtime() - begin);

    MPI_Free_mem(sum);
    MPI_Free_mem(centre);
    free(label);
    free(point);
    free(all_points);
    free(counts);
    free(places);
    MPI_Finalize();
    return 0;
}
