#pragma once

#include <functional>
#include <new>
#include <string>

#include "commands/commands.hpp"
#include "run/output.hpp"
#include "tessera/types.hpp"

namespace tessera::cli {

/// Collects the errors of several outputs, so that a full disk does not cost the others, which may
/// have taken long to compute.
class Failures {
  public:
    /// write(), unless it is not wanted; false if it failed.
    bool attempt(bool wanted, const std::function<void()>& write) {
        if (!wanted) return true;
        try {
            write();
            return true;
        } catch (const OutOfMemory& error) {
            add(error.what(), true);
        } catch (const std::bad_alloc&) {
            add("out of memory for an output", true);
        } catch (const Error& error) {
            add(error.what(), false);
        }
        return false;
    }

    /// Prints what failed; returns the exit code, 0 if nothing failed. (An exception would lead to
    /// a second report as JSON.)
    int report() const {
        if (text_.empty()) return exit_converged;
        print_note(text_);
        return out_of_memory_ ? exit_out_of_memory : exit_usage;
    }

  private:
    void add(const std::string& reason, bool out_of_memory) {
        text_ += (text_.empty() ? "" : "; ") + reason;
        out_of_memory_ = out_of_memory_ || out_of_memory;
    }

    std::string text_;
    bool out_of_memory_ = false;
};

}  // namespace tessera::cli
