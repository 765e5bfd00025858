#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "krylov/method.hpp"

namespace tessera {

/// Enqueues the iterations of a method in batches, between which the host checks convergence; a
/// batch is a graph from its second time on. Graphs stay from solve to solve of one right-hand
/// side.
template <class T>
class IterationBatches {
  public:
    IterationBatches(const Context& context, bool can_be_captured)
        : context_(context), can_be_captured_(can_be_captured) {}

    /// Forgets all batches: to be called when the method is another one.
    void start_anew() { batches_.clear(); }
    /// The next use of each batch runs directly, the one after it records its graph again.
    void discard_graphs() {
        for (Batch& batch : batches_) batch = {};
    }
    /// To be called before each solve; `interval` is SolveOptions::check_interval.
    void choose_length(int interval, int period) {
        const bool fresh = batches_.empty() || interval != interval_;
        int length = !fresh ? length_ : interval > 0 ? interval : context_.on_gpu() ? longest : 1;
        if (interval == 0 && context_.on_gpu() && latest_solve_ > 0) {
            length = length_after(latest_solve_, length, period);
        }
        if (!fresh && length == length_) return;
        interval_ = interval;
        length_ = length;
        batches_.clear();
        batches_.resize(std::size_t((period + length_ - 1) / length_));
    }
    /// To be called after a solve of one right-hand side: the next one may need as many iterations.
    void remember(Offset iterations) { latest_solve_ = iterations; }
    /// The next iteration is the first of a period.
    void restart_period() { position_ = 0; }
    bool at_start_of_period() const { return position_ == 0; }
    /// Whether the next batch is a graph that was launched before.
    bool next_is_graph() const { return batches_[std::size_t(position_ / length_)].captured; }

    /// Enqueues one batch: the first time directly, so that its phases are timed and the primitives
    /// allocate their scratch memory; then as a graph.
    void enqueue(Method<T>& method) {
        const int period = method.period();
        // A method that replaces its residual is checked once per period, whatever the length.
        const int length = length_ >= period && !method.replaces()
                               ? length_ / period * period
                               : std::min(length_, period - position_);
        const int first = position_;
        const auto iterations = [&method, first, length, period] {
            for (int k = 0; k < length; ++k) method.iterate((first + k) % period);
        };
        Batch& batch = batches_[std::size_t(first / length_)];
        if (!batch.ran || !can_be_captured_) {
            iterations();
        } else {
            if (!batch.captured) batch.graph = context_.capture(iterations);
            batch.captured = true;
            batch.graph();
        }
        batch.ran = true;
        position_ = (first + length) % period;
    }

    /// Iterations enqueued after convergence are wasted: batches become smaller when an iteration
    /// is expensive. `seconds`: duration of a batch that was launched as a graph.
    void shorten(double seconds, int period) {
        if (interval_ > 0 || !context_.on_gpu() || period > 1 || length_ == 1) return;
        if (seconds < 2 * check_seconds) return;
        length_ = std::max(1, int(std::ceil(length_ * check_seconds / seconds)));
        batches_[0].captured = false;
    }

  private:
    /// Duration of iterations in seconds, next to which that of a convergence check is negligible.
    static constexpr double check_seconds = 2e-3;

    /// Iterations that are enqueued together, always from the same position of the period.
    struct Batch {
        bool ran = false;
        bool captured = false;
        std::function<void()> graph;
    };

    static constexpr int longest = 16;
    static constexpr int longest_known = 32;  ///< Where the latest solve tells the length.

    /// `length`, unless so many iterations in batches of it waste a fifth of those that run: then
    /// that of batches of equal length that end with the last iteration.
    static int length_after(Offset iterations, int length, int period) {
        const Offset run = (iterations + length - 1) / length * length;
        if (5 * (run - iterations) <= run) return length;
        const Offset batches = (iterations + longest_known - 1) / longest_known;
        const Offset even = (iterations + batches - 1) / batches;
        return int(std::min<Offset>(longest_known, (even + period - 1) / period * period));
    }

    const Context& context_;
    const bool can_be_captured_;
    std::vector<Batch> batches_;
    int length_ = 1;     ///< Iterations of a batch.
    int interval_ = -1;  ///< What `length_` was chosen for.
    int position_ = 0;
    Offset latest_solve_ = 0;  ///< Iterations; 0: none.
};

}  // namespace tessera
