#pragma once

#include "harness/bench.hpp"

namespace tessera::bench {

/// To be called first: SIGINT, SIGTERM and SIGHUP then leave no temporary file.
void handle_signals();

/// A result file that is complete at any time, as it is replaced as a whole. With the name "-"
/// nothing is saved.
class ResultFile {
  public:
    /// Throws Error if the file cannot be written.
    explicit ResultFile(std::string name);

    /// Throws Error if the file cannot be written.
    void save(const Json& document) const;

    /// Prints the document if the name is "-". Throws Error if that fails.
    void print(const Json& document) const;

    /// The document in the file, null if there is none. Throws Error for other contents.
    Json read() const;

    /// After this many seconds (0: never) `document` is saved and SIGALRM ends the program. A
    /// program can have one time limit at a time.
    void set_time_limit(int seconds, const Json& document) const;
    static void cancel_time_limit();  ///< Ends the time limit.

  private:
    std::string name_;
};

/// The rows of `before`, the document of an earlier run (null: none), for a run with the header
/// `now` that continues it. Rows measured at another commit name that commit. Throws Error with the
/// name of the field if the rows were measured with other settings.
Json rows_of_earlier_run(const Json& before, const Json& now);

}  // namespace tessera::bench
