#pragma once

#include <algorithm>
#include <optional>

#include "krylov/rules.hpp"

namespace tessera {

/// Values of an update may make an attempt fail that suits later values again. Says after which
/// updates attempts are to be chosen anew: the next one and, as often as that leads to another
/// attempt, after 2, 4, 8, ... further ones.
class WayBack {
  public:
    /// An attempt was left for the values of an update.
    void left(const Attempt& attempt) {
        if (updates_left_ > 0 || is_on_trial_) return;
        sought_ = attempt;
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
        if (have_same_words(attempt, *sought_)) {
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

    std::optional<Attempt> sought_;
    int updates_left_ = 0, wait_ = 1;  ///< 0: no attempt is sought.
    bool is_on_trial_ = false;  ///< Attempts are chosen anew for each update until one solves.
};

}  // namespace tessera
