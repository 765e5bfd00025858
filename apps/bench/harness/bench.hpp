#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace tessera::bench {

using Json = nlohmann::ordered_json;

/// The JSON text in ASCII, in one line if `indent` is negative. Bytes that are not UTF-8, in names
/// of files, become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

/// A document of schema "tessera-bench/1" without rows.
Json document(const Context& context, const std::string& bench);

/// Milliseconds of one run: the median and the interquartile range over the median.
struct Timing {
    double milliseconds = 0;
    double spread = 0;
    double fastest = 0;  ///< Milliseconds.
};

/// Times `work` (GPU events, or the steady clock on the CPU) after three warm-up runs, at least
/// nine times and for at least `seconds`; short work is repeated inside one sample.
Timing measure(const Context& context, const std::function<void()>& work, double seconds = 0.3);

/// measure for work that overwrites its inputs: before each sample of at most `runs` runs `restore`
/// is called, which is not timed.
Timing measure(const Context& context, const std::function<void()>& work, double seconds,
               const std::function<void()>& restore, Offset runs);

/// Bytes per second of one pass over a large array on a GPU; 0 on the CPU.
double measure_read_bandwidth(const Context& context);

/// Adds milliseconds, spread, bytes and fraction_of_copy to a row.
void add_timing(Json& row, const Context& context, const Timing& timing, double bytes);

/// Bytes per second of STREAM's triad a = b + s c on arrays of 512 MB: the best of ten passes, half
/// of them with non-temporal stores. Three numbers per element count (McCalpin, 1995).
double triad_rate(const Context& cpu);

/// A matrix by file or generator text, in host memory.
struct NamedMatrix {
    std::string name;
    CsrMatrix<double> matrix;
    std::vector<double> load;  ///< The right-hand side of a generated problem; may be empty.
    Shared<NodeCoordinates> coordinates = {};  ///< May be empty.
};
NamedMatrix load(const Context& cpu, const std::string& name, const std::string& folder);

// The benchmarks: each fills the rows of its document.
struct BlockJacobiBench {
    std::vector<int> bounds;
    bool uniform = false;  ///< All blocks have this size; find_blocks is not used.
    std::vector<std::string> types = {"f64"};
    std::vector<std::string> precisions = {"working"};
    std::vector<std::string> extractions = {"automatic"};
    std::vector<int> vectors = {1};  ///< Right-hand sides of one application.
    bool as_sparse_matrix = false;   ///< Also applies the inverses as a CSR matrix.
    bool paper_rows = false;         ///< Also the paper's inversion alone, and a pass over the CSR.
    double seconds = 0.1;            ///< Minimum time per row.
};
/// In a name of `matrices` {n} is replaced by the bound: "block_diagonal:1000000,{n}".
Json block_jacobi(const Context& context, const Context& cpu, const std::string& folder,
                  const std::vector<std::string>& matrices, const BlockJacobiBench& bench);
struct SpmvBench {
    /// {b} is replaced by the natural block size of the matrix. Empty: CSR with every number of
    /// lanes, and one format of each kind.
    std::vector<std::string> formats;
    std::vector<std::string> types = {"f64"};  ///< Types of the vectors.
    bool peers = false;                        ///< Also measures cuSPARSE.
    bool conversions = false;                  ///< Also measures conversions from CSR and back.
    double seconds = 0.1;                      ///< Minimum time per row.
};
Json spmv(const Context& context, const Context& cpu, const std::string& folder,
          const std::vector<std::string>& matrices, const SpmvBench& bench);
struct SolveBench {
    /// Each "SOLVER PRECONDITIONER FORMAT", as in `tessera solve`; {b} is replaced by the natural
    /// block size of the matrix; the format cusparse_csr is the product of cuSPARSE.
    std::vector<std::string> configurations;
    double rtol = 1e-8;
    int runs = 3;  ///< Timed runs from x = 0, of which the median is reported.
};
Json solves(const Context& context, const Context& cpu, const std::string& folder,
            const std::vector<std::string>& matrices, const SolveBench& bench);
struct StudyOptions {
    std::vector<int> bounds;                 ///< 1 is scalar Jacobi.
    std::string solver = "idr:4,smoothing";  ///< As in the program of the paper.
    int seeds = 5;                           ///< Runs per entry, each with its own shadow space.
    Offset max_iterations = 50000;
    double max_seconds = std::numeric_limits<double>::infinity();  ///< Time limit per solve.
    std::vector<std::string> precisions = {"working"};  ///< Storage formats of the inverses.
    std::vector<std::string> sides = {"right", "left"};
};
class ResultFile;
/// Adds the rows missing in `before`, an earlier result with the same settings (null: none); the
/// document is saved to `file` after every matrix.
Json study(const Context& context, const Context& cpu, const std::string& folder,
           const std::vector<std::string>& cases, const StudyOptions& options, const Json& before,
           const ResultFile& file);

}  // namespace tessera::bench
