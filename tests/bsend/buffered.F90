! Buffered sends from Fortran: blocking, nonblocking, with a datatype, persistent, and detaching the
! buffer. The file is compiled for each of the language's bindings: with -DMPIFH, -DMODULE or -DF08.
#include "harness.inc"

program buffered
    use harness
    implicit none
    integer, parameter :: n = 20000, messages = 8
    integer, allocatable, target :: room(:)
    integer, asynchronous, target :: out(n) ! a persistent request refers to it
    integer :: in(n), grid(2, n), packed, i, kind, length, ierr
    REQUEST :: started, persistent
    DATATYPE :: row
#if defined(F08)
    type(MPI_Status) :: status
    type(c_ptr) :: back
#else
    integer :: status(MPI_STATUS_SIZE)
    integer :: back(1)
#endif

    call begin()
    call MPI_Pack_size(n, MPI_INTEGER, MPI_COMM_WORLD, packed, ierr)
    length = 4 * (packed + MPI_BSEND_OVERHEAD)
    allocate (room(length / 4))
    call MPI_Buffer_attach(room, length, ierr)
    call MPI_Type_vector(n, 1, 2, MPI_INTEGER, row, ierr)
    call MPI_Type_commit(row, ierr)
    out = [(3 * i, i = 1, n)]
    grid(1, :) = out
    grid(2, :) = -1
    call MPI_Bsend_init(out, n, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, persistent, ierr)
    do kind = 0, 3
        do i = 1, messages
            if (i == 6) out(n) = out(n) + 1
            if (rank == 0) call send()
            if (rank == 1) call receive()
            call MPI_Barrier(MPI_COMM_WORLD, ierr)
        end do
    end do
    call MPI_Request_free(persistent, ierr)
    call MPI_Type_free(row, ierr)
    length = -1
    call MPI_Buffer_detach(back, length, ierr)
    call check(length == 4 * (packed + MPI_BSEND_OVERHEAD), 'MPI_Buffer_detach: size')
#if defined(F08)
    call check(transfer(back, 0_c_intptr_t) == loc(room), 'MPI_Buffer_detach: address')
#endif
    deallocate (room)
    call finish()

contains

    subroutine send()
        select case (kind)
        case (0)
            call MPI_Bsend(out, n, MPI_INTEGER, 1, kind, MPI_COMM_WORLD, ierr)
        case (1)
            call MPI_Ibsend(out, n, MPI_INTEGER, 1, kind, MPI_COMM_WORLD, started, ierr)
            call MPI_Wait(started, MPI_STATUS_IGNORE, ierr)
        case (2)
            grid(1, :) = out
            call MPI_Bsend(grid, 1, row, 1, kind, MPI_COMM_WORLD, ierr)
        case (3)
            call MPI_Start(persistent, ierr)
            call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierr)
        end select
        call check(ierr == MPI_SUCCESS, 'a buffered send')
    end subroutine

    subroutine receive()
        integer :: count
        in = -1
        call MPI_Recv(in, n, MPI_INTEGER, 0, kind, MPI_COMM_WORLD, status, ierr)
        call MPI_Get_count(status, MPI_INTEGER, count, ierr)
        call check(count == n, 'the count')
        call check(all(in == out), 'the received data, kind '//achar(48 + kind))
    end subroutine
end program
