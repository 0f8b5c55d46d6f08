/* A window's group, name, info and error handler are those that the host returns. */
#include "test.h"

static int called;

static void handler(MPI_Win *win, int *error, ...)
{
    (void)win, (void)error;
    called++;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, test_size - test_rank, &reversed);
    MPI_Win win, second;
    void *memory = window_memory(8);
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, reversed, &win);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, reversed, &memory, &second);

    MPI_Group group, expected;
    int result;
    MPI_Comm_group(reversed, &expected);
    MPI_Win_get_group(win, &group);
    MPI_Group_compare(group, expected, &result);
    CHECK(result == MPI_IDENT, "%d", result);
    MPI_Group_free(&group);
    MPI_Group_free(&expected);

    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win_set_name(win, "a name");
    MPI_Win_get_name(win, name, &length);
    CHECK(!strcmp(name, "a name") && length == 6, "%s", name);

    MPI_Info info;
    MPI_Win_get_info(win, &info);
    CHECK(info != MPI_INFO_NULL);
    CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
    MPI_Info_free(&info);

    /* A window does not inherit the handler of its communicator: it has MPI_ERRORS_ARE_FATAL until
     * the program sets another one. */
    MPI_Errhandler own, is;
    MPI_Comm_set_errhandler(reversed, MPI_ERRORS_RETURN);
    MPI_Win_get_errhandler(win, &is);
    CHECK(is == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(handler, &own);
    MPI_Win_set_errhandler(win, own);
    MPI_Win_get_errhandler(win, &is);
    CHECK(is == own);
    MPI_Errhandler_free(&is);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(called == 1, "%d", called);
    MPI_Win_get_errhandler(second, &is);
    CHECK(is == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    MPI_Win_free(&win);
    MPI_Win_free(&second);
    MPI_Comm_free(&reversed);
    return test_end();
}
