! Collectives from Fortran: data movement, reductions, predefined datatypes, user-defined operations
! and errors. The file is compiled for each of the language's bindings: with -DMPIFH, -DMODULE or
! -DF08.
#include "harness.inc"

module collective
    use harness
    implicit none
    integer, parameter :: sizes(5) = [1, 20, 1000, 3000, 50000]

contains

    ! The n operands of rank `of`.
    function numbers(n, of) result(values)
        integer, intent(in) :: n, of
        integer :: values(n), i
        values = [(1000 * of + mod(i, 777), i = 1, n)]
    end function

    ! The sums over ranks 0 to last.
    function sums(n, last) result(values)
        integer, intent(in) :: n, last
        integer :: values(n), r
        values = 0
        do r = 0, last
            values = values + numbers(n, r)
        end do
    end function

    subroutine moving(on, n)
        COMM, intent(in) :: on
        integer, intent(in) :: n
        integer :: mine(n), all(n, 0:ranks - 1), back(n, 0:ranks - 1)
        integer :: counts(0:ranks - 1), displs(0:ranks - 1), r, root, ierr
        do root = 0, ranks - 1
            mine = -1
            if (rank == root) mine = numbers(n, root)
            call MPI_Bcast(mine, n, MPI_INTEGER, root, on, ierr)
            call check(all_equal(mine, numbers(n, root)), 'MPI_Bcast')
            mine = numbers(n, rank)
            all = -1
            call MPI_Gather(mine, n, MPI_INTEGER, all, n, MPI_INTEGER, root, on, ierr)
            do r = 0, ranks - 1
                if (rank == root) call check(all_equal(all(:, r), numbers(n, r)), 'MPI_Gather')
                all(:, r) = numbers(n, r + 10 * root)
            end do
            call MPI_Scatter(all, n, MPI_INTEGER, mine, n, MPI_INTEGER, root, on, ierr)
            call check(all_equal(mine, numbers(n, rank + 10 * root)), 'MPI_Scatter')
            ! in place at the root
            if (rank == root) then
                all(:, rank) = numbers(n, rank)
                call MPI_Gather(MPI_IN_PLACE, n, MPI_INTEGER, all, n, MPI_INTEGER, root, on, ierr)
                call check(all_equal(all(:, 0), numbers(n, 0)), 'MPI_Gather in place')
            else
                mine = numbers(n, rank)
                call MPI_Gather(mine, n, MPI_INTEGER, all, n, MPI_INTEGER, root, on, ierr)
            end if
        end do
        mine = numbers(n, rank)
        all = -1
        call MPI_Allgather(mine, n, MPI_INTEGER, all, n, MPI_INTEGER, on, ierr)
        do r = 0, ranks - 1
            call check(all_equal(all(:, r), numbers(n, r)), 'MPI_Allgather')
            all(:, r) = numbers(n, rank + 10 * r)
        end do
        call MPI_Alltoall(all, n, MPI_INTEGER, back, n, MPI_INTEGER, on, ierr)
        do r = 0, ranks - 1
            call check(all_equal(back(:, r), numbers(n, r + 10 * rank)), 'MPI_Alltoall')
        end do
        call MPI_Alltoall(MPI_IN_PLACE, n, MPI_INTEGER, all, n, MPI_INTEGER, on, ierr)
        do r = 0, ranks - 1
            call check(all_equal(all(:, r), numbers(n, r + 10 * rank)), 'MPI_Alltoall in place')
        end do
        ! in reverse order, of different lengths
        do r = 0, ranks - 1
            counts(r) = n / (r + 1)
            displs(r) = n * (ranks - 1 - r)
        end do
        all = -1
        mine = numbers(n, rank)
        call MPI_Allgatherv(mine, counts(rank), MPI_INTEGER, all, counts, displs, MPI_INTEGER, on, ierr)
        do r = 0, ranks - 1
            call check(all_equal(all(1:counts(r), ranks - 1 - r), mine_of(r, counts(r))), 'MPI_Allgatherv')
            if (counts(r) < n) call check(all(counts(r) + 1, ranks - 1 - r) == -1, 'after a block')
        end do
        call MPI_Barrier(on, ierr)
    contains
        function mine_of(r, count) result(values)
            integer, intent(in) :: r, count
            integer :: values(count)
            values = numbers(count, r)
        end function
    end subroutine

    logical function all_equal(a, b)
        integer, intent(in) :: a(:), b(:)
        all_equal = all(a == b)
    end function

    subroutine combining(on, n)
        COMM, intent(in) :: on
        integer, intent(in) :: n
        integer :: mine(n), got(n), whole(n * ranks), r, root, ierr
        mine = numbers(n, rank)
        call MPI_Allreduce(mine, got, n, MPI_INTEGER, MPI_SUM, on, ierr)
        call check(all_equal(got, sums(n, ranks - 1)), 'MPI_Allreduce')
        got = mine
        call MPI_Allreduce(MPI_IN_PLACE, got, n, MPI_INTEGER, MPI_SUM, on, ierr)
        call check(all_equal(got, sums(n, ranks - 1)), 'MPI_Allreduce in place')
        do root = 0, ranks - 1
            got = -1
            call MPI_Reduce(mine, got, n, MPI_INTEGER, MPI_SUM, root, on, ierr)
            if (rank == root) call check(all_equal(got, sums(n, ranks - 1)), 'MPI_Reduce')
            if (rank /= root) call check(all(got == -1), 'MPI_Reduce elsewhere')
        end do
        call MPI_Scan(mine, got, n, MPI_INTEGER, MPI_SUM, on, ierr)
        call check(all_equal(got, sums(n, rank)), 'MPI_Scan')
        call MPI_Exscan(mine, got, n, MPI_INTEGER, MPI_SUM, on, ierr)
        if (rank > 0) call check(all_equal(got, sums(n, rank - 1)), 'MPI_Exscan')
        do r = 0, ranks - 1
            whole(r * n + 1:(r + 1) * n) = numbers(n, rank) + r
        end do
        call MPI_Reduce_scatter_block(whole, got, n, MPI_INTEGER, MPI_SUM, on, ierr)
        call check(all_equal(got, sums(n, ranks - 1) + ranks * rank), 'MPI_Reduce_scatter_block')
        got = -1
        call MPI_Reduce_scatter(whole, got, [(n, r = 1, ranks)], MPI_INTEGER, MPI_SUM, on, ierr)
        call check(all_equal(got, sums(n, ranks - 1) + ranks * rank), 'MPI_Reduce_scatter')
    end subroutine

    ! For each of the language's types: the sum over all ranks r of r + 1.
#define SUMMED(kind, handle, one, times)                                                         \
    block; kind :: a(3), b(3); a = one * (rank + 1); b = a;                                      \
    call MPI_Allreduce(a, b, 3, handle, MPI_SUM, on, ierr);                                      \
    call check(all(b == one * times), 'handle'); end block

    subroutine of_each_type(on)
        COMM, intent(in) :: on
        integer :: times, ierr
        logical :: mine(2), got(2)
        times = ranks * (ranks + 1) / 2
        SUMMED(integer, MPI_INTEGER, 1, times)
        SUMMED(integer(int16), MPI_INTEGER2, 1_int16, times)
        SUMMED(integer(int64), MPI_INTEGER8, 2_int64 ** 40, times)
        SUMMED(integer(address), MPI_AINT, 2_address ** 40, times)
        SUMMED(real, MPI_REAL, 0.5, times)
        SUMMED(double precision, MPI_DOUBLE_PRECISION, 0.25d0, times)
        SUMMED(real(real64), MPI_REAL8, 0.25d0, times)
        SUMMED(complex, MPI_COMPLEX, (1.0, 2.0), times)
        SUMMED(double complex, MPI_DOUBLE_COMPLEX, (1d0, -2d0), times)
        ! Both hosts alone add them as another type.
        if (MPI_REAL16 /= MPI_DATATYPE_NULL .and. command_argument_count() == 0) then
            SUMMED(real(real128), MPI_REAL16, 1.25_real128, times)
        end if
        mine = [.true., rank == 0]
        call MPI_Allreduce(mine, got, 2, MPI_LOGICAL, MPI_LAND, on, ierr)
        call check(got(1) .and. (got(2) .eqv. ranks == 1), 'MPI_LAND')
        call MPI_Allreduce(mine, got, 2, MPI_LOGICAL, MPI_LOR, on, ierr)
        call check(all(got), 'MPI_LOR')
        block
            double precision :: pair(2), best(2)
            pair = [dble(-mod(rank, 2)), dble(rank)]
            call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, on, ierr)
            call check(best(2) == merge(1d0, 0d0, ranks > 1), 'MPI_2DOUBLE_PRECISION')
        end block
        block
            character(len=12) :: text
            text = merge('from rank 0!', '            ', rank == 0)
            call MPI_Bcast(text, 12, MPI_CHARACTER, 0, on, ierr)
            call check(text == 'from rank 0!', 'MPI_CHARACTER')
        end block
    end subroutine

    ! ---- user-defined operations and datatypes, errors ----

    ! The second operand unless it is 0: associative, but not commutative.
#if defined(F08)
    subroutine last_of(invec, inoutvec, len, datatype)
        type(c_ptr), value :: invec, inoutvec
        integer :: len
        type(MPI_Datatype) :: datatype
        integer, pointer :: a(:), b(:)
        call c_f_pointer(invec, a, [len])
        call c_f_pointer(inoutvec, b, [len])
        where (b == 0) b = a
    end subroutine
#else
    subroutine last_of(a, b, len, datatype)
        integer :: len, datatype
        integer :: a(len), b(len)
        where (b == 0) b = a
    end subroutine
#endif

    subroutine own_operation(on, n)
        COMM, intent(in) :: on
        integer, intent(in) :: n
        OPERATION :: op
        integer :: mine(n), got(n), ierr
        call MPI_Op_create(last_of, .false., op, ierr)
        mine = rank + 1
        if (rank == ranks - 1) mine(1::2) = 0
        got = -1
        call MPI_Allreduce(mine, got, n, MPI_INTEGER, op, on, ierr)
        call check(all(got(1::2) == max(ranks - 1, 0)), 'the last but one')
        call check(all(got(2::2) == ranks), 'the last')
        call MPI_Op_free(op, ierr)
    end subroutine

    ! A row of a matrix at the root, a column elsewhere.
    subroutine rows_and_columns(on)
        COMM, intent(in) :: on
        integer, parameter :: n = 60
        DATATYPE :: row
        integer :: matrix(n, n), ierr
        call MPI_Type_vector(n, 1, n, MPI_INTEGER, row, ierr)
        call MPI_Type_commit(row, ierr)
        matrix = -1
        if (rank == 0) then
            matrix(3, :) = numbers(n, 7)
            call MPI_Bcast(matrix(3, 1), 1, row, 0, on, ierr)
        else
            call MPI_Bcast(matrix(:, 5), n, MPI_INTEGER, 0, on, ierr)
            call check(all_equal(matrix(:, 5), numbers(n, 7)), 'a row as a column')
            call check(count(matrix == -1) == n * (n - 1), 'beside the column')
        end if
        call MPI_Type_free(row, ierr)
    end subroutine

    ! Two variables by their addresses.
    subroutine from_bottom(on)
        COMM, intent(in) :: on
        integer, volatile :: one, two
        DATATYPE :: both
        integer :: ierr
        one = merge(1, -1, rank == 0)
        two = merge(2, -1, rank == 0)
        call type_of_two(one, two, both)
        call MPI_Bcast(MPI_BOTTOM, 1, both, 0, on, ierr)
        call check(one == 1 .and. two == 2, 'MPI_BOTTOM')
        call MPI_Type_free(both, ierr)
    end subroutine

    subroutine note_error(on, code)
        COMM :: on
        integer :: code
        call count_error(code)
    end subroutine

    subroutine errors(on)
        COMM, intent(in) :: on
        ERRHANDLER :: handler
        integer :: mine, class, code, ierr
        mine = 0
        call MPI_Comm_set_errhandler(on, MPI_ERRORS_RETURN, ierr)
        call MPI_Bcast(mine, 1, MPI_INTEGER, ranks, on, code)
        call MPI_Error_class(code, class, ierr)
        call check(class == MPI_ERR_ROOT, 'an invalid root')
        call MPI_Comm_create_errhandler(note_error, handler, ierr)
        call MPI_Comm_set_errhandler(on, handler, ierr)
        call MPI_Bcast(mine, 1, MPI_INTEGER, -4, on, code)
        call check(errors_handled == 1 .and. class_handled == MPI_ERR_ROOT, 'the error handler')
        call MPI_Comm_set_errhandler(on, MPI_ERRORS_ARE_FATAL, ierr)
        call MPI_Errhandler_free(handler, ierr)
    end subroutine
end module

program main
    use collective
    implicit none
    COMM :: copy
    integer :: i, turn, ierr
    call begin()
    do i = 1, 8
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
    end do
    do i = 1, size(sizes)
        call moving(MPI_COMM_WORLD, sizes(i))
        call combining(MPI_COMM_WORLD, sizes(i))
        call own_operation(MPI_COMM_WORLD, sizes(i))
    end do
    do turn = 1, 2
        call of_each_type(MPI_COMM_WORLD)
        call rows_and_columns(MPI_COMM_WORLD)
        call from_bottom(MPI_COMM_WORLD)
    end do
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    do turn = 1, 4
        call moving(copy, 20)
        call combining(copy, 20)
    end do
    call errors(copy)
    call MPI_Comm_free(copy, ierr)
    call check(copy == MPI_COMM_NULL, 'a freed communicator')
    call finish()
end program
