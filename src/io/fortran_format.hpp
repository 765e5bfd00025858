#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// One number of a line that a Fortran format lays out.
struct FortranField {
    std::size_t begin;  ///< First column of the line, from 0.
    std::size_t width;
    std::size_t decimals;  ///< Digits behind the point where the text has none.
    int scale;             ///< k of kP: a text without exponent stands for its number over 10^k.
    bool integer;
};

/// Takes a format such as (13I6), (1P,5D16.8), (3(1X,E22.15)) apart: the numbers of one line.
/// Formats that do not start anew on each line (groups behind numbers) are refused. Returns an
/// empty text, or what is wrong with the format.
std::string parse_fortran_format(std::string_view text, std::vector<FortranField>& fields);

/// The text of a field as parse_real takes it: blanks out, implied point and scale put in.
std::string fortran_number(std::string_view text, const FortranField& field);

}  // namespace tessera::io
