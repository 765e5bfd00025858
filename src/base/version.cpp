#include TESSERA_COMMIT_FILE

#include "tessera/types.hpp"

namespace tessera {

const char* version() { return TESSERA_VERSION; }
const char* commit() { return TESSERA_COMMIT; }

}  // namespace tessera
