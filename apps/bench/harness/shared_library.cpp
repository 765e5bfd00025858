#include "harness/shared_library.hpp"

#include <dlfcn.h>

#include <cstdio>

#include "tessera/types.hpp"

namespace tessera::bench {

SharedLibrary::SharedLibrary(const char* peer, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle_ == nullptr) {
        std::fprintf(stderr,
                     "tessera-bench: %s is left out: no %s (LD_LIBRARY_PATH may name its folder)\n",
                     peer, *names.begin());
    }
}

void* SharedLibrary::address(const std::string& name) const {
    void* const found = dlsym(handle_, name.c_str());
    if (found == nullptr) throw Error("the library lacks the function " + name);
    return found;
}

}  // namespace tessera::bench
