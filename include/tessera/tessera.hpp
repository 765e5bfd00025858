#pragma once

/// All of Tessera's public API.
#include "tessera/batched.hpp"
#include "tessera/blocks.hpp"
#include "tessera/context.hpp"
#include "tessera/csr.hpp"
#include "tessera/elasticity.hpp"
#include "tessera/error.hpp"
#include "tessera/io.hpp"
#include "tessera/krylov.hpp"
#include "tessera/mesh.hpp"
#include "tessera/meshes.hpp"
#include "tessera/operator.hpp"
#include "tessera/precond.hpp"
#include "tessera/problems.hpp"
#include "tessera/report.hpp"
#include "tessera/spec.hpp"
#include "tessera/vector_ops.hpp"
