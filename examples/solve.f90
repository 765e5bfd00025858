! Solves a tridiagonal system from arrays of the program, and shows what an error says.
! gfortran $(pkg-config --variable=fortran_module tessera_c) solve.f90 $(pkg-config --libs tessera_c)
program solve
  use tessera
  implicit none
  integer(c_int32_t), parameter :: rows = 1000
  integer(c_int64_t), target :: row_offsets(rows + 1)
  integer(c_int32_t), target :: column_indices(3 * rows - 2)
  real(c_double), target :: values(3 * rows - 2), b(rows), x(rows)
  type(c_ptr) :: context, matrix, solver
  type(tessera_options) :: options
  type(tessera_report) :: report
  integer(c_int32_t) :: i, j
  integer(c_int64_t) :: k
  integer(c_int) :: error

  k = 0
  do i = 0, rows - 1
    row_offsets(i + 1) = k
    do j = max(i - 1, 0), min(i + 1, rows - 1)
      k = k + 1
      column_indices(k) = j
      values(k) = merge(2.5d0, -1d0, i == j)
    end do
  end do
  row_offsets(rows + 1) = k
  b = 1
  x = 0

  call check(tessera_context_create("cpu"//c_null_char, 0, context))
  call check(tessera_matrix_create(context, tessera_double, rows, rows, k, c_loc(row_offsets), &
      c_loc(column_indices), c_loc(values), matrix))
  call check(tessera_solver_create(context, tessera_double, "cg"//c_null_char, &
      "block_jacobi:8"//c_null_char, "csr"//c_null_char, solver))
  call tessera_options_init(options)
  error = tessera_solver_solve(solver, c_loc(b), c_loc(x), options, report)
  if (error /= tessera_invalid_argument) stop 1
  print "(a)", tessera_text(tessera_message())

  call check(tessera_solver_setup(solver, matrix))
  call check(tessera_solver_solve(solver, c_loc(b), c_loc(x), options, report))
  print "(a,a,i0,a)", tessera_text(tessera_status_name(report%status)), " after ", &
      report%iterations, " iterations"
  if (report%status /= tessera_converged) stop 1
  call tessera_solver_free(solver)
  call tessera_matrix_free(matrix)
  call tessera_context_free(context)

contains

  subroutine check(error)
    integer(c_int), intent(in) :: error
    if (error == tessera_success) return
    print "(a)", tessera_text(tessera_message())
    stop 1
  end subroutine
end program
