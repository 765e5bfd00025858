#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/csr.hpp"
#include "tessera/mesh.hpp"

namespace tessera::io {

enum class Symmetry : std::uint8_t { general, symmetric, skew_symmetric };

/// The header of a matrix file, and the number of duplicates.
struct FileHeader {
    std::string format;  ///< "Matrix Market", "Rutherford-Boeing", "Harwell-Boeing", "PETSc".
    std::string field;   ///< "real", "integer", "pattern".
    Symmetry symmetry = Symmetry::general;
    Offset duplicates = 0;  ///< Entries that were summed into another one.
    /// The first right-hand side in the file of a matrix: a full one of a Harwell-Boeing file, a
    /// vector after a PETSc matrix, rhs of an AMGX system. Empty: none.
    std::vector<double> right_hand_side = {};
    std::string note = {};  ///< What the file has and was not read, in a sentence; or empty.
};

/// Reads a sparse matrix into host memory of `cpu` (a CPU context, whose threads parse): Matrix
/// Market (all but complex, also systems of AMGX), Harwell-Boeing and Rutherford-Boeing
/// (assembled), PETSc binary (32-bit indices; the first object), each also gzipped; recognised by
/// content. Right-hand sides in these files are read if there is a `header` for them. Symmetric
/// files are expanded (either triangle may hold an entry), duplicates summed in file order, columns
/// sorted; the zeros of dense forms are not stored. The result does not depend on the threads. The
/// file is read in pieces, and memory is allocated as entries are found, so that it may be a pipe
/// and its header need not be correct. Throws ParseError with the first bad line, also for lines of
/// more than 1 MiB, values that are not finite, integers that a double cannot hold (files of field
/// real may have them), sizes the file is too short for (more than max(2^20, 16 x file bytes) rows
/// or columns, unless `allow_empty_rows`), a file that another program changed while it was read,
/// and values that must not be rounded to T (float_range_fault); OutOfMemory before it allocates
/// memory that is not free.
template <class T>
TESSERA_API CsrMatrix<T> read_matrix(const Context& cpu, const std::string& path,
                                     FileHeader* header = nullptr, bool allow_empty_rows = false);

/// Reads a vector: a Matrix Market file with one column or one row, a PETSc binary vector, or plain
/// text of numbers alone; errors as read_matrix.
template <class T>
TESSERA_API std::vector<T> read_vector(const Context& cpu, const std::string& path);

/// Reads vectors of `rows` elements, one after the other: as read_vector, or the columns of a dense
/// array, of Matrix Market or of plain text with equally many numbers in each line. In plain text
/// `rows` may stand before the elements. Throws ParseError for other lengths.
template <class T>
TESSERA_API std::vector<T> read_vectors(const Context& cpu, const std::string& path, Index rows);

/// Writes a matrix in host memory; the ending chooses the format: .mtx, .mtx.gz (Matrix Market
/// coordinate real; numbers read back bitwise), .petsc (32-bit indices). `symmetry` other than
/// general writes the lower triangle (PETSc: all). Throws InvalidArgument if the matrix does not
/// have that symmetry, for another ending and for values that are not finite, and Error if the file
/// cannot be written. The bytes do not depend on the threads. A file is replaced atomically, also
/// if the process is killed or another one writes the same file: see write_file.
template <class T>
TESSERA_API void write_matrix(const Context& cpu, const std::string& path, const CsrView<T>& matrix,
                              Symmetry symmetry = Symmetry::general);
TESSERA_ACCEPT_OWNERS(write_matrix)
/// Writes a vector in host memory in Matrix Market's array form; otherwise as write_matrix.
template <class T>
TESSERA_API void write_vector(const Context& cpu, const std::string& path,
                              std::span<const T> vector);
/// Writes vectors of equal length, one after the other in memory, as the columns of an array; one
/// alone in a PETSc file.
template <class T>
TESSERA_API void write_vectors(const Context& cpu, const std::string& path,
                               std::span<const T> vectors, int count);
/// A std::vector, or a std::span or Buffer that may be written.
template <class Vector>
requires requires(const Vector& vector) {
    { *vector.data() } -> std::convertible_to<double>;
}
void write_vector(const Context& cpu, const std::string& path, const Vector& vector) {
    using T = std::remove_cvref_t<decltype(*vector.data())>;
    write_vector<T>(cpu, path, std::span<const T>(vector));
}

/// Reads a Gmsh .msh file of version 4.1 or 2.2 (text or binary in either byte order, also gzipped)
/// into host memory of `cpu`, a CPU context.
/// - The mesh has three dimensions where there are tetrahedra or hexahedra, else two, and then lies
///   in a plane z = constant (to 1e-10 of its extent), whose z is dropped.
/// - Elements are the cells of that dimension, by shape and within one shape in file order; those
///   of the wrong orientation are reversed. Nodes are numbered by their tags; those that no element
///   has are dropped.
/// - Physical groups of the mesh's dimension are the regions, by increasing tag; elements in none
///   are a region with an empty name, unless there are no such groups at all. The region of an
///   element in several groups is that of the smallest tag; those of them that have elements of
///   other regions are groups, too.
/// - Physical groups of lower dimension are the groups; their cells keep the file's orientation,
///   reversed where a curve or surface is in its group with a minus sign. A group without a name is
///   "point1", "curve1", "surface1", "volume1" by its tag.
/// - Partitions are joined, elements of ghost entities left out.
/// Throws ParseError with the file and its line (of binary files the byte): also for elements of
/// higher order, prisms and pyramids, elements that are degenerate, fold over or repeat another of
/// their group, missing nodes, two groups of one name, a file with one of several partitions, a
/// file that was changed meanwhile. Throws OutOfMemory as read_matrix.
TESSERA_API Mesh read_mesh(const Context& cpu, const std::string& path);

/// Numbers at the nodes or in the elements of a mesh: `components` each, one node or element after
/// the other. The values belong to the caller.
struct MeshField {
    std::string name;
    int components = 1;
    std::span<const double> values;
    std::vector<std::string> component_names = {};  ///< One for each component, or none.
};

/// Writes a mesh in host memory with fields on it as a VTK unstructured grid (.vtu: XML with
/// appended raw data). Points, and fields of two components, get a third that is zero. Regions are
/// the cell data "region". Throws InvalidArgument for fields without a name, of one name, with
/// other than one name for each component, or not of the mesh's size, and as validate(mesh); errors
/// of writing as write_matrix.
TESSERA_API void write_vtu(const Context& cpu, const std::string& path, const Mesh& mesh,
                           const std::vector<MeshField>& node_fields = {},
                           const std::vector<MeshField>& element_fields = {});

/// Writes a file with these bytes. They go to a temporary file in the same folder, ".tessera-" and
/// twelve random characters, which is renamed at the end: of two writers at once the later one
/// wins, and a failure leaves the file unchanged. Symbolic links are followed, and the file that
/// they name, which need not exist, is replaced; its permissions are kept. Devices, pipes and open
/// files of a process (/dev/stdout, /proc/self/fd/1) are written in place. Throws Error with the
/// reason. The temporary file remains only if a signal ends the process: see
/// remove_temporary_files.
TESSERA_API void write_file(const std::string& path, std::string_view bytes);

/// Throws the Error with which write_file would fail now, except for a full disk. Changes nothing.
TESSERA_API void check_writable(const std::string& path);

/// Removes the temporary files of all unfinished writes of this process, which then fail, and
/// returns their number. Async-signal-safe: for a program's own handlers of signals that end it
/// (the library installs none). Of more than 64 writes at once the others are left.
TESSERA_API int remove_temporary_files() noexcept;

/// While it lives, a signal that interrupts the calling thread where it opens, reads or writes a
/// file (EINTR) calls `handler`, after which that goes on; what `handler` throws ends it. Without
/// one it goes on at once. Of several the latest one is called.
class TESSERA_API InterruptHandler {
  public:
    explicit InterruptHandler(std::function<void()> handler);
    InterruptHandler(const InterruptHandler&) = delete;
    InterruptHandler& operator=(const InterruptHandler&) = delete;
    ~InterruptHandler();

  private:
    friend void handle_interrupt();
    std::function<void()> handler_;
    InterruptHandler* before_;
};

/// The text for a terminal: each byte of a control character, and each that is not valid UTF-8, as
/// "\x1b". For names and messages from outside, which may contain control sequences.
TESSERA_API std::string printable(std::string_view text);

}  // namespace tessera::io
