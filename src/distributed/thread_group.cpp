#include "distributed/thread_group.hpp"

#include <thread>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "base/threads/thread_team.hpp"
#include "distributed/thread_communicator.hpp"

namespace tessera {

namespace {

/// Threads that do one work after another.
class Workers {
  public:
    using Work = std::function<void(int thread)>;

    explicit Workers(int count) {
        threads_.reserve(std::size_t(count));
        try {
            for (int k = 0; k < count; ++k) threads_.emplace_back([this, k] { loop(k); });
        } catch (...) {  // The system gives no more threads.
            end();
            throw;
        }
    }
    ~Workers() { end(); }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// work(k) on thread k of all, which must not throw. It must live until `wait` returns.
    void start(const Work& work) {
        const std::lock_guard lock(mutex_);
        work_ = &work;
        at_work_ = int(threads_.size());
        ++number_;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return at_work_ == 0; });
    }

  private:
    void loop(int thread) {
        std::unique_lock lock(mutex_);
        for (Offset done = 0;;) {
            changed_.wait(lock, [&] { return ends_ || number_ != done; });
            if (number_ == done) return;
            done = number_;
            lock.unlock();
            (*work_)(thread);
            lock.lock();
            if (--at_work_ == 0) changed_.notify_all();
        }
    }
    void end() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
            changed_.notify_all();
        }
        for (std::thread& thread : threads_) thread.join();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const Work* work_ = nullptr;
    Offset number_ = 0;  ///< Works so far.
    int at_work_ = 0;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

/// The first error that is one of a rank's own, else the first; null: none.
std::exception_ptr first_error(const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr of_others;
    for (const std::exception_ptr& error : errors) {
        if (!error) continue;
        try {
            std::rethrow_exception(error);
        } catch (const RankError&) {
            if (!of_others) of_others = error;
        } catch (...) {
            return error;
        }
    }
    return of_others;
}

}  // namespace

struct ThreadGroup::State {
    State(int size, double max_wait_seconds) : meeting(size, max_wait_seconds) {
        for (int rank = 0; rank < size; ++rank) communicators.emplace_back(meeting, rank);
        start_workers();
    }
    ~State() { abandon_workers_of_parent(); }

    void start_workers() {
        workers = std::make_unique<Workers>(meeting.size() - 1);
        forks = forks_above();  // Not where there are no threads.
    }
    /// The threads from before a fork do not exist here: they can be neither used nor ended.
    bool abandon_workers_of_parent() {
        if (forks == forks_above()) return false;
        static_cast<void>(workers.release());
        return true;
    }

    Meeting meeting;
    std::vector<ThreadCommunicator> communicators;
    std::unique_ptr<Workers> workers;
    int forks = 0;
    bool is_consistent = true;
};

ThreadGroup::ThreadGroup(int size, double max_wait_seconds) {
    require(size >= 1, "a group of threads has one rank or more");
    state_ = std::make_unique<State>(size, max_wait_seconds);
}

ThreadGroup::~ThreadGroup() = default;

void ThreadGroup::run(const std::function<void(const Communicator&)>& f) {
    State& state = *state_;
    if (state.abandon_workers_of_parent()) state.start_workers();
    std::vector<std::exception_ptr> errors(state.communicators.size(), nullptr);
    TimeLimit::State* const limit = time_limit_in_use;
    const Workers::Work on_rank = [&](int thread) {
        const auto rank = std::size_t(thread + 1);
        const UseTimeLimit use(limit);
        try {
            f(state.communicators[rank]);
        } catch (...) {
            errors[rank] = std::current_exception();
        }
        state.meeting.leave(int(rank), errors[rank]);
    };
    state.workers->start(on_rank);
    on_rank(-1);
    state.workers->wait();
    state.is_consistent = state.meeting.begin_again();
    if (!state.is_consistent) {
        for (ThreadCommunicator& each : state.communicators) each.begin_again();
    }
    if (const std::exception_ptr error = first_error(errors)) std::rethrow_exception(error);
}

bool ThreadGroup::is_consistent() const { return state_->is_consistent; }

void run_ranks(int size, const std::function<void(const Communicator&)>& f,
               double max_wait_seconds) {
    ThreadGroup(size, max_wait_seconds).run(f);
}

}  // namespace tessera
