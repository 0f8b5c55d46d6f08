/* The requests of MPI_Rput and its siblings are requests of the host (H23: requests): they work in
 * Wait, Test and their variants together with requests of messages, return a status, and may be
 * freed. */
#include "test.h"

enum { KINDS = 4 };

static int *memory;
static MPI_Win win;
static int data[2][KINDS], fetched[KINDS], incoming[2];

/* Four requests of one-sided operations, then those of a message each way. */
static void begin(MPI_Request r[KINDS + 2], int round)
{
    int target = test_next();
    for (int i = 0; i < KINDS; i++) {
        data[round % 2][i] = 100 * round + i;
        fetched[i] = -1;
    }
    int *d = data[round % 2];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Rput(&d[0], 1, MPI_INT, target, 0, 1, MPI_INT, win, &r[0]);
    MPI_Raccumulate(&d[1], 1, MPI_INT, target, 1, 1, MPI_INT, MPI_REPLACE, win, &r[1]);
    MPI_Rget_accumulate(&d[2], 1, MPI_INT, &fetched[2], 1, MPI_INT, target, 2, 1, MPI_INT,
                        MPI_REPLACE, win, &r[2]);
    MPI_Rget(&fetched[3], 1, MPI_INT, target, 3, 1, MPI_INT, win, &r[3]);
    MPI_Irecv(incoming, 1, MPI_INT, test_previous(), 5, MPI_COMM_WORLD, &r[4]);
    MPI_Isend(&d[0], 1, MPI_INT, target, 5, MPI_COMM_WORLD, &r[5]);
}

/* All requests of the round have completed. */
static void end(int round, const char *how)
{
    int last = fetched[2] == (round ? 100 * (round - 1) + 2 : 0);
    CHECK(last, "%s: round %d fetched %d", how, round, fetched[2]);
    CHECK(fetched[3] == 77, "%s: got %d", how, fetched[3]);
    CHECK(incoming[0] == 100 * round, "%s: received %d", how, incoming[0]);
    MPI_Win_unlock(test_next(), win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == 100 * round && memory[1] == 100 * round + 1, "%s: %d, %d", how, memory[0],
          memory[1]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_null(const MPI_Request *r, int count, const char *how)
{
    for (int i = 0; i < count; i++)
        CHECK(r[i] == MPI_REQUEST_NULL, "%s: request %d", how, i);
}

int main(int argc, char **argv)
{
    enum { ALL = KINDS + 2 };
    test_begin(&argc, &argv);
    memory = window_memory(KINDS * sizeof *memory);
    memory[3] = 77;
    win = window_over(memory, KINDS * sizeof *memory, sizeof *memory);
    MPI_Request r[ALL];
    MPI_Status statuses[ALL];
    int flag, index, count, indices[ALL], round = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    begin(r, round);
    for (int i = 0; i < ALL; i++) {
        statuses[i].MPI_ERROR = 55;
        MPI_Wait(&r[i], &statuses[i]);
        CHECK(statuses[i].MPI_ERROR == 55, "Wait leaves MPI_ERROR alone: %d",
              statuses[i].MPI_ERROR);
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK(!flag, "request %d was cancelled", i);
    }
    CHECK(statuses[4].MPI_SOURCE == test_previous() && statuses[4].MPI_TAG == 5);
    all_null(r, ALL, "Wait");
    end(round++, "Wait");

    begin(r, round);
    for (int i = 0; i < ALL; i++)
        for (flag = 0; !flag;)
            MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
    all_null(r, ALL, "Test");
    end(round++, "Test");

    begin(r, round);
    CHECK(MPI_Waitall(ALL, r, statuses) == MPI_SUCCESS);
    all_null(r, ALL, "Waitall");
    end(round++, "Waitall");

    begin(r, round);
    for (flag = 0; !flag;)
        MPI_Testall(ALL, r, &flag, statuses);
    all_null(r, ALL, "Testall");
    end(round++, "Testall");

    begin(r, round);
    for (int i = 0, seen = 0; i < ALL; i++) {
        MPI_Waitany(ALL, r, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < ALL && !(seen & 1 << index), "Waitany: %d", index);
        seen |= 1 << index;
    }
    MPI_Waitany(ALL, r, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED, "%d", index);
    end(round++, "Waitany");

    begin(r, round);
    for (int done = 0; done < ALL; done += count)
        MPI_Waitsome(ALL, r, &count, indices, statuses);
    all_null(r, ALL, "Waitsome");
    end(round++, "Waitsome");

    begin(r, round);
    for (int done = 0; done < ALL; done += count)
        MPI_Testsome(ALL, r, &count, indices, statuses);
    end(round++, "Testsome");

    begin(r, round);
    for (int i = 0; i < ALL; i++) {
        for (flag = 0; !flag;)
            MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
        CHECK(r[i] != MPI_REQUEST_NULL, "%d", i);
    }
    MPI_Waitall(ALL, r, MPI_STATUSES_IGNORE);
    end(round++, "Request_get_status");

    begin(r, round);
    MPI_Waitall(2, r + 4, MPI_STATUSES_IGNORE);
    for (int i = 0; i < KINDS; i++)
        MPI_Request_free(&r[i]);
    MPI_Win_flush(test_next(), win);
    all_null(r, ALL, "Request_free");
    end(round++, "Request_free");

    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
