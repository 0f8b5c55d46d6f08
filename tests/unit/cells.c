/* Teams that exchange their cells. Fails if a rank reads cells that another team has written since,
 * or if the teams of a rank that take turns have more cells with pages than cells.h permits. Every
 * rank stands for a process with one thread. */
#include "tests/unit/teams.h"

#include "coll_inplace/cells.h"
#include "core/concurrency.h"

/* The control part has room for the mailboxes of 24 teams of three ranks, or 36 of two. */
enum { TEAMS_MAX = 36, RANKS_MAX = 3, LONGEST = 3 * PIECE / 2 };
static unsigned ranks;
static int team_count;

static struct team *teams[TEAMS_MAX][RANKS_MAX];
static struct cell_holders holders_of[RANKS_MAX];

static void make_teams(unsigned size)
{
    ranks = size;
    team_count = size == 2 ? 36 : 24;
    for (int i = 0; i < team_count; i++) {
        make_team(ranks);
        for (unsigned r = 0; r < ranks; r++) {
            teams[i][r] = team_of[r];
            teams[i][r]->holders = &holders_of[r];
        }
    }
}

static void leave_teams(unsigned me)
{
    for (int i = 0; i < team_count; i++)
        team_leave(teams[i][me]);
}

static void free_teams(void)
{
    as_ranks(ranks, leave_teams);
    reap_all();
    for (unsigned r = 0; r < ranks; r++) {
        ck_assert_uint_eq(holders_of[r].count, 0);
        ck_assert_ptr_null(holders_of[r].first);
        ck_assert_ptr_null(holders_of[r].last);
        ck_assert_ptr_null(holders_of[r].current);
    }
}

static void as_processes(rank_fn *function)
{
    thread_concurrent = false;
    as_ranks(ranks, function);
    thread_concurrent = true;
}

/* Mailboxes of earlier cases are used again, a few of them with their pages. */
enum { SPARE = 4 };

static void expect_holders(unsigned rank, uint32_t wanted)
{
    uint32_t count = 0;
    for (int i = 0; i < team_count; i++) {
        count += teams[i][rank]->cells_used;
        ck_assert(!teams[i][rank]->cells_used || teams[i][rank]->mine->cells_used);
    }
    ck_assert_uint_ge(count, wanted);
    ck_assert_uint_le(count, wanted ? wanted + SPARE : 0);
}

/* ---- data ---- */

static char pattern(int team, unsigned rank, unsigned call)
{
    return (char)(team * 31 + (int)(rank * 7 + call * 3) + 1);
}

static void expect_pattern(const char *data, size_t bytes, char wanted, const char *what)
{
    for (size_t i = 0; i < bytes; i += bytes / 7 + 1)
        EXPECT(data[i] == wanted, "%s, byte %zu of %zu", what, i, bytes);
    EXPECT(data[bytes - 1] == wanted, "%s, the last of %zu bytes", what, bytes);
}

static void broadcast(int team, unsigned me, unsigned call, uint32_t root, size_t bytes)
{
    char data[LONGEST];
    memset(data, me == root ? pattern(team, root, call) : 0, bytes);
    EXPECT(coll_bcast(teams[team][me], buffer(data, BYTES, bytes), root) == COLL_OK);
    expect_pattern(data, bytes, pattern(team, root, call), "bcast");
}

static void gather(int team, unsigned me, unsigned call, uint32_t root, size_t bytes)
{
    static char all[RANKS_MAX][RANKS_MAX * LONGEST];
    char data[LONGEST];
    struct blocks blocks = {.at = all[me], .map = BYTES, .count = bytes};
    memset(data, pattern(team, me, call), bytes);
    memset(all[me] + me * bytes, pattern(team, me, call), bytes);
    EXPECT(coll_gather(teams[team][me], buffer(data, BYTES, bytes), me == root ? &blocks : NULL,
                       root, true) == COLL_OK);
    for (unsigned r = 0; r < ranks && me == root; r++)
        expect_pattern(all[me] + r * bytes, bytes, pattern(team, r, call), "gather");
}

/* ---- any calls ---- */

static const size_t sizes[] = {8, 200, CELL_FEW, 5000, TEAM_CELL, LONGEST};

static void any_calls(unsigned me)
{
    struct chance same = {5}, own = {me};
    int team = 0;
    for (unsigned call = 0; call < effort(8000); call++) {
        if (below(&same, 3) == 0)
            team = (int)below(&same, below(&same, 2) ? (unsigned)team_count : 12);
        uint32_t root = (uint32_t)below(&same, ranks);
        size_t bytes = sizes[below(&same, sizeof sizes / sizeof *sizes)];
        if (below(&same, 2))
            broadcast(team, me, call, root, bytes);
        else
            gather(team, me, call, root, bytes);
        if (below(&own, 400) == 0)
            sleep_us(200);
    }
}

START_TEST(cells_are_exchanged_only_when_no_rank_reads_them)
{
    make_teams(3);
    as_processes(any_calls);
    free_teams();
}
END_TEST

/* Rank 0 is ahead of the others by all teams. */
static void read_late(unsigned me)
{
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < team_count && (me == 0) == (half == 0); i++)
            broadcast(i, me, 0, 0, 5000);
        all_here();
    }
}

START_TEST(cells_that_are_read_late_are_not_exchanged)
{
    make_teams(3);
    as_processes(read_late);
    expect_holders(0, (uint32_t)team_count);
    free_teams();
}
END_TEST

/* ---- a team takes cells in the middle of an operation ---- */

/* Rank 0 has read the cells of a peer in this team, so the team is `current`. Its peers would
 * overwrite what it has not read yet. */
static void take_in_operation(unsigned me)
{
    broadcast(0, me, 0, 1, 5000);
    if (me)
        return;
    struct team *t = teams[0][0];
    uint32_t op = team_begin(t);
    team_wait_cell(t, 5000);
    EXPECT(!sync_reached(sync_load(&t->mine->done), op), "operation %u is done already", op);
}

START_TEST(taking_cells_ends_no_operation)
{
    make_teams(2);
    as_processes(take_in_operation);
    free_teams();
}
END_TEST

/* ---- few cells have pages ---- */

static unsigned rounds;
static bool gathers;

static void take_turns(unsigned me)
{
    for (unsigned call = 0; call < rounds; call++)
        for (int i = 0; i < team_count; i++) {
            (gathers ? gather : broadcast)(i, me, call, 0, 5000);
            all_here();
        }
}

/* The receivers of a broadcast write no cells of their own. */
static void use_in_turns(unsigned count, bool gather)
{
    rounds = count;
    gathers = gather;
    make_teams(2);
    as_processes(take_turns);
}

START_TEST(teams_share_the_cells_of_a_few)
{
    use_in_turns(1, false);
    expect_holders(0, CELL_HOLDERS);
    expect_holders(1, 0);
    free_teams();
}
END_TEST

START_TEST(leaves_share_them_too)
{
    use_in_turns(1, true);
    expect_holders(0, 0);
    expect_holders(1, CELL_HOLDERS);
    free_teams();
}
END_TEST

START_TEST(teams_that_come_back_often_share_them_too)
{
    use_in_turns(8, false);
    expect_holders(0, CELL_HOLDERS);
    free_teams();
}
END_TEST

/* With several threads no cells are exchanged, since another thread may be using them. */
START_TEST(several_threads_exchange_nothing)
{
    rounds = 1;
    make_teams(2);
    as_ranks(ranks, take_turns);
    expect_holders(0, (uint32_t)team_count);
    free_teams();
}
END_TEST

UNIT_MAIN(cells_are_exchanged_only_when_no_rank_reads_them,
          cells_that_are_read_late_are_not_exchanged, taking_cells_ends_no_operation,
          teams_share_the_cells_of_a_few, leaves_share_them_too,
          teams_that_come_back_often_share_them_too, several_threads_exchange_nothing)
