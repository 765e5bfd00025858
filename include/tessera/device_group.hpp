#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/solver.hpp"

namespace tessera {

/// Devices of one machine that solve a system together, a part of its rows on each: GPUs, or groups
/// of threads of the CPU.
class TESSERA_API DeviceGroup {
  public:
    /// One Context or more, all on GPUs or all on the CPU, none a copy of another one; otherwise
    /// throws InvalidArgument.
    explicit DeviceGroup(std::vector<Context> contexts);
    /// `devices`: a number of GPUs, "all" of them, or a list such as "cuda:0,cuda:2"; with `device`
    /// "cpu" (not "auto" or "cuda") a number of groups of threads, to which `threads` (0: those of
    /// Context::cpu) are dealt, one at least to each. Throws InvalidArgument for other texts,
    /// DeviceError where these GPUs cannot be used.
    static DeviceGroup from_text(const std::string& devices, const std::string& device = "auto",
                                 int threads = 0);

    int size() const { return int(contexts_.size()); }
    const Context& operator[](int k) const { return contexts_[std::size_t(k)]; }
    /// "2 x NVIDIA H200"
    std::string description() const;

  private:
    std::vector<Context> contexts_;
};

/// What one device of a group did.
struct DeviceShare {
    std::string device;  ///< Context::description
    Offset rows = 0, nonzeros = 0;
    int neighbours = 0;         ///< Devices that it receives from in a product with the matrix,
    Offset received_bytes = 0;  ///< and how much.
    Offset peak_memory_bytes = 0;
    /// For its rows to be picked out and to come to the device, and for coordinates and near-null
    /// vectors to be picked out.
    double deal_seconds = 0;
    double setup_seconds = 0;  ///< For the preconditioner.
    double wait_seconds = 0;   ///< Waits of its host thread for those of others, in all.
};

/// The report of solves over devices.
struct DeviceGroupReport {
    std::vector<SolveReport> solves;  ///< One for each right-hand side of the latest solve.
    std::string solver, preconditioner, format;
    PreconditionerReport setup;
    std::string partition;         ///< By what rows were dealt out: coordinates or ordering.
    double partition_seconds = 0;  ///< For properties of the matrix and the partition, on the host.
    double setup_seconds = 0;      ///< For what follows, before the first iteration.
    std::vector<DeviceShare> devices;
};

/// Throws InvalidArgument, with the reason, for what is not possible over several devices: solvers
/// other than cg and fcg, preconditioners other than amg, a named format, preconditioning from the
/// left. With auto they are fcg and amg.
TESSERA_API void check_method_over_devices(const MethodConfig& method, const SolveOptions& options);

/// A symmetric positive definite matrix over the devices of a group, with one multigrid hierarchy
/// over all of them, for many solves. All arrays are in host memory. A thread for each device but
/// the first lives as long as the solver; with the CPU the child of a fork starts new ones. The
/// observer of a solve must not call the solver (InUse). TimeLimits of the caller end setups and
/// updates.
class TESSERA_API DeviceGroupSolver {
  public:
    /// Throws InvalidArgument as check_method_over_devices.
    explicit DeviceGroupSolver(DeviceGroup group, const MethodConfig& method = MethodConfig());
    ~DeviceGroupSolver();
    DeviceGroupSolver(DeviceGroupSolver&&) noexcept;
    DeviceGroupSolver& operator=(DeviceGroupSolver&&) noexcept;

    /// Deals out the rows, and sets up the preconditioner. Nodes, with all of their unknowns, are
    /// dealt out in boxes by the coordinates of the inputs or of amg, else in pieces of the order
    /// of the matrix or of a reverse Cuthill-McKee ordering. Blocks until the work is complete. If
    /// it fails, the solver has no matrix. Throws InvalidArgument for matrices that are not
    /// symmetric, have diagonal entries that are not positive, or nodes that lack unknowns, and as
    /// Amg.
    void setup(const CsrView<double>& matrix, const PreconditionerInputs& inputs = {});
    /// New values on the same pattern: rows, aggregates and the patterns of coarse levels stay, and
    /// the result is that of a setup with these aggregates. Otherwise as setup; after an error of
    /// the values, another update may follow. Throws InvalidArgument for another pattern.
    void update(const CsrView<double>& matrix);
    bool has_matrix() const;

    /// Solves A x_j = b_j; x holds the initial guesses, and the solutions where no exception is
    /// thrown. `options`: the observer, called on this thread, has no Progress::copy_x. Results
    /// depend on the number of devices, within the tolerance. backward_error is not computed;
    /// phases of the iterations are not timed on GPUs. After a setup or update that a TimeLimit
    /// ended the status is max_seconds, without an iteration. Blocks until the work is complete.
    /// Throws InvalidArgument without a matrix. After an exception of the observer the solver can
    /// be used again; after others, as for lack of memory, it has no matrix.
    std::vector<SolveReport> solve(Vectors<const double> b, Vectors<double> x,
                                   const SolveOptions& options = {});

    /// The report of the latest setup or update, and of the solve after it.
    const DeviceGroupReport& report() const;
    const DeviceGroup& group() const;

  private:
    struct State;
    State& state() const;
    std::unique_ptr<State> state_;
};

/// A solve by a DeviceGroupSolver of its own. max_seconds of the options is for setup and solve.
TESSERA_API DeviceGroupReport solve(const DeviceGroup& group, const MethodConfig& method,
                                    const CsrView<double>& matrix, Vectors<const double> b,
                                    Vectors<double> x, const PreconditionerInputs& inputs = {},
                                    const SolveOptions& options = {});

}  // namespace tessera
