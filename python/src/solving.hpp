#pragma once

#include <chrono>

#include "core.hpp"

// Options, vectors and reports of solves, as Python has them.

namespace python_module {

/// Options of a solve, as Python passes them.
struct Options {
    std::optional<double> rtol;
    double atol = 0;
    Offset max_iterations = 10000;
    double max_seconds = std::numeric_limits<double>::infinity();
    Offset stagnation_window = 2000;
    bool left = false;
    bool signals = false;  ///< Ctrl-C is looked at: the caller is the main thread.
    nb::object callback = nb::none();
    Address iterate = 0;  ///< Where x is copied to before each call of the callback; 0: it is not.
};

using Clock = std::chrono::steady_clock;

/// Passes progress to the callback, and throws for Ctrl-C. Without a callback the lock of the
/// interpreter is taken fifty times a second at most.
class Observer {
  public:
    explicit Observer(const Options& options)
        : callback_(options.callback.is_none() ? nb::handle() : nb::handle(options.callback)),
          signals_(options.signals),
          iterate_(options.iterate) {}

    bool operator()(const Progress& progress) {
        const Clock::time_point now = Clock::now();
        const bool look = signals_ && now - latest_ > std::chrono::milliseconds(20);
        if (!look && !callback_) return true;
        if (iterate_ != 0 && progress.copy_x) progress.copy_x(pointer<void>(iterate_));
        const WithLock lock;
        if (look) {
            latest_ = now;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        if (!callback_) return true;
        const nb::object answer =
            call_python(callback_, progress.iterations, progress.relative_residual, progress.target,
                        progress.seconds, progress.vector);
        return !answer.is(nb::bool_(false));
    }

  private:
    nb::handle callback_;  // The caller holds it during the call.
    bool signals_;
    Address iterate_;
    Clock::time_point latest_ = Clock::now();
};

inline SolveOptions to_options(const Options& given) {
    SolveOptions options;
    options.rtol = given.rtol;
    options.atol = given.atol;
    options.max_iterations = given.max_iterations;
    options.max_seconds = given.max_seconds;
    options.stagnation_window = given.stagnation_window;
    options.left_preconditioning = given.left;
    if (!given.callback.is_none()) options.check_interval = 1;
    if (given.signals || !given.callback.is_none()) options.observer = Observer(given);
    return options;
}

inline AnyDict to_python(const SolveReport& report) {
    nb::dict result;
    for_each_field(report, [&](const char* name, const auto& value) { result[name] = value; });
    return result;
}

inline AnyList to_python(const std::vector<SolveReport>& reports) {
    nb::list list;
    for (const SolveReport& report : reports) list.append(to_python(report));
    return list;
}

/// Right-hand sides and solutions: columns of column-major arrays, x also the start. `on_host`:
/// in host memory, whatever the Context.
struct Systems {
    Offset rows = 0, count = 1;
    Address b = 0;
    Offset b_leading = 0;
    Address x = 0;
    Offset x_leading = 0;
    bool on_host = false;
};

}  // namespace python_module
