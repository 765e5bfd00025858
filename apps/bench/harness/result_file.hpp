#pragma once

#include "harness/bench.hpp"

namespace tessera::bench {

/// A result file that is whole at any time: what is saved is written to FILE.tmp, which then takes
/// its place. The name "-" stands for none: nothing is saved.
class ResultFile {
  public:
    explicit ResultFile(std::string name);

    /// Throws where the file cannot be written.
    void save(const Json& document) const;

    /// The document that is there, null where there is none. Throws where it holds something else.
    Json read() const;

    /// After so many seconds (0: never) SIGALRM saves `document` and ends the program. One at a
    /// time in a program.
    void save_and_end_after(int seconds, const Json& document) const;
    static void go_on();  ///< Calls that off.

  private:
    bool in_place() const;  ///< A device or a pipe, which another file must not replace.

    std::string name_;
};

/// The rows of `before`, the document of an earlier run (null: none), for one that goes on with the
/// header `now`. Each has the commit that measured it where that is not the one of `now`. Throws,
/// naming the field, where the rows were measured with other settings.
Json rows_before(const Json& before, const Json& now);

}  // namespace tessera::bench
