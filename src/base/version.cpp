#include "tessera/report.hpp"

namespace tessera {

const char* version() { return TESSERA_VERSION; }
const char* commit() { return *TESSERA_COMMIT != '\0' ? TESSERA_COMMIT : "unknown"; }

}  // namespace tessera
