#include <cstdio>

#include "tessera/tessera.hpp"

int main() { std::printf("tessera %s\n", tessera::version()); }
