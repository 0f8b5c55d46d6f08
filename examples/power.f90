! The largest eigenvalue of a square plate's Laplacian by power iteration, as a user would write it
! with mpi_f08: every rank has some columns of the plate, MPI_Allgatherv collects all columns on all
! ranks, and MPI_Allreduce adds up the norms. Every `check_every` steps rank 0 broadcasts whether the
! error is small enough.
!
! usage: power [points per side] [maximum of iterations]
program power
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08
    implicit none

    integer, parameter :: check_every = 100
    real(real64), parameter :: enough = 1e-9_real64
    integer :: rank, ranks, side, most, first, last, r, c, step
    integer, allocatable :: counts(:), places(:)
    real(real64), allocatable :: x(:, :), y(:, :) ! with a border of zeros
    real(real64) :: dots(2), eigenvalue, wrong, all_wrong, start
    logical :: done
    character(len=20) :: text

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    side = argument(1, 64)
    most = argument(2, 100000)

    allocate (counts(ranks), places(ranks))
    places = [((side + 2) * (side * r / ranks), r = 0, ranks - 1)]
    counts = [((side + 2) * (side * (r + 1) / ranks), r = 0, ranks - 1)] - places
    first = side * rank / ranks + 1
    last = side * (rank + 1) / ranks
    allocate (x(0:side + 1, 0:side + 1), y(0:side + 1, first:last))
    x = 0
    y = 0
    do c = 1, side
        x(1:side, c) = [(real(mod((c * side + r) * 7919, 1009), real64), r = 1, side)]
    end do
    x = x / sqrt(sum(x**2))

    call MPI_Barrier(MPI_COMM_WORLD)
    start = MPI_Wtime()
    done = .false.
    eigenvalue = 0
    do step = 1, most
        do c = first, last
            y(1:side, c) = 4 * x(1:side, c) - x(0:side - 1, c) - x(2:side + 1, c) &
                           - x(1:side, c - 1) - x(1:side, c + 1)
        end do
        dots = [sum(x(:, first:last) * y), sum(y * y)]
        call MPI_Allreduce(MPI_IN_PLACE, dots, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
        eigenvalue = dots(1)
        if (mod(step, check_every) == 0) then
            wrong = sum((y - eigenvalue * x(:, first:last))**2)
            call MPI_Reduce(wrong, all_wrong, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
            if (rank == 0) done = sqrt(all_wrong) < enough
            call MPI_Bcast(done, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD)
            if (done) exit
        end if
        y = y / sqrt(dots(2))
        call MPI_Allgatherv(y, size(y), MPI_DOUBLE_PRECISION, x(:, 1:side), counts, places, &
                            MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    end do
    if (rank == 0) then
        ! These digits do not depend on the order of addition.
        print '(a, f11.9, a, i0, a)', 'eigenvalue ', eigenvalue, ' after ', step, ' iterations'
        write (text, '(f20.3)') MPI_Wtime() - start
        print '(2a)', 'seconds ', trim(adjustl(text))
    end if
    call MPI_Finalize()

contains

    integer function argument(number, default)
        integer, intent(in) :: number, default
        character(len=32) :: word
        argument = default
        if (command_argument_count() < number) return
        call get_command_argument(number, word)
        read (word, *) argument
    end function
end program
