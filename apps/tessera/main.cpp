#include "run/interrupt.hpp"
#include "run_program.hpp"

int main(int argc, char** argv) {
    tessera::cli::handle_signals();
    return tessera::cli::run_program(argc, argv);
}
