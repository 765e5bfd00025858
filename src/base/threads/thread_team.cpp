#include "base/threads/thread_team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "tessera/detail/floating_point.hpp"

namespace tessera {

namespace {

/// How long a thread spins before it sleeps: longer than the serial code between two parallel loops
/// of a solver, shorter than anybody feels (docs/decisions/threads.md).
constexpr auto spin_time = std::chrono::microseconds(50);

/// Counts the forks above this process: the threads of a team are not in the child.
std::atomic<int> forks{0};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });

/// The CPUs that this process may run on.
int available_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, int(std::thread::hardware_concurrency()));
}

/// Tells the processor that this thread waits for another one.
inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
}

/// Waits until ready(value) holds: spins, then sleeps until the value is notified.
template <class Ready>
void wait_until(const std::atomic<int>& value, bool spin, const Ready& ready) {
    if (spin) {
        const auto end = std::chrono::steady_clock::now() + spin_time;
        do {
            for (int i = 0; i < 32; ++i) {
                if (ready(value.load())) return;
                pause();
            }
        } while (std::chrono::steady_clock::now() < end);
    }
    for (int seen = value.load(); !ready(seen); seen = value.load()) value.wait(seen);
}

/// Signals go to the threads of the program, not to workers.
class BlockSignals {
  public:
    BlockSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

/// Whether this thread is computing a part; a loop within it runs on this thread alone.
thread_local bool in_part = false;

class ThreadTeam {
  public:
    ThreadTeam() = default;
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;
    ~ThreadTeam() {
        stop_ = true;
        wake();
        for (std::thread& worker : workers_) worker.join();
    }

    /// Threads of this team after it has been asked for `threads`.
    int start(int threads) {
        start_workers(threads - 1);
        return std::min(threads, int(workers_.size()) + 1);
    }

    void run(int threads, Offset parts, void (*call)(void*, Offset), void* function) {
        threads_ = start(threads);
        call_ = call;
        function_ = function;
        for (int t = 0; t < threads_; ++t) {
            shares_[std::size_t(t)].next.store(parts * t / threads_, std::memory_order_relaxed);
            shares_[std::size_t(t)].end = parts * (t + 1) / threads_;
        }
        open_ = true;
        wake();
        in_part = true;
        take_parts(0);
        in_part = false;
        // Every part has been begun. A worker that enters from now on sees that the job is closed.
        open_ = false;
        wait_until(inside_, spin_, [](int inside) { return inside == 0; });
    }

  private:
    /// The parts that one thread begins with.
    struct alignas(64) Share {
        std::atomic<Offset> next{0};
        Offset end = 0;
    };

    void wake() {
        ++job_;
        job_.notify_all();
    }

    /// `shares_` is read by workers inside a job only, so it may be replaced here.
    void start_workers(int count) {
        if (int(workers_.size()) >= count || refused_) return;
        shares_ = std::vector<Share>(std::size_t(count) + 1);
        spin_ = count < available_cpus();
        const BlockSignals blocked;
        try {
            workers_.reserve(std::size_t(count));
            while (int(workers_.size()) < count) {
                const int thread = int(workers_.size()) + 1;
                workers_.emplace_back([this, thread, job = job_.load()] { work(thread, job); });
            }
        } catch (const std::system_error&) {
            refused_ = true;
        }
    }

    void work(int thread, int job);

    void take_parts(int thread) {
        for (int t = 0; t < threads_; ++t) {
            Share& share = shares_[std::size_t((thread + t) % threads_)];
            while (share.next.load(std::memory_order_relaxed) < share.end) {
                const Offset part = share.next.fetch_add(1, std::memory_order_relaxed);
                if (part < share.end) call_(function_, part);
            }
        }
    }

    std::vector<std::thread> workers_;
    bool refused_ = false;          ///< The system gave fewer threads than asked for.
    std::atomic<bool> spin_{true};  ///< There is a CPU for every thread.
    // The job, written while it is closed and no worker is inside.
    std::vector<Share> shares_;
    void (*call_)(void*, Offset) = nullptr;
    void* function_ = nullptr;
    int threads_ = 0;
    // A worker enters before it looks whether the job is open, and the caller closes the job before
    // it looks whether workers are inside; sequentially consistent, so one of them sees the other.
    alignas(64) std::atomic<int> job_{0};  ///< Counts jobs, modulo 2^32.
    alignas(64) std::atomic<int> inside_{0};
    std::atomic<bool> open_{false};
    std::atomic<bool> stop_{false};
};

void ThreadTeam::work(int thread, int job) {
    const detail::DefaultFloatingPoint environment;  // Not that of the thread that started it.
    in_part = true;
    while (true) {
        wait_until(job_, spin_, [&](int now) { return now != job; });
        job = job_.load();
        if (stop_) return;
        ++inside_;
        if (open_ && thread < threads_) take_parts(thread);
        if (--inside_ == 0) inside_.notify_one();
    }
}

/// The team of a thread. A team from before a fork is abandoned: its threads do not exist.
class TeamOfThread {
  public:
    ThreadTeam& team() {
        if (!team_ || forks_ != forks) {
            static_cast<void>(team_.release());
            team_ = std::make_unique<ThreadTeam>();
            forks_ = forks;
        }
        return *team_;
    }
    TeamOfThread() = default;
    TeamOfThread(const TeamOfThread&) = delete;
    TeamOfThread& operator=(const TeamOfThread&) = delete;
    ~TeamOfThread() {
        if (forks_ != forks) static_cast<void>(team_.release());
    }

  private:
    std::unique_ptr<ThreadTeam> team_;
    int forks_ = 0;
};

thread_local TeamOfThread team_of_thread;

}  // namespace

void run_parts(int threads, Offset parts, void (*call)(void*, Offset), void* function) {
    const detail::DefaultFloatingPoint environment;  // On all threads, so that bits agree.
    if (threads <= 1 || parts <= 1 || in_part) {
        for (Offset part = 0; part < parts; ++part) call(function, part);
        return;
    }
    team_of_thread.team().run(threads, parts, call, function);
}

int start_threads(int threads) {
    return threads <= 1 || in_part ? threads : team_of_thread.team().start(threads);
}

int forks_above() { return forks; }

int default_threads() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const int wanted = text != nullptr ? std::atoi(text) : 0;
    return wanted > 0 ? wanted : available_cpus();
}

}  // namespace tessera
