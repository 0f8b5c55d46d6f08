! One-sided communication from Fortran, from each rank to the next one: every kind of epoch,
! operation, predefined datatype, attribute and error. The file is compiled for each of the
! language's bindings: with -DMPIFH, -DMODULE or -DF08. Buffers are `asynchronous`: calls such as
! MPI_Win_flush change them, of which the compiler sees nothing.
#include "harness.inc"

module onesided
    use harness
    implicit none
    ! A window has 64 elements of 8 bytes, and a displacement unit of 1 byte.
    integer, parameter :: elements = 64, width = 8
    integer(address), parameter :: window_bytes = elements * width
    integer :: next, previous

contains

    ! The displacement of an element.
    integer(address) function at(element)
        integer, intent(in) :: element
        at = int((element - 1) * width, address)
    end function

    subroutine barrier()
        integer :: ierr
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
    end subroutine

    ! ---- epochs ----

    subroutine in_fences(win, memory)
        WINDOW, intent(in) :: win
        integer(int64), volatile :: memory(:)
        integer(int64), asynchronous :: mine(4), back(4)
        integer :: ierr
        memory = 0
        mine = [10, 20, 30, 40] + rank
        back = -1
        call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierr)
        call MPI_Put(mine, 4, MPI_INTEGER8, next, at(1), 4, MPI_INTEGER8, win, ierr)
        call MPI_Win_fence(0, win, ierr)
        call check(all(memory(1:4) == [10, 20, 30, 40] + previous), 'put')
        call MPI_Get(back, 4, MPI_INTEGER8, next, at(1), 4, MPI_INTEGER8, win, ierr)
        call MPI_Accumulate(mine, 4, MPI_INTEGER8, next, at(5), 4, MPI_INTEGER8, MPI_SUM, win, ierr)
        call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
        call check(all(back == mine), 'get')
        call check(all(memory(5:8) == [10, 20, 30, 40] + previous), 'accumulate')
    end subroutine

    subroutine in_post_and_start(win, memory)
        WINDOW, intent(in) :: win
        integer(int64), volatile :: memory(:)
        integer(int64), asynchronous :: mine
        integer :: ierr, turn
        logical :: done
        GROUP :: whole, origin, target
        call MPI_Win_get_group(win, whole, ierr)
        call MPI_Group_incl(whole, 1, [previous], origin, ierr)
        call MPI_Group_incl(whole, 1, [next], target, ierr)
        do turn = 1, 2
            mine = 100 * turn + rank
            call MPI_Win_post(origin, 0, win, ierr)
            call MPI_Win_start(target, 0, win, ierr)
            call MPI_Put(mine, 1, MPI_INTEGER8, next, at(9), 1, MPI_INTEGER8, win, ierr)
            call MPI_Win_complete(win, ierr)
            if (turn == 1) then
                call MPI_Win_wait(win, ierr)
            else
                done = .false.
                do while (.not. done)
                    call MPI_Win_test(win, done, ierr)
                end do
            end if
            call check(memory(9) == 100 * turn + previous, 'post and start')
        end do
        call MPI_Group_free(whole, ierr)
        call MPI_Group_free(origin, ierr)
        call MPI_Group_free(target, ierr)
    end subroutine

    subroutine under_locks(win, memory)
        WINDOW, intent(in) :: win
        integer(int64), volatile :: memory(:)
        integer(int64), asynchronous :: one, before, mine
        integer :: ierr, target
        one = 1
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr)
        memory(10:13) = 0
        call MPI_Win_unlock(rank, win, ierr)
        call barrier()
        do target = 0, ranks - 1
            call MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win, ierr)
            call MPI_Fetch_and_op(one, before, MPI_INTEGER8, target, at(10), MPI_SUM, win, ierr)
            call MPI_Win_flush(target, win, ierr)
            call check(before >= 0 .and. before < ranks, 'fetch and op')
            call MPI_Win_unlock(target, win, ierr)
            call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win, ierr)
            call MPI_Get(before, 1, MPI_INTEGER8, target, at(11), 1, MPI_INTEGER8, win, ierr)
            call MPI_Win_flush(target, win, ierr)
            mine = before + 1
            call MPI_Put(mine, 1, MPI_INTEGER8, target, at(11), 1, MPI_INTEGER8, win, ierr)
            call MPI_Win_unlock(target, win, ierr)
        end do
        call MPI_Win_lock_all(MPI_MODE_NOCHECK, win, ierr)
        do target = 0, ranks - 1
            call MPI_Get_accumulate(one, 1, MPI_INTEGER8, before, 1, MPI_INTEGER8, target, at(12), &
                                    1, MPI_INTEGER8, MPI_SUM, win, ierr)
        end do
        call MPI_Win_flush_local_all(win, ierr)
        call MPI_Win_flush_all(win, ierr)
        call MPI_Win_unlock_all(win, ierr)
        call barrier()
        call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win, ierr)
        call MPI_Win_sync(win, ierr)
        call check(all(memory(10:12) == ranks), 'sums under locks')
        call MPI_Win_unlock(rank, win, ierr)
    end subroutine

    ! With 4 bytes: Open MPI 4.1 alone crashes with 8 in a window of MPI_Win_allocate.
    subroutine swaps(win)
        WINDOW, intent(in) :: win
        integer, asynchronous :: mine, compare, before
        integer :: ierr
        mine = 5 + rank
        compare = 0
        before = -1
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, ierr)
        call MPI_Put(compare, 1, MPI_INTEGER, next, at(13), 1, MPI_INTEGER, win, ierr)
        call MPI_Win_flush(next, win, ierr)
        call MPI_Compare_and_swap(mine, compare, before, MPI_INTEGER, next, at(13), win, ierr)
        call MPI_Win_flush_local(next, win, ierr)
        call check(before == 0, 'compare and swap, equal')
        call MPI_Compare_and_swap(compare, compare, before, MPI_INTEGER, next, at(13), win, ierr)
        call MPI_Win_unlock(next, win, ierr)
        call check(before == mine, 'compare and swap, not equal')
        call barrier()
    end subroutine

    subroutine by_requests(win)
        WINDOW, intent(in) :: win
        REQUEST :: requests(2)
        integer(int64), asynchronous :: mine(2), back(2)
        integer :: ierr
        mine = [7 + rank, 1]
        back = -1
        call MPI_Win_lock_all(0, win, ierr)
        call MPI_Rput(mine, 2, MPI_INTEGER8, next, at(14), 2, MPI_INTEGER8, win, requests(1), ierr)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
        call check(requests(1) == MPI_REQUEST_NULL, 'a completed request')
        call MPI_Win_flush(next, win, ierr)
        call MPI_Raccumulate(mine, 1, MPI_INTEGER8, next, at(14), 1, MPI_INTEGER8, MPI_SUM, win, &
                             requests(1), ierr)
        call MPI_Raccumulate(mine(2), 1, MPI_INTEGER8, next, at(15), 1, MPI_INTEGER8, MPI_SUM, win, &
                             requests(2), ierr)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
        call MPI_Win_flush(next, win, ierr)
        call MPI_Rget(back(1), 1, MPI_INTEGER8, next, at(14), 1, MPI_INTEGER8, win, requests(1), ierr)
        call MPI_Rget_accumulate(mine(2), 1, MPI_INTEGER8, back(2), 1, MPI_INTEGER8, next, at(15), &
                                 1, MPI_INTEGER8, MPI_SUM, win, requests(2), ierr)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
        call check(all(back == 2 * mine), 'requests')
        call MPI_Win_unlock_all(win, ierr)
        call barrier()
    end subroutine

    ! ---- buffers and datatypes ----

    ! Two variables by their addresses.
    subroutine from_bottom(win)
        WINDOW, intent(in) :: win
        integer, volatile :: one, two
        DATATYPE :: both
        integer :: ierr
        one = 1 + 10 * rank
        two = 2 + 10 * rank
        call type_of_two(one, two, both)
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, ierr)
        call MPI_Put(MPI_BOTTOM, 1, both, next, at(17), 2, MPI_INTEGER, win, ierr)
        call MPI_Win_flush(next, win, ierr)
        call MPI_Accumulate(MPI_BOTTOM, 1, both, next, at(17), 2, MPI_INTEGER, MPI_SUM, win, ierr)
        call MPI_Win_flush(next, win, ierr)
        one = -1
        two = -1
        call MPI_Get(MPI_BOTTOM, 1, both, next, at(17), 2, MPI_INTEGER, win, ierr)
        call MPI_Win_unlock(next, win, ierr)
        call check(one == 2 * (1 + 10 * rank) .and. two == 2 * (2 + 10 * rank), 'MPI_BOTTOM')
        call MPI_Type_free(both, ierr)
    end subroutine

    ! Three values are put, combined with three others, and fetched, for each of the language's types.
#define COMBINED(kind, handle, first, second, op, result)                                         \
    block; kind, asynchronous :: a(3), b(3), c(3); a = first; b = second; c = a;                  \
    call MPI_Put(a, 3, handle, next, at(20), 3, handle, win, ierr);                               \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call MPI_Accumulate(b, 3, handle, next, at(20), 3, handle, op, win, ierr);                    \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call MPI_Get_accumulate(b, 3, handle, c, 3, handle, next, at(20), 3, handle, MPI_NO_OP, win,  \
                            ierr);                                                                \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call check(all(c == (result)), 'handle'); end block
#define PAIRS(kind, handle)                                                                       \
    block; kind, asynchronous :: a(4), b(4), c(4); a = [4, 1, 5, 1]; b = [4, 0, 6, 0]; c = -1;    \
    call MPI_Put(a, 2, handle, next, at(20), 2, handle, win, ierr);                               \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call MPI_Accumulate(b, 2, handle, next, at(20), 2, handle, MPI_MINLOC, win, ierr);            \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call MPI_Get(c, 2, handle, next, at(20), 2, handle, win, ierr);                               \
    call MPI_Win_flush(next, win, ierr);                                                          \
    call check(all(c == [4, 0, 5, 1]), 'handle'); end block

    subroutine of_each_type(win)
        WINDOW, intent(in) :: win
        integer :: ierr
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, ierr)
        COMBINED(integer, MPI_INTEGER, ([1, 2, 3]), 10, MPI_SUM, ([11, 12, 13]))
        COMBINED(integer(int8), MPI_INTEGER1, ([1_int8, 2_int8, 3_int8]), 3_int8, MPI_PROD, ([3, 6, 9]))
        COMBINED(integer(int16), MPI_INTEGER2, ([1_int16, 2_int16, 3_int16]), 2_int16, MPI_MAX, ([2, 2, 3]))
        COMBINED(integer(int32), MPI_INTEGER4, ([1, 2, 3]), 3, MPI_BAND, ([1, 2, 3]))
        COMBINED(integer(int64), MPI_INTEGER8, 2_int64 ** 40, 1_int64, MPI_SUM, 2_int64 ** 40 + 1)
        COMBINED(integer(address), MPI_AINT, 2_address ** 40, 1_address, MPI_SUM, 2_address ** 40 + 1)
        COMBINED(real, MPI_REAL, ([1.0, 2.0, 3.0]), 0.5, MPI_SUM, ([1.5, 2.5, 3.5]))
        COMBINED(real(real32), MPI_REAL4, ([1.0, 2.0, 3.0]), 2.0, MPI_PROD, ([2.0, 4.0, 6.0]))
        COMBINED(double precision, MPI_DOUBLE_PRECISION, ([1d0, 2d0, 3d0]), 2d0, MPI_MIN, ([1d0, 2d0, 2d0]))
        COMBINED(real(real64), MPI_REAL8, ([1d0, 2d0, 3d0]), 0.5d0, MPI_SUM, ([1.5d0, 2.5d0, 3.5d0]))
        COMBINED(complex, MPI_COMPLEX, (1.0, 2.0), (0.0, 1.0), MPI_PROD, (-2.0, 1.0))
        COMBINED(double complex, MPI_DOUBLE_COMPLEX, (1d0, 2d0), (0d0, 1d0), MPI_PROD, (-2d0, 1d0))
        COMBINED(complex(real64), MPI_COMPLEX16, (1d0, 2d0), (0.5d0, 1d0), MPI_SUM, (1.5d0, 3d0))
        COMBINED(character, MPI_CHARACTER, 'a', 'z', MPI_REPLACE, 'z')
        ! Both hosts alone add them as another type.
        if (MPI_REAL16 /= MPI_DATATYPE_NULL .and. command_argument_count() == 0) then
            COMBINED(real(real128), MPI_REAL16, 1.25_real128, 0.5_real128, MPI_SUM, 1.75_real128)
        end if
        PAIRS(integer, MPI_2INTEGER)
        PAIRS(real, MPI_2REAL)
        PAIRS(double precision, MPI_2DOUBLE_PRECISION)
        call MPI_Win_unlock(next, win, ierr)
        call logicals(win)
    end subroutine

    subroutine logicals(win)
        WINDOW, intent(in) :: win
        logical, asynchronous :: mine(4), others(4), back(4)
        integer :: ierr
        mine = [.true., .true., .false., .false.]
        others = [.true., .false., .true., .false.]
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win, ierr)
        call MPI_Put(mine, 4, MPI_LOGICAL, next, at(20), 4, MPI_LOGICAL, win, ierr)
        call MPI_Win_flush(next, win, ierr)
        call MPI_Accumulate(others, 4, MPI_LOGICAL, next, at(20), 4, MPI_LOGICAL, MPI_LXOR, win, ierr)
        call MPI_Win_flush(next, win, ierr)
        call MPI_Get(back, 4, MPI_LOGICAL, next, at(20), 4, MPI_LOGICAL, win, ierr)
        call MPI_Win_unlock(next, win, ierr)
        call check(all(back .eqv. [.false., .true., .true., .false.]), 'MPI_LOGICAL')
    end subroutine

    ! ---- attributes and errors ----

    subroutine attribute(win, keyval, expected, what)
        WINDOW, intent(in) :: win
        integer, intent(in) :: keyval
        integer(address), intent(in) :: expected
        character(len=*), intent(in) :: what
        integer(address) :: value
        logical :: found
        integer :: ierr
        value = -1
        found = .false.
        call MPI_Win_get_attr(win, keyval, value, found, ierr)
        call check(found .and. value == expected, what)
#if !defined(F08)
        value = -1
        found = .false.
        call PMPI_Win_get_attr(win, keyval, value, found, ierr)
        call check(found .and. value == expected, what // ' by PMPI')
#endif
    end subroutine

    subroutine attributes(win, base, flavor)
        WINDOW, intent(in) :: win
        integer(address), intent(in) :: base
        integer, intent(in) :: flavor
        call attribute(win, MPI_WIN_BASE, base, 'MPI_WIN_BASE')
        call attribute(win, MPI_WIN_SIZE, window_bytes, 'MPI_WIN_SIZE')
        call attribute(win, MPI_WIN_DISP_UNIT, 1_address, 'MPI_WIN_DISP_UNIT')
        call attribute(win, MPI_WIN_CREATE_FLAVOR, int(flavor, address), 'MPI_WIN_CREATE_FLAVOR')
        call attribute(win, MPI_WIN_MODEL, int(MPI_WIN_UNIFIED, address), 'MPI_WIN_MODEL')
    end subroutine

    ! An attribute of the program.
    subroutine own_attribute(win)
        WINDOW, intent(in) :: win
        integer(address) :: nothing = 0, value
        integer :: keyval, ierr
        logical :: found
        call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, nothing, ierr)
        call MPI_Win_get_attr(win, keyval, value, found, ierr)
        call check(.not. found, 'an attribute before it was set')
        call MPI_Win_set_attr(win, keyval, 2_address ** 40 + rank, ierr)
        call MPI_Win_get_attr(win, keyval, value, found, ierr)
        call check(found .and. value == 2_address ** 40 + rank, 'an attribute of the program')
        call MPI_Win_delete_attr(win, keyval, ierr)
        call MPI_Win_free_keyval(keyval, ierr)
    end subroutine

    subroutine note_error(win, code)
        WINDOW :: win
        integer :: code
        call count_error(code)
    end subroutine

    subroutine errors(win, flavor)
        WINDOW, intent(in) :: win
        integer, intent(in) :: flavor
        ERRHANDLER :: handler
        integer :: mine, class, code, ierr
        mine = 0
        call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr)
        call MPI_Put(mine, 1, MPI_INTEGER, next, at(1), 1, MPI_INTEGER, win, code)
        call MPI_Error_class(code, class, ierr)
        ! Open MPI does not check epochs in the other windows.
        if (flavor == MPI_WIN_FLAVOR_CREATE) call check(class == MPI_ERR_RMA_SYNC, 'a put outside of epochs')
        call MPI_Win_create_errhandler(note_error, handler, ierr)
        call MPI_Win_set_errhandler(win, handler, ierr)
        errors_handled = 0
        call MPI_Win_unlock(next, win, code)
        call check(errors_handled == 1, 'the error handler is called')
        call check(class_handled == MPI_ERR_RMA_SYNC, 'an unlock without a lock')
        call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierr)
        call MPI_Errhandler_free(handler, ierr)
        ! MPI_PROC_NULL as target: no effect
        call MPI_Win_fence(0, win, ierr)
        call MPI_Put(mine, 1, MPI_INTEGER, MPI_PROC_NULL, at(1), 1, MPI_INTEGER, win, code)
        call check(code == MPI_SUCCESS, 'MPI_PROC_NULL')
        call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    end subroutine

    ! ---- memory ----

    subroutine all_of_it(win, base, flavor)
        WINDOW, intent(inout) :: win
        type(c_ptr), intent(in) :: base
        integer, intent(in) :: flavor
        integer(int64), pointer :: memory(:)
        integer :: ierr
        call c_f_pointer(base, memory, [elements])
        call in_fences(win, memory)
        call in_post_and_start(win, memory)
        call under_locks(win, memory)
        call swaps(win)
        call by_requests(win)
        call from_bottom(win)
        call of_each_type(win)
        call barrier()
        call attributes(win, transfer(base, 0_address), flavor)
        call own_attribute(win)
        call errors(win, flavor)
        call MPI_Win_free(win, ierr)
        call check(win == MPI_WIN_NULL, 'a freed window')
    end subroutine

    ! A window over the memory without its first `left_out` elements.
    subroutine create_over(start, left_out)
        type(c_ptr), intent(in) :: start
        integer, intent(in) :: left_out
        integer(int64), pointer :: memory(:), base(:)
        WINDOW :: win
        integer :: ierr
        call c_f_pointer(start, memory, [left_out + elements])
        base => memory(left_out + 1:)
        call MPI_Win_create(base, window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
        call all_of_it(win, c_loc(base(1)), MPI_WIN_FLAVOR_CREATE)
    end subroutine

#if !defined(F08)
    subroutine memory_by_cray_pointer()
        integer(int64) :: memory(elements)
        pointer (start, memory)
        integer :: ierr
        call MPI_Alloc_mem(window_bytes, MPI_INFO_NULL, start, ierr)
        memory = 0
        call create_over(transfer(start, c_null_ptr), 0)
        call MPI_Free_mem(memory, ierr)
        call check(ierr == MPI_SUCCESS, 'MPI_Free_mem')
    end subroutine

    subroutine allocate_by_integer()
        integer(address) :: start
        WINDOW :: win
        integer :: ierr
        call MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, start, win, ierr)
        call all_of_it(win, transfer(start, c_null_ptr), MPI_WIN_FLAVOR_ALLOCATE)
    end subroutine
#endif

#if !defined(MPIFH)
    subroutine memory_by_c_ptr()
        type(c_ptr) :: start
        integer(int64), pointer :: memory(:)
        integer :: ierr
        call MPI_Alloc_mem(window_bytes + width, MPI_INFO_NULL, start, ierr)
        call create_over(start, 1)
        call c_f_pointer(start, memory, [1 + elements])
        call MPI_Free_mem(memory, ierr)
        call check(ierr == MPI_SUCCESS, 'MPI_Free_mem')
    end subroutine

    subroutine allocate_by_c_ptr()
        type(c_ptr) :: start
        WINDOW :: win
        integer :: ierr
        call MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, start, win, ierr)
        call all_of_it(win, start, MPI_WIN_FLAVOR_ALLOCATE)
    end subroutine
#endif
end module

program main
    use onesided
    implicit none
    call begin()
    next = mod(rank + 1, ranks)
    previous = mod(rank + ranks - 1, ranks)
#if !defined(F08)
    call memory_by_cray_pointer()
    call allocate_by_integer()
#endif
#if !defined(MPIFH)
    call memory_by_c_ptr()
    call allocate_by_c_ptr()
#endif
    call finish()
end program
