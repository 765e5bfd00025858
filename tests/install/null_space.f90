! A problem without boundary values, whose null space is the constant; b has a part in it.
program null_space
  use tessera
  implicit none
  integer(c_int32_t), parameter :: rows = 100
  integer(c_int64_t), target :: row_offsets(rows + 1)
  integer(c_int32_t), target :: column_indices(3 * rows - 2)
  real(c_double), target :: values(3 * rows - 2), b(rows), x(rows)
  real(c_double) :: vectors(rows, 1)
  type(c_ptr) :: context, matrix, solver
  type(tessera_options) :: options
  type(tessera_report) :: report
  integer(c_int32_t) :: i, j
  integer(c_int64_t) :: k

  k = 0
  do i = 0, rows - 1
    row_offsets(i + 1) = k
    do j = max(i - 1, 0), min(i + 1, rows - 1)
      k = k + 1
      column_indices(k) = j
      values(k) = merge(2d0, -1d0, i == j)
    end do
  end do
  row_offsets(rows + 1) = k
  values(1) = 1
  values(k) = 1
  do i = 1, rows
    b(i) = i - (rows + 1) / 2d0 + 1d-6
  end do
  x = 7
  vectors = 1

  call check(tessera_context_create("cpu"//c_null_char, 0, context))
  call check(tessera_matrix_create(context, tessera_double, rows, rows, k, c_loc(row_offsets), &
      c_loc(column_indices), c_loc(values), matrix))
  call check(tessera_solver_create(context, tessera_double, "cg"//c_null_char, &
      "jacobi"//c_null_char, "csr"//c_null_char, solver))
  call check(tessera_solver_set_null_space(solver, rows, 1, vectors, int(rows, c_int64_t)))
  call check(tessera_solver_setup(solver, matrix))
  call tessera_options_init(options)
  call check(tessera_solver_solve(solver, c_loc(b), c_loc(x), options, report))
  print "(a,a,i0,a)", tessera_text(tessera_status_name(report%status)), " after ", &
      report%iterations, " iterations, orthogonal to the constant"
  if (report%status /= tessera_converged) stop 1
  if (abs(sum(x)) > 1d-12 * sum(abs(x))) stop 2
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
