#pragma once

#include <functional>
#include <string>
#include <vector>

#include "system/structure.hpp"
#include "tessera/amg.hpp"
#include "tessera/csr.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

/// The Context by which the matrix of a mesh, of about so many entries, is assembled.
using AssemblyContext = std::function<Context(Offset nonzeros)>;

/// A matrix from a file or a generator, in host memory unless `is_on_gpu`.
template <class T>
struct System {
    CsrMatrix<T> matrix;
    bool is_on_gpu = false;  ///< The matrix of a mesh that was assembled there.
    /// The problem's own right-hand side, or those of load cases one after the other; may be empty.
    std::vector<T> load;
    Shared<NodeCoordinates> coordinates;  ///< Nodes of an elastic body; may be empty.
    /// Near-null vectors where the coordinates do not tell them: nodes have axes of their own.
    Shared<NearNullSpace> near_null;
    bool known_singular = false;
    std::string name;
    io::FileHeader file;                   ///< Empty format: generated.
    std::shared_ptr<Structure> structure;  ///< Null unless the system is made of a mesh.
};

/// Whether a text names a file, which may be one that cannot be read (a link to nowhere or to
/// itself, or in a closed folder): reading it then says why.
bool is_file_name(const std::string& text);

/// Reads the file `text` if it exists, else generates the problem of that name. If there is
/// neither, throws InvalidArgument with the most similar names. A mesh needs the options `mesh`;
/// with nullptr it is rejected. `needs_load`: see make_model. Without `where`, and in float, meshes
/// are assembled on the host.
template <class T>
System<T> load_system(const Context& host, const std::string& text, bool allow_empty_rows,
                      const MeshArguments* mesh = nullptr, bool needs_load = true,
                      const AssemblyContext& where = {});

}  // namespace tessera::cli
