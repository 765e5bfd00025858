#include <chrono>
#include <cmath>

#include "harness/shared_library.hpp"
#include "operations/block_ldlt.hpp"
#if __has_include(<dmumps_c.h>)
#include <dmumps_c.h>
#define TESSERA_BENCH_MUMPS 1
#endif

namespace tessera::bench {

#ifdef TESSERA_BENCH_MUMPS

namespace {

constexpr double max_operations = 2e12;

const SharedLibrary& library() {
    static const SharedLibrary library("MUMPS", {"libdmumps_seq-5.8.so", "libdmumps_seq-5.7.so",
                                                 "libdmumps_seq-5.6.so", "libdmumps_seq-5.5.so"});
    return library;
}

/// An instance of the sequential library for symmetric indefinite matrices.
class Mumps {
  public:
    explicit Mumps(const CsrView<double>& matrix) {
        for (Index i = 0; i < matrix.rows; ++i) {
            for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
                if (matrix.column_indices[e] > i) continue;
                rows_.push_back(i + 1);
                columns_.push_back(matrix.column_indices[e] + 1);
                values_.push_back(matrix.values[e]);
            }
        }
        data_.sym = 2;
        data_.par = 1;
        data_.comm_fortran = comm_world;
        run(initialise);
        for (const int unit : {0, 1, 2}) data_.icntl[unit] = -1;
        data_.icntl[3] = 0;    // No messages.
        data_.icntl[13] = 60;  // Initial percentage of workspace for pivoting beyond the estimate.
        data_.n = matrix.rows;
        data_.nnz = MUMPS_INT8(values_.size());
        data_.irn = rows_.data();
        data_.jcn = columns_.data();
        data_.a = values_.data();
    }
    ~Mumps() { run(finish); }
    Mumps(const Mumps&) = delete;
    Mumps& operator=(const Mumps&) = delete;

    static constexpr MUMPS_INT initialise = -1, finish = -2, analyse = 1, factor = 2, solve = 3;

    /// Runs a job; returns its seconds.
    double run(MUMPS_INT job) {
        static const auto call = library().symbol<void (*)(DMUMPS_STRUC_C*)>("dmumps_c");
        const auto begin = std::chrono::steady_clock::now();
        data_.job = job;
        call(&data_);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        return elapsed.count();
    }
    /// The factorisation, repeated with more workspace if needed; seconds of all runs.
    double factorise() {
        double seconds = run(factor);
        while ((error() == -8 || error() == -9) && data_.icntl[13] < 10000) {
            data_.icntl[13] *= 4;
            seconds += run(factor);
        }
        return seconds;
    }
    /// Replaces b by x.
    double solve_for(std::vector<double>& b) {
        data_.rhs = b.data();
        return run(solve);
    }
    /// 0, or the error code.
    int error() const { return data_.infog[0]; }
    double estimated_operations() const { return data_.rinfog[0]; }
    double factor_entries(bool estimated) const {
        const MUMPS_INT count = data_.infog[estimated ? 19 : 28];
        return count < 0 ? -1e6 * count : count;
    }

  private:
    static constexpr MUMPS_INT comm_world = -987654;
    DMUMPS_STRUC_C data_{};
    std::vector<MUMPS_INT> rows_, columns_;
    std::vector<double> values_;
};

}  // namespace

bool add_mumps(Json& row, const HostSystem& system) {
    if (!library().found()) return false;
    Mumps mumps(system.matrix);
    const double analysis = mumps.run(Mumps::analyse);
    const double square = double(system.matrix.rows) * system.matrix.rows;
    row["symbolic_seconds"] = analysis;
    row["operations"] = mumps.estimated_operations();
    row["stored_share"] = mumps.factor_entries(true) / square;
    if (mumps.error() >= 0 && mumps.estimated_operations() > max_operations) {
        row["status"] = "not_tried";
        return true;
    }
    const double factorisation = mumps.error() < 0 ? 0 : mumps.factorise();
    row["numeric_milliseconds"] = 1e3 * factorisation;
    row["setup_seconds"] = analysis + factorisation;
    if (mumps.error() < 0) {
        row["status"] = "error " + std::to_string(mumps.error());
        return true;
    }
    row["stored_share"] = mumps.factor_entries(false) / square;
    std::vector<double> x = system.right_hand_side;
    row["seconds"] = mumps.solve_for(x);
    row["status"] = mumps.error() < 0 ? "error " + std::to_string(mumps.error()) : "direct";
    add_errors(row, system, x);
    return true;
}

#else

bool add_mumps(Json&, const HostSystem&) {
    std::fprintf(stderr, "tessera-bench: MUMPS is left out: built without dmumps_c.h\n");
    return false;
}

#endif

}  // namespace tessera::bench
