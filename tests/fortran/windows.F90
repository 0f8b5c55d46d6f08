! Windows in Fortran, for each of the three bindings (-DMPIFH, -DMODULE or -DF08): their predefined
! attributes, attributes of the program, windows of MPI_Win_allocate_shared, and MPI_Win_shared_query
! with addresses as integers and as pointers of C, from MPI-4.1 on also in other windows. Windows of the
! same ranks follow each other, so that the library reuses the host's.
#include "harness.inc"

! mpi_f08 has addresses of memory as pointers of C only.
#if defined(F08)
#define POINTER_OR_ADDRESS type(c_ptr)
#define ADDRESS_OF(pointer) transfer(pointer, 0_address)
#else
#define POINTER_OR_ADDRESS integer(address)
#define ADDRESS_OF(pointer) pointer
#endif

module windows
    use harness
    implicit none
    integer :: deleted = 0

contains

    subroutine delete_attribute(win, keyval, attribute, extra, ierr)
        WINDOW :: win
        integer :: keyval, ierr
        integer(address) :: attribute, extra
        deleted = deleted + 1
        if (attribute /= 4200 + rank .or. extra /= 7) deleted = deleted + 100
        ierr = MPI_SUCCESS
    end subroutine

    subroutine check_predefined(win, keyval, expected, what)
        WINDOW, intent(in) :: win
        integer, intent(in) :: keyval
        integer(address), intent(in) :: expected
        character(len=*), intent(in) :: what
        integer(address) :: is
        logical :: found
        integer :: ierr
        call MPI_Win_get_attr(win, keyval, is, found, ierr)
        call check(found .and. is == expected, what)
    end subroutine

    subroutine check_attributes(win, base, bytes, unit, flavor)
        WINDOW, intent(in) :: win
        integer(address), intent(in) :: base, bytes
        integer, intent(in) :: unit, flavor
        call check_predefined(win, MPI_WIN_BASE, base, 'MPI_WIN_BASE')
        call check_predefined(win, MPI_WIN_SIZE, bytes, 'MPI_WIN_SIZE')
        call check_predefined(win, MPI_WIN_DISP_UNIT, int(unit, address), 'MPI_WIN_DISP_UNIT')
        call check_predefined(win, MPI_WIN_CREATE_FLAVOR, int(flavor, address), 'MPI_WIN_CREATE_FLAVOR')
        call check_predefined(win, MPI_WIN_MODEL, int(MPI_WIN_UNIFIED, address), 'MPI_WIN_MODEL')
    end subroutine

    ! An attribute is set in every second window, and on some ranks only in every fourth.
    subroutine attributes_of_program(win, keyval, round, expected)
        WINDOW, intent(in) :: win
        integer, intent(in) :: keyval, round
        integer, intent(inout) :: expected
        integer(address) :: is
        logical :: found
        integer :: ierr
        call MPI_Win_get_attr(win, keyval, is, found, ierr)
        call check(.not. found, 'an attribute of the window before')
        if (mod(round, 2) /= 0) return
        if (mod(round, 4) /= 0 .and. rank == 0) return
        call MPI_Win_set_attr(win, keyval, int(4200 + rank, address), ierr)
        call MPI_Win_get_attr(win, keyval, is, found, ierr)
        call check(found .and. is == 4200 + rank, 'the attribute of the window')
        expected = expected + 1
    end subroutine

    ! A rank that this one cannot access has a size of 0.
    subroutine check_query(win, base, bytes, unit)
        WINDOW, intent(in) :: win
        integer(address), intent(in) :: base, bytes
        integer, intent(in) :: unit
        integer(address) :: is
        POINTER_OR_ADDRESS :: there
        integer, volatile :: element(*)
        pointer (at, element)
        integer :: other, unit_is, version, subversion, ierr
        call MPI_Get_version(version, subversion, ierr)
        if (10 * version + subversion < 41) return
        at = base
        element(1) = 500 + rank
        call MPI_Win_fence(0, win, ierr)
        do other = 0, ranks - 1
            call MPI_Win_shared_query(win, other, is, unit_is, there, ierr)
            if (is == 0) cycle
            at = ADDRESS_OF(there)
            call check(is == bytes .and. unit_is == unit .and. element(1) == 500 + other, 'query of a window')
        end do
        call MPI_Win_fence(0, win, ierr)
    end subroutine

    subroutine created_windows()
        integer(address), parameter :: bytes = 96
        POINTER_OR_ADDRESS :: base
        integer(address) :: none
        integer, volatile :: memory(*)
        pointer (at, memory)
        WINDOW :: win
        integer :: keyval, round, expected, ierr
        expected = 0
        none = 7
        call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, keyval, none, ierr)
        call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierr)
        at = ADDRESS_OF(base)
        do round = 1, 12
            call MPI_Win_create(memory, bytes, 4 * round, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
            call check_attributes(win, ADDRESS_OF(base), bytes, 4 * round, MPI_WIN_FLAVOR_CREATE)
            call check_query(win, ADDRESS_OF(base), bytes, 4 * round)
            call attributes_of_program(win, keyval, round, expected)
            call MPI_Win_free(win, ierr)
            call check(deleted == expected, 'attributes deleted')
        end do
        call MPI_Win_free_keyval(keyval, ierr)
        call MPI_Free_mem(memory, ierr)
    end subroutine

    subroutine allocated_windows()
        integer(address), parameter :: bytes = 40
        POINTER_OR_ADDRESS :: base
        WINDOW :: win
        integer :: round, ierr
        do round = 1, 3
            call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
            call check_attributes(win, ADDRESS_OF(base), bytes, 4, MPI_WIN_FLAVOR_ALLOCATE)
            call check_query(win, ADDRESS_OF(base), bytes, 4)
            call MPI_Win_free(win, ierr)
        end do
    end subroutine

    ! Each rank has one element more than the one before.
    subroutine check_peers(win, base)
        WINDOW, intent(in) :: win
        integer(address), intent(in) :: base
        integer(address) :: bytes
        POINTER_OR_ADDRESS :: there
        integer, volatile :: element(*)
        pointer (at, element)
        integer :: other, unit, ierr
        at = base
        element(1) = 1000 + rank
        call MPI_Win_fence(0, win, ierr)
        do other = 0, ranks - 1
            call MPI_Win_shared_query(win, other, bytes, unit, there, ierr)
            call check(bytes == 4 * (other + 1) .and. unit == 4, 'size and unit of a peer')
            at = ADDRESS_OF(there)
            call check(element(1) == 1000 + other, 'memory of a peer')
        end do
        call MPI_Win_shared_query(win, MPI_PROC_NULL, bytes, unit, there, ierr)
        at = ADDRESS_OF(there)
        call check(element(1) == 1000, 'memory of the first rank')
        call MPI_Win_fence(0, win, ierr)
    end subroutine

    subroutine shared_windows()
        POINTER_OR_ADDRESS :: base
        WINDOW :: win
        integer :: round, ierr
        do round = 1, 3
            call MPI_Win_allocate_shared(int(4 * (rank + 1), address), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &
                                         base, win, ierr)
            call check_attributes(win, ADDRESS_OF(base), int(4 * (rank + 1), address), 4, MPI_WIN_FLAVOR_SHARED)
            call check_peers(win, ADDRESS_OF(base))
            call MPI_Win_free(win, ierr)
        end do
    end subroutine

#if !defined(MPIFH)
    ! The interfaces for pointers of C
    subroutine shared_windows_by_pointer()
        type(c_ptr) :: base, there
        integer, pointer, volatile :: element(:)
        integer(address) :: bytes
        WINDOW :: win
        integer :: other, unit, ierr
        call MPI_Win_allocate_shared(int(4 * (rank + 1), address), 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, &
                                     win, ierr)
        call c_f_pointer(base, element, [rank + 1])
        element = 2000 + rank
        call MPI_Win_fence(0, win, ierr)
        do other = 0, ranks - 1
            call MPI_Win_shared_query(win, other, bytes, unit, there, ierr)
            call c_f_pointer(there, element, [other + 1])
            call check(bytes == 4 * (other + 1) .and. all(element == 2000 + other), 'memory by pointer')
        end do
        call MPI_Win_fence(0, win, ierr)
        call MPI_Win_free(win, ierr)
    end subroutine
#endif
end module

program main
    use windows
    implicit none
    call begin()
    call created_windows()
    call allocated_windows()
    call shared_windows()
#if !defined(MPIFH)
    call shared_windows_by_pointer()
#endif
    call finish()
end program
