#include "sparse/sliced/steps_of_blocks.cuh"

TESSERA_STEPS_OF_BLOCKS(6)
