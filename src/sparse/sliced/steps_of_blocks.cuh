#pragma once

#include "gpu/for_each.cuh"
#include "sparse/sliced/steps.hpp"

// Loops over slices with blocks of one size; those of each size in an object file of its own, as
// all kernels of a file are loaded with the first one.
#define TESSERA_FOR_EACH(...) \
    template void for_each_index(const Context&, Offset, const sliced::__VA_ARGS__&);
#define TESSERA_VALUES(B, Stored)                   \
    TESSERA_FOR_EACH(FillValues<B, Stored, float>)  \
    TESSERA_FOR_EACH(FillValues<B, Stored, double>) \
    TESSERA_FOR_EACH(FillFromBlocks<B, Stored>)
#define TESSERA_STEPS_OF_BLOCKS(B)                       \
    namespace tessera::cuda {                            \
    TESSERA_FOR_EACH(CountBlocks<B, CsrPattern>)         \
    TESSERA_FOR_EACH(CountBlocks<B, sliced::BsrPattern>) \
    TESSERA_FOR_EACH(FillColumns<B>)                     \
    TESSERA_VALUES(B, double)                            \
    TESSERA_VALUES(B, float)                             \
    TESSERA_VALUES(B, f16)                               \
    TESSERA_VALUES(B, bf16)                              \
    }
