#pragma once

#include <string>
#include <string_view>

#include "tessera/io.hpp"

/// PETSc's binary files: big-endian; 32-bit integers, 64-bit reals. A matrix is its class id
/// 1211216, rows, columns, nonzeros, the lengths of all rows, the columns of all entries, their
/// values; a dense matrix has -1 nonzeros and its values row by row. A vector is its class id
/// 1211214, its size, its values. Objects may follow one another; the first one is read.
namespace tessera::io {

/// Also true for files that look like PETSc's but cannot be read (64-bit integers, other byte
/// order); reading them says so.
bool is_petsc_binary(std::string_view bytes);

template <class T>
CsrMatrix<T> parse_petsc_matrix(const Context& cpu, std::string_view bytes, const std::string& name,
                                const ReadOptions& options, FileFacts* facts);

template <class T>
std::vector<T> parse_petsc_vector(const Context& cpu, std::string_view bytes,
                                  const std::string& name);

/// Throw InvalidArgument for more entries than 32 bits count.
template <class T>
void write_petsc_matrix(const Context& cpu, const std::string& path, const CsrView<T>& matrix);
template <class T>
void write_petsc_vector(const Context& cpu, const std::string& path, std::span<const T> vector);

}  // namespace tessera::io
