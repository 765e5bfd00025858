#include "run_program.hpp"

int main(int argc, char** argv) { return tessera::cli::run_program(argc, argv); }
