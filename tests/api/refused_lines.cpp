// Lines that do not compile, one for each LINE: the compiler's message names the call to use.
#include <tessera/tessera.hpp>

void use(const tessera::Context& context, const tessera::CsrMatrix<double>& matrix,
         const tessera::Buffer<double>& b, tessera::Buffer<double>& x) {
    using namespace tessera;
    fill(context, 0, x);
#if LINE == 1
    multiply(context, 1.0, matrix, b, 0.0, x);
#elif LINE == 2
    double sum = dot(context, b, x);
    fill(context, sum, x);
#elif LINE == 3
    Solver<double> solver(context);
    solver.setup(copy_to(context, matrix));
#elif LINE == 4
    CsrOperator<double> product(context, copy_to(context, matrix));
#endif
}
