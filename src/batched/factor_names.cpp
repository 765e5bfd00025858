#include "tessera/factor.hpp"

namespace tessera::batched {

const char* to_string(Pivoting pivoting) {
    switch (pivoting) {
        case Pivoting::fixed:
            return "static";
        case Pivoting::partial:
            return "partial";
        case Pivoting::bunch_kaufman:
            return "bunch_kaufman";
        case Pivoting::rook:
            return "rook";
        case Pivoting::full:
            return "full";
    }
    throw InvalidArgument("no such pivoting");
}

const char* to_string(Factorisation factorisation) {
    switch (factorisation) {
        case Factorisation::ldu:
            return "ldu";
        case Factorisation::llt:
            return "llt";
        case Factorisation::ldlt:
            return "ldlt";
    }
    throw InvalidArgument("no such factorisation");
}

}  // namespace tessera::batched
