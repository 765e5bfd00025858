#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "krylov/driver/batch_length.hpp"
#include "krylov/method.hpp"

namespace tessera {

/// Enqueues the iterations of a method in batches, between which the host checks convergence. On a
/// GPU they are graphs once 32 iterations have run directly, as a graph costs more than it saves in
/// a short solve. Those run a few at a time, as each iteration beyond the last one may cost more
/// than a check. A graph is of few iterations, as it then takes less time to make, and is repeated.
/// Where iterations differ (period > 1), or the length of batches is given, one batch runs directly
/// before; where they differ, a graph is of a whole batch. Graphs stay from solve to solve of one
/// right-hand side.
template <class T>
class IterationBatches {
  public:
    IterationBatches(const Context& context, bool can_be_captured)
        : context_(context), can_be_captured_(can_be_captured) {}

    /// Forgets all batches: to be called when the method is another one.
    void start_anew() {
        batches_.clear();
        adapted_ = {};
        direct_length_ = 0;
        length_of_others_ = BatchLength::usual;
    }
    /// Iterations run directly at first, as in the beginning, before graphs are recorded again.
    void discard_graphs() {
        for (Batch& batch : batches_) batch = {};
        direct_iterations_ = 0;
    }
    /// To be called before each solve; `interval` is SolveOptions::check_interval. On a GPU the
    /// length adapts to the numbers of iterations where every iteration is as any other.
    void choose_length(int interval, int period, int columns) {
        adapts_ = interval == 0 && context_.on_gpu() && period == 1 && columns == 1;
        const int length = interval > 0         ? interval
                           : !context_.on_gpu() ? 1
                           : adapts_            ? adapted_.length()
                                                : length_of_others_;
        if (!batches_.empty() && interval == interval_ && period == 1) return set_length(length);
        if (!batches_.empty() && interval == interval_ && length == length_) return;
        interval_ = interval;
        length_ = length;
        short_start_ = interval == 0 && context_.on_gpu() && period == 1;
        direct_iterations_ = 0;
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
    /// Whether the duration of the next batch is to be told to `took`.
    bool next_is_timed() const {
        return next_is_graph() || (short_start_ && direct_length_ == 0 && direct_iterations_ > 0);
    }

    /// Enqueues one batch: at first directly, so that its phases are timed and the primitives
    /// allocate their scratch memory; then as a graph.
    void enqueue(Method<T>& method) {
        const int period = method.period();
        // A method that replaces its residual is checked once per period, whatever the length.
        int length = length_ >= period && !method.replaces()
                         ? length_ / period * period
                         : std::min(length_, period - position_);
        const int first = position_;
        Batch& batch = batches_[std::size_t(first / length_)];
        const bool direct = !batch.ran || !can_be_captured_;
        if (!batch.ran && short_start_) {
            length = std::min({length, direct_length_ > 0 ? direct_length_ : first_length,
                               usual_iterations - direct_iterations_});
        }
        const auto iterate = [&method, first, period](int count) {
            for (int k = 0; k < count; ++k) method.iterate((first + k) % period);
        };
        if (direct) {
            iterate(length);
            if (!batch.ran) direct_iterations_ += length;
        } else {
            const int of_graph = period > 1 ? length : graph_length(length);
            if (!batch.captured) {
                batch.graph = context_.capture([iterate, of_graph] { iterate(of_graph); });
            }
            batch.captured = true;
            for (int k = 0; k < length; k += of_graph) batch.graph();
        }
        batch.ran = batch.ran || !short_start_ || direct_iterations_ >= usual_iterations;
        position_ = (first + length) % period;
    }

    /// Seconds that a batch took where next_is_timed() was true before it: iterations that are
    /// enqueued after convergence are wasted, so batches are small if an iteration is expensive.
    void took(double seconds, int period) {
        if (interval_ > 0 || !context_.on_gpu() || period > 1 || length_ == 1) return;
        if (next_is_graph()) return shorten(seconds);
        // Batches of n iterations waste n / 2 iterations on average.
        const double iteration = seconds / first_length;
        direct_length_ =
            std::max(1, int(std::sqrt(2 * usual_iterations * wait_seconds / iteration)));
        shorten(length_ * iteration);
    }

  private:
    /// Duration of iterations in seconds, next to which that of a convergence check is negligible.
    static constexpr double check_seconds = 2e-3;
    /// About what a check takes, and iterations of a short solve.
    static constexpr double wait_seconds = 2e-5;
    static constexpr int usual_iterations = 32;
    /// Iterations of the first two batches: those of the second are timed.
    static constexpr int first_length = 2;

    /// Iterations that are enqueued together, always from the same position of the period.
    struct Batch {
        bool ran = false;
        bool captured = false;
        std::function<void()> graph;
    };

    /// Iterations of the graph that a batch repeats: the fewest, from four on, that divide it.
    static int graph_length(int length) {
        int found = std::min(length, 4);
        while (length % found != 0) ++found;
        return found;
    }
    /// For iterations that do not differ.
    void set_length(int length) {
        if (graph_length(length) != graph_length(length_)) batches_[0].captured = false;
        length_ = length;
    }
    bool next_is_graph() const { return batches_[std::size_t(position_ / length_)].captured; }
    void shorten(double seconds) {
        if (seconds < 2 * check_seconds) return;
        set_length(std::max(1, int(std::ceil(length_ * check_seconds / seconds))));
        if (adapts_) {
            adapted_.shorten(length_);
        } else {
            length_of_others_ = length_;
        }
    }

    const Context& context_;
    const bool can_be_captured_;
    std::vector<Batch> batches_;
    int length_ = 1;     ///< Iterations of a batch.
    int interval_ = -1;  ///< What `length_` was chosen for.
    int position_ = 0;
    bool short_start_ = false;   ///< Whether the direct iterations are batches of their own.
    int direct_length_ = 0;      ///< Iterations of these batches; 0: not known yet.
    int direct_iterations_ = 0;  ///< So far.
    bool adapts_ = false;
    BatchLength adapted_;
    int length_of_others_ = BatchLength::usual;  ///< Where it does not adapt.
};

}  // namespace tessera
