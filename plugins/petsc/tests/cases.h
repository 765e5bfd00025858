#pragma once

#include <petscksp.h>

/* Unknowns of a node. */
#define BLOCK 3

/* A symmetric, positive definite matrix of `nodes` nodes with BLOCK unknowns, or with `skew` one
   that is not symmetric: nodes couple with their neighbours and with some far ones. `mine` is the
   number of nodes of this rank, `factor` scales the couplings. */
PetscErrorCode CreateMatrix(PetscInt mine, PetscReal factor, PetscBool skew, Mat* A);
PetscErrorCode CreatePC(Mat A, PC* pc);
PetscErrorCode CreateRandom(Mat A, unsigned long seed, Vec* x);
/* Error unless x and y agree to `bound` relative to the larger one (0: bitwise). */
PetscErrorCode Compare(Vec x, Vec y, PetscReal bound, const char* what);

/* Cases of faults and of ranks without rows. */
PetscErrorCode Few(void);
PetscErrorCode Singular(void);
PetscErrorCode Repaired(void);
PetscErrorCode Types(void);
PetscErrorCode Exhausted(void);
PetscErrorCode Faults(void);
