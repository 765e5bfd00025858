! Tessera for Fortran 2008: the functions of tessera.h, which describes them. Compile this file with
! the program and link -ltessera_c (pkg-config tessera_c). Texts are passed as "cg"//c_null_char;
! tessera_text turns those that functions return into Fortran strings. Indices are 0-based.
module tessera
  use, intrinsic :: iso_c_binding
  implicit none
  private :: c_strlen

  integer(c_int), parameter :: tessera_success = 0, tessera_invalid_argument = 1, &
      tessera_file_error = 2, tessera_out_of_memory = 3, tessera_device_error = 4, &
      tessera_internal_error = 5
  integer(c_int), parameter :: tessera_float = 0, tessera_double = 1
  integer(c_int), parameter :: tessera_converged = 0, tessera_max_iterations = 1, &
      tessera_max_seconds = 2, tessera_accuracy_lost = 3, tessera_stagnated = 4, &
      tessera_breakdown = 5, tessera_non_finite = 6, tessera_singular_block = 7, &
      tessera_interrupted = 8, tessera_unbalanced = 9, tessera_rounding_limit = 10, &
      tessera_least_squares = 11, tessera_singular = 12

  type, bind(c) :: tessera_options
    integer(c_size_t) :: size
    real(c_double) :: rtol, atol, max_seconds
    integer(c_int64_t) :: max_iterations, stagnation_window
    integer(c_int32_t) :: check_interval, left_preconditioning
    type(c_funptr) :: observer
    type(c_ptr) :: observer_data
  end type

  type, bind(c) :: tessera_report
    integer(c_int) :: status
    integer(c_int32_t) :: recoveries
    integer(c_int64_t) :: iterations, operator_applications, restarts
    real(c_double) :: relative_residual, true_relative_residual, seconds
  end type

  interface
    function tessera_version() bind(c) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function tessera_message() bind(c) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function tessera_context_create(device, threads, context) bind(c) result(error)
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: device(*)
      integer(c_int), value :: threads
      type(c_ptr), intent(inout) :: context
      integer(c_int) :: error
    end function
    ! stream and allocator: c_null_ptr, or those of CUDA and of tessera.h.
    function tessera_context_create_on_stream(device, stream, allocator, threads, context) &
        bind(c) result(error)
      import :: c_int, c_ptr
      integer(c_int), value :: device, threads
      type(c_ptr), value :: stream, allocator
      type(c_ptr), intent(inout) :: context
      integer(c_int) :: error
    end function
    subroutine tessera_context_free(context) bind(c)
      import :: c_ptr
      type(c_ptr), value :: context
    end subroutine
    function tessera_context_synchronize(context) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: context
      integer(c_int) :: error
    end function
    function tessera_context_description(context) bind(c) result(text)
      import :: c_ptr
      type(c_ptr), value :: context
      type(c_ptr) :: text
    end function
    function tessera_context_on_gpu(context) bind(c) result(on_gpu)
      import :: c_int, c_ptr
      type(c_ptr), value :: context
      integer(c_int) :: on_gpu
    end function

    function tessera_allocate(context, bytes, array) bind(c) result(error)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: context
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: array
      integer(c_int) :: error
    end function
    function tessera_release(context, array) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: context, array
      integer(c_int) :: error
    end function
    function tessera_copy(context, from, to, bytes) bind(c) result(error)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: context, from, to
      integer(c_size_t), value :: bytes
      integer(c_int) :: error
    end function

    function tessera_matrix_create(context, type, rows, columns, nonzeros, row_offsets, &
        column_indices, values, matrix) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type
      integer(c_int32_t), value :: rows, columns
      integer(c_int64_t), value :: nonzeros
      type(c_ptr), value :: row_offsets, column_indices, values
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: error
    end function
    function tessera_matrix_create_csr(context, type, rows, columns, nonzeros, offset_bits, &
        row_offsets, column_bits, column_indices, values, sort, matrix) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type, offset_bits, column_bits, sort
      integer(c_int32_t), value :: rows, columns
      integer(c_int64_t), value :: nonzeros
      type(c_ptr), value :: row_offsets, column_indices, values
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: error
    end function
    function tessera_matrix_create_bsr(context, type, block_rows, block_columns, block, blocks, &
        offset_bits, row_offsets, column_bits, column_indices, values, column_major, sort, &
        matrix) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type, offset_bits, column_bits, column_major, sort
      integer(c_int32_t), value :: block_rows, block_columns, block
      integer(c_int64_t), value :: blocks
      type(c_ptr), value :: row_offsets, column_indices, values
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: error
    end function
    function tessera_matrix_create_coo(context, type, rows, columns, entries, index_bits, &
        row_indices, column_indices, values, matrix) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type, index_bits
      integer(c_int32_t), value :: rows, columns
      integer(c_int64_t), value :: entries
      type(c_ptr), value :: row_indices, column_indices, values
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: error
    end function
    function tessera_matrix_update(matrix, values) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: matrix, values
      integer(c_int) :: error
    end function
    function tessera_matrix_read(context, type, path, matrix) bind(c) result(error)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: error
    end function
    subroutine tessera_matrix_free(matrix) bind(c)
      import :: c_ptr
      type(c_ptr), value :: matrix
    end subroutine
    function tessera_matrix_size(matrix, rows, columns, nonzeros) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: matrix
      integer(c_int32_t), intent(inout) :: rows, columns
      integer(c_int64_t), intent(inout) :: nonzeros
      integer(c_int) :: error
    end function
    function tessera_matrix_validate(matrix) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: matrix
      integer(c_int) :: error
    end function
    function tessera_matrix_multiply(matrix, alpha, x, beta, y) bind(c) result(error)
      import :: c_double, c_int, c_ptr
      type(c_ptr), value :: matrix, x, y
      real(c_double), value :: alpha, beta
      integer(c_int) :: error
    end function

    subroutine tessera_options_init(options) bind(c)
      import :: tessera_options
      type(tessera_options), intent(inout) :: options
    end subroutine
    function tessera_solver_create(context, type, solver, preconditioner, format, created) &
        bind(c) result(error)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: context
      integer(c_int), value :: type
      character(kind=c_char), intent(in) :: solver(*), preconditioner(*), format(*)
      type(c_ptr), intent(inout) :: created
      integer(c_int) :: error
    end function
    subroutine tessera_solver_free(solver) bind(c)
      import :: c_ptr
      type(c_ptr), value :: solver
    end subroutine
    function tessera_solver_set_null_space(solver, rows, columns, vectors, leading_dimension) &
        bind(c) result(error)
      import :: c_double, c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: solver
      integer(c_int32_t), value :: rows, columns
      real(c_double), intent(in) :: vectors(*)
      integer(c_int64_t), value :: leading_dimension
      integer(c_int) :: error
    end function
    function tessera_solver_setup(solver, matrix) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: solver, matrix
      integer(c_int) :: error
    end function
    function tessera_solver_update(solver, matrix) bind(c) result(error)
      import :: c_int, c_ptr
      type(c_ptr), value :: solver, matrix
      integer(c_int) :: error
    end function
    function tessera_solver_solve(solver, b, x, options, report) bind(c) result(error)
      import :: c_int, c_ptr, tessera_options, tessera_report
      type(c_ptr), value :: solver, b, x
      type(tessera_options), intent(in) :: options
      type(tessera_report), intent(inout) :: report
      integer(c_int) :: error
    end function
    function tessera_solver_solve_vectors(solver, count, b, b_leading, x, x_leading, options, &
        reports) bind(c) result(error)
      import :: c_int, c_int32_t, c_int64_t, c_ptr, tessera_options, tessera_report
      type(c_ptr), value :: solver, b, x
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: b_leading, x_leading
      type(tessera_options), intent(in) :: options
      type(tessera_report), intent(inout) :: reports(*)
      integer(c_int) :: error
    end function
    function tessera_solver_message(solver) bind(c) result(text)
      import :: c_ptr
      type(c_ptr), value :: solver
      type(c_ptr) :: text
    end function
    function tessera_solver_json(solver) bind(c) result(text)
      import :: c_ptr
      type(c_ptr), value :: solver
      type(c_ptr) :: text
    end function
    function tessera_status_name(status) bind(c) result(text)
      import :: c_int, c_ptr
      integer(c_int), value :: status
      type(c_ptr) :: text
    end function

    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! A text that a function returned; empty for null.
  function tessera_text(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: characters(:)
    integer :: i, length
    length = 0
    if (c_associated(text)) length = int(c_strlen(text))
    allocate (character(len=length) :: string)
    if (length == 0) return
    call c_f_pointer(text, characters, [length])
    do i = 1, length
      string(i:i) = characters(i)
    end do
  end function
end module
