#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "krylov/driver/batch_length.hpp"
#include "krylov/method.hpp"

namespace tessera {

/// Enqueues the iterations of a method in batches, between which the host checks convergence; a
/// batch is a graph from its second time on. Graphs stay from solve to solve of one right-hand
/// side while the length does.
template <class T>
class IterationBatches {
  public:
    IterationBatches(const Context& context, bool can_be_captured)
        : context_(context), can_be_captured_(can_be_captured) {}

    /// Forgets all batches: to be called when the method is another one.
    void start_anew() {
        batches_.clear();
        adapted_ = {};
        length_of_others_ = BatchLength::usual;
    }
    /// The next use of each batch runs directly, the one after it records its graph again.
    void discard_graphs() {
        for (Batch& batch : batches_) batch = {};
    }
    /// To be called before each solve; `interval` is SolveOptions::check_interval. On a GPU the
    /// length adapts to the numbers of iterations where every iteration is as any other.
    void choose_length(int interval, int period, int columns) {
        adapts_ = interval == 0 && context_.on_gpu() && period == 1 && columns == 1;
        const int length = interval > 0         ? interval
                           : !context_.on_gpu() ? 1
                           : adapts_            ? adapted_.length()
                                                : length_of_others_;
        if (!batches_.empty() && interval == interval_ && length == length_) return;
        interval_ = interval;
        length_ = length;
        batches_.clear();
        batches_.resize(std::size_t((period + length_ - 1) / length_));
    }
    /// To be called after a solve of one right-hand side that converged.
    void solve_ended(Offset iterations) {
        if (adapts_) adapted_.solve_ended(iterations);
    }
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
        if (adapts_) {
            adapted_.shorten(length_);
        } else {
            length_of_others_ = length_;
        }
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

    const Context& context_;
    const bool can_be_captured_;
    std::vector<Batch> batches_;
    int length_ = 1;     ///< Iterations of a batch.
    int interval_ = -1;  ///< What `length_` was chosen for.
    int position_ = 0;
    bool adapts_ = false;
    BatchLength adapted_;
    int length_of_others_ = BatchLength::usual;  ///< Where it does not adapt.
};

}  // namespace tessera
