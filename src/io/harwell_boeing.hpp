#pragma once

#include <string>
#include <string_view>

#include "tessera/io.hpp"

/// Harwell-Boeing and Rutherford-Boeing files: four header lines (five with right-hand sides), then
/// by columns the column starts, the row indices and the values, in Fortran formats that the fourth
/// line names. Right-hand sides are left alone.
/// Source: I. S. Duff, R. G. Grimes, J. G. Lewis: Users' Guide for the Harwell-Boeing Sparse Matrix
/// Collection, 1992; The Rutherford-Boeing Sparse Matrix Collection, RAL-TR-97-031.
namespace tessera::io {

bool is_harwell_boeing(std::string_view text);

template <class T>
CsrMatrix<T> parse_harwell_boeing(const Context& cpu, std::string_view text,
                                  const std::string& name, const ReadOptions& options,
                                  FileFacts* facts);

}  // namespace tessera::io
