#pragma once

#include <initializer_list>
#include <string>

namespace tessera::bench {

/// A library that is loaded at run time if it is installed.
class SharedLibrary {
  public:
    /// The first of `names` that can be opened, by the loader's rules (including LD_LIBRARY_PATH);
    /// if none can, prints on stderr that `peer` is left out.
    SharedLibrary(const char* peer, std::initializer_list<const char*> names);

    bool found() const { return handle_ != nullptr; }
    /// Throws Error if the library lacks the symbol.
    template <class Function>
    Function symbol(const std::string& name) const {
        return reinterpret_cast<Function>(address(name));
    }

  private:
    void* address(const std::string& name) const;
    void* handle_ = nullptr;
};

}  // namespace tessera::bench
