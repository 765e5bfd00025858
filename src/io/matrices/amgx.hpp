#pragma once

#include "io/matrices/assemble.hpp"

/// Systems as AMGX writes them: Matrix Market text whose second line begins with %%NVAMG or %%AMGX.
namespace tessera::io {

/// The words of that line.
struct AmgxWords {
    bool found = false;
    Index block_rows = 1, block_columns = 1;
    bool separate_diagonal = false;  ///< Diagonal blocks follow the entries, by rows.
    bool right_hand_side = false;
    bool solution = false;
    bool from_zero = false;  ///< Indices begin at 0.
};

/// Whether a comment of a Matrix Market file, without blanks around it, is that line; then it fills
/// `to`. Rejects sizes of blocks below 1.
bool parse_amgx_words(std::string_view line, AmgxWords& to);

/// The matrix of the text after the line of sizes. A right-hand side goes to the header of the
/// file; a solution is not read.
CsrMatrix<double> parse_amgx_body(InputFile& file, const MatrixHeader& header,
                                  const AmgxWords& words);

}  // namespace tessera::io
