#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"
#include "io/matrix_market.hpp"
#include "io/output_file.hpp"
#include "io/petsc_binary.hpp"
#include "io/text.hpp"

namespace tessera::io {

namespace {

enum class Ending : std::uint8_t { mtx, mtx_gz, petsc };

Ending ending_of(const std::string& path) {
    if (path.ends_with(".mtx")) return Ending::mtx;
    if (path.ends_with(".mtx.gz")) return Ending::mtx_gz;
    if (path.ends_with(".petsc")) return Ending::petsc;
    throw InvalidArgument(path + ": the ending chooses the format. Valid: .mtx, .mtx.gz, .petsc");
}

/// Throws InvalidArgument that names the first number that would not be read back.
template <class T>
void check_finite(const Context& cpu, const char* what, std::span<const T> values) {
    const Offset size = Offset(values.size());
    const Offset parts = std::max<Offset>(1, size / parallel_grain);
    std::vector<Offset> bad(static_cast<std::size_t>(parts), size);
    parallel_parts(cpu.threads(), size, parts, [&](Offset part, Offset first, Offset last) {
        const T* const begin = values.data() + first;
        const T* const end = values.data() + last;
        const T* const at = std::find_if_not(begin, end, [](T x) { return std::isfinite(x); });
        if (at != end) bad[std::size_t(part)] = at - values.data();
    });
    const Offset first_bad = *std::min_element(bad.begin(), bad.end());
    if (first_bad < size) {
        throw InvalidArgument(std::string(what) + ": value " + std::to_string(first_bad) +
                              " (counted from 0) is not finite and could not be read back");
    }
}

/// What breaks the symmetry at entry k of row i; empty if nothing does.
template <class T>
std::string asymmetry(const CsrView<T>& matrix, Index i, Offset k, bool skew) {
    const Index j = matrix.column_indices[k];
    const T value = matrix.values[k];
    const auto place = [](Index row, Index column) {
        return "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
    };
    if (i == j) {
        return skew && value != 0 ? "entry " + place(i, i) + " is not 0" : "";
    }
    const Index* const begin = matrix.column_indices + matrix.row_offsets[j];
    const Index* const end = matrix.column_indices + matrix.row_offsets[j + 1];
    const Index* const image = std::lower_bound(begin, end, i);
    if (image == end || *image != i) {
        return "entry " + place(i, j) + " is stored, " + place(j, i) + " is not";
    }
    if (matrix.values[image - matrix.column_indices] == (skew ? -value : value)) return "";
    return "entries " + place(i, j) + " and " + place(j, i) + " differ" +
           (skew ? " other than in sign" : "");
}

/// Throws InvalidArgument that names the first entry at fault (0-based).
template <class T>
void check_symmetry(const Context& cpu, const CsrView<T>& matrix, Symmetry symmetry) {
    if (symmetry == Symmetry::general) return;
    const bool skew = symmetry == Symmetry::skew_symmetric;
    const std::string what = std::string("write_matrix: the matrix is not ") +
                             (skew ? "skew-symmetric: " : "symmetric: ");
    if (matrix.rows != matrix.columns) {
        throw InvalidArgument(what + std::to_string(matrix.rows) + " x " +
                              std::to_string(matrix.columns));
    }
    const Offset parts = std::max<Offset>(1, matrix.rows / 4096);
    std::vector<std::string> faults(static_cast<std::size_t>(parts));
    parallel_parts(cpu.threads(), matrix.rows, parts, [&](Offset part, Offset first, Offset last) {
        std::string& fault = faults[std::size_t(part)];
        for (Index i = Index(first); i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (fault.empty()) fault = asymmetry(matrix, i, k, skew);
            }
        }
    });
    for (const std::string& fault : faults) {
        if (!fault.empty()) throw InvalidArgument(what + fault);
    }
}

}  // namespace

template <class T>
void write_matrix(const Context& cpu, const std::string& path, const CsrView<T>& matrix,
                  Symmetry symmetry) {
    require_cpu(cpu, "write_matrix");
    const Ending ending = ending_of(path);
    check_finite(cpu, "write_matrix", matrix.values_span());
    check_symmetry(cpu, matrix, symmetry);
    if (ending == Ending::petsc) return write_petsc_matrix(cpu, path, matrix);
    const TextPieces text = format_matrix_market(cpu, matrix, symmetry);
    write_pieces(cpu, path, ending == Ending::mtx_gz, text.count, text.make);
}

template <class T>
void write_vector(const Context& cpu, const std::string& path, std::span<const T> vector) {
    require_cpu(cpu, "write_vector");
    const Ending ending = ending_of(path);
    check_finite(cpu, "write_vector", vector);
    if (ending == Ending::petsc) return write_petsc_vector(cpu, path, vector);
    const TextPieces text = format_matrix_market(cpu, vector);
    write_pieces(cpu, path, ending == Ending::mtx_gz, text.count, text.make);
}

#define TESSERA_INSTANTIATE(T)                                                           \
    template void write_matrix<T>(const Context&, const std::string&, const CsrView<T>&, \
                                  Symmetry);                                             \
    template void write_vector<T>(const Context&, const std::string&, std::span<const T>);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
