! COMMON blocks, saved arrays and module variables as windows, in a program that knows nothing of
! the library.
module field
  implicit none
  double precision :: of_module(1000) = 1.5d0
end module field

program statics
  use field
  implicit none
  include 'mpif.h'
  integer, save :: saved(2000) = 7
  double precision :: in_common(500)
  integer :: filler
  common /block/ in_common, filler
  integer :: rank, ranks, next, last, error, bad
  bad = 0
  in_common = 2.5d0
  filler = 33
  saved(2) = 8
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  if (any(in_common /= 2.5d0) .or. filler /= 33 .or. saved(1) /= 7 .or. saved(2) /= 8) bad = bad + 1
  if (any(of_module /= 1.5d0)) bad = bad + 1
  call put_real(in_common, 500)
  call put_real(of_module, 1000)
  call put_integer(saved, 2000)
  if (in_common(10) /= last + 0.5d0 .or. in_common(11) /= 2.5d0 .or. filler /= 33) bad = bad + 1
  if (of_module(10) /= last + 0.5d0 .or. of_module(9) /= 1.5d0) bad = bad + 1
  if (saved(10) /= last .or. saved(11) /= 7) bad = bad + 1
  if (bad /= 0) print *, 'rank', rank, ':', bad, 'things are wrong'
  call MPI_Finalize(error)
  if (bad /= 0) stop 1
contains
  subroutine put_real(x, n)
    integer, intent(in) :: n
    double precision :: x(n)
    integer :: win
    integer(kind=MPI_ADDRESS_KIND) :: bytes, there
    double precision :: value
    bytes = 8 * n
    there = 9
    value = rank + 0.5d0
    call MPI_Win_create(x, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call MPI_Win_fence(0, win, error)
    call MPI_Put(value, 1, MPI_DOUBLE_PRECISION, next, there, 1, MPI_DOUBLE_PRECISION, win, error)
    call MPI_Win_fence(0, win, error)
    call MPI_Win_free(win, error)
  end subroutine
  subroutine put_integer(x, n)
    integer, intent(in) :: n
    integer :: x(n)
    integer :: win
    integer(kind=MPI_ADDRESS_KIND) :: bytes, there
    bytes = 4 * n
    there = 9
    call MPI_Win_create(x, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call MPI_Win_fence(0, win, error)
    call MPI_Put(rank, 1, MPI_INTEGER, next, there, 1, MPI_INTEGER, win, error)
    call MPI_Win_fence(0, win, error)
    call MPI_Win_free(win, error)
  end subroutine
end program statics
