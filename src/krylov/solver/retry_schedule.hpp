#pragma once

#include <algorithm>
#include <optional>

#include "krylov/rules.hpp"

namespace tessera {

/// When a Solver returns to an attempt that failed with the values of an update, as it may suit
/// later values again: attempts are chosen anew after the next update and, while that leads to
/// another attempt, after 2, 4, 8, ... further ones.
class RetrySchedule {
  public:
    /// An attempt failed with the values of an update.
    void attempt_failed(const Attempt& attempt) {
        if (updates_left_ > 0 || is_on_trial_) return;
        failed_ = attempt;
        wait();
    }
    /// Counts an update; whether attempts are to be chosen anew for it.
    bool is_due_after_update() {
        if (updates_left_ > 0 && --updates_left_ == 0) is_on_trial_ = true;
        return is_on_trial_;
    }
    /// A solve ended with a solution by this attempt.
    void solved_by(const Attempt& attempt) {
        if (!is_on_trial_) return;
        is_on_trial_ = false;
        if (have_same_words(attempt, *failed_)) {
            wait_ = 1;
        } else {
            wait();
        }
    }

  private:
    void wait() {
        constexpr int max_wait = 1 << 20;
        updates_left_ = wait_;
        wait_ = std::min(2 * wait_, max_wait);
    }

    std::optional<Attempt> failed_;
    int updates_left_ = 0, wait_ = 1;  ///< 0: none has failed.
    bool is_on_trial_ = false;  ///< Attempts are chosen anew for each update until one solves.
};

}  // namespace tessera
