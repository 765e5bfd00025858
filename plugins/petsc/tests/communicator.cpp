// Messages of MpiCommunicator, faults of single ranks, and multigrid by it beside that by threads.
// Run by mpirun on 1, 2 and 4 ranks; ends with a line 'passed' or an error.

#include "../mpi_communicator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <tessera/tessera.hpp>
#include <vector>

#include "distributed/thread_group.hpp"

namespace {

using namespace tessera;
using Bytes = std::vector<std::byte>;
using petsc::MpiCommunicator;

/// With an argument `cuda` ranks use the GPUs in turn.
bool on_gpu = false;

Context context_of(int rank) {
    return on_gpu ? Context::cuda(rank % int(cuda_devices().size())) : Context::cpu(1);
}

void expect(bool condition, const std::string& what) {
    if (condition) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Bytes that depend on sender, receiver and number of a message.
Bytes pattern(int from, int to, int number, std::size_t size) {
    Bytes bytes(size);
    for (std::size_t k = 0; k < size; ++k) {
        bytes[k] = std::byte((k * 7 + std::size_t(31 * from + 17 * to + 5 * number)) % 251);
    }
    return bytes;
}

void gather(const Communicator& ranks, const Context& context, std::size_t size) {
    const auto mine = copy_to_buffer(context, pattern(ranks.rank(), 0, 0, size));
    Buffer<std::byte> all(context, Offset(size) * ranks.size());
    ranks.all_gather(context, mine.view(), all.view());
    const Bytes found = copy_to_host(context, all);
    for (int r = 0; r < ranks.size(); ++r) {
        const Bytes expected = pattern(r, 0, 0, size);
        expect(std::equal(expected.begin(), expected.end(),
                          found.begin() + std::ptrdiff_t(std::size_t(r) * size)),
               "all_gather of " + std::to_string(size) + " bytes");
    }
}

/// Two messages to each other rank, one after the other in memory; `between` comes before the end.
template <class Between>
void exchange(const Communicator& ranks, const Context& context, std::size_t size,
              Between&& between) {
    Bytes out, expected;
    for (int r = 0; r < ranks.size(); ++r) {
        for (int number = 0; number < 2 && r != ranks.rank(); ++number) {
            const Bytes to = pattern(ranks.rank(), r, number, size + std::size_t(number)),
                        from = pattern(r, ranks.rank(), number, size + std::size_t(number));
            out.insert(out.end(), to.begin(), to.end());
            expected.insert(expected.end(), from.begin(), from.end());
        }
    }
    Buffer<std::byte> sent = copy_to_buffer(context, out), received(context, sent.size());
    std::vector<Communicator::Message> send, receive;
    std::size_t at = 0;
    for (int r = 0; r < ranks.size(); ++r) {
        for (int number = 0; number < 2 && r != ranks.rank(); ++number) {
            const std::size_t bytes = size + std::size_t(number);
            send.push_back({r, sent.view().subspan(at, bytes)});
            receive.push_back({r, received.view().subspan(at, bytes)});
            at += bytes;
        }
    }
    ranks.begin(context, send, receive);
    between();
    ranks.end(context);
    expect(copy_to_host(context, received) == expected,
           "an exchange of messages of " + std::to_string(size) + " bytes");
}

void messages(const MpiCommunicator& ranks, const Context& context) {
    ranks.run([&] {
        for (const std::size_t size : {1, 24, 5000, 300000}) {
            gather(ranks, context, size);
            for (int k = 0; k < 3; ++k) exchange(ranks, context, size, [] {});
        }
        exchange(ranks, context, 0, [] {});
    });
}

struct OwnError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Ranks that `fails` names end with an error at one of several places: all end with an error, with
/// the sentence of one of them, and messages go on.
void faults_of(const MpiCommunicator& ranks, const Context& context, std::vector<int> failing) {
    const bool fails = std::ranges::count(failing, ranks.rank()) > 0;
    const auto fault = [&](bool here) {
        if (fails && here) throw OwnError("a fault of this test");
    };
    for (int place = 0; place < 6; ++place) {
        std::string message;
        bool own = false;
        try {
            ranks.run([&] {
                fault(place == 0);
                gather(ranks, context, 40);
                exchange(ranks, context, 400000, [&] { fault(place == 1); });
                fault(place == 2);
                // Errors that all agree on.
                std::exception_ptr error;
                if (fails && place == 3) error = std::make_exception_ptr(OwnError("agreed"));
                ranks.agree(error);
                exchange(ranks, context, 10, [&] { fault(place == 4); });
                fault(place == 5);
            });
        } catch (const OwnError& error) {
            own = true;
        } catch (const RankError& error) {
            message = error.what();
        }
        const std::string where = "place " + std::to_string(place) + ": ";
        // One of two ranks that fail may learn of the other's fault before it comes to its own.
        expect(fails ? own || failing.size() > 1 : !own, where + "its own error is not thrown");
        const bool named = std::ranges::any_of(failing, [&](int r) {
            return message.starts_with("rank " + std::to_string(r) + " ended with an error: ");
        });
        expect(own || (named && message.ends_with(place == 3 ? "agreed" : "a fault of this test")),
               where + message);
        messages(ranks, context);
    }
}

void faults(const MpiCommunicator& ranks, const Context& context) {
    const int size = ranks.size();
    for (int r = 0; r < size; ++r) faults_of(ranks, context, {r});
    if (size > 2) faults_of(ranks, context, {1, size - 1});
    // What a matrix is found to be is thrown as that on all.
    bool found = false;
    try {
        ranks.run([&] {
            if (ranks.rank() == size - 1) throw NotPositiveDefinite("as a test has it");
            gather(ranks, context, 8);
        });
    } catch (const NotPositiveDefinite&) {
        found = true;
    }
    expect(found, "NotPositiveDefinite is not thrown on all ranks");
    messages(ranks, context);
    if (size == 1) return;
    // A message of another length than the one that is expected.
    std::string message;
    try {
        ranks.run([&] {
            Buffer<std::byte> bytes(context, 64);
            const int peer = ranks.rank() ^ 1;
            if (peer < size) {
                const Communicator::Message send{peer, bytes.view().first(ranks.rank() ? 16 : 8)},
                    receive{peer, bytes.view().subspan(32, 16)};
                ranks.begin(context, {&send, 1}, {&receive, 1});
                ranks.end(context);
            }
        });
    } catch (const Error& error) {
        message = error.what();
    }
    expect(message.find("bytes, not 16") != std::string::npos, "wrong length: " + message);
    messages(ranks, context);
}

/// Rows of a rank, about as many nodes on each.
struct OwnPart {
    CsrMatrix<double> own, others;
    std::vector<Offset> columns;
    AmgOptions options;
    std::vector<double> r;
};

OwnPart part_of(const problems::Problem<double>& problem, int rank, int size) {
    const CsrView<double> a = problem.matrix.view();
    const Index block = problem.natural_block, nodes = a.rows / block;
    const auto node_of = [&](int r) { return Index(Offset(nodes) * r / size); };
    const Index first = node_of(rank) * block, end = node_of(rank + 1) * block;
    std::vector<Offset> own_offsets{0}, other_offsets{0};
    std::vector<Index> own_columns, other_columns;
    std::vector<double> own_values, other_values;
    OwnPart part;
    for (Offset k = a.row_offsets[first]; k < a.row_offsets[end]; ++k) {
        const Index column = a.column_indices[k];
        if (column < first || column >= end) part.columns.push_back(column);
    }
    std::ranges::sort(part.columns);
    part.columns.erase(std::ranges::unique(part.columns).begin(), part.columns.end());
    for (Index i = first; i < end; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index column = a.column_indices[k];
            if (column >= first && column < end) {
                own_columns.push_back(column - first);
                own_values.push_back(a.values[k]);
            } else {
                other_columns.push_back(
                    Index(std::ranges::lower_bound(part.columns, column) - part.columns.begin()));
                other_values.push_back(a.values[k]);
            }
        }
        own_offsets.push_back(Offset(own_columns.size()));
        other_offsets.push_back(Offset(other_columns.size()));
        part.r.push_back(std::sin(double(i)));
    }
    const auto matrix = [&](Index columns, const auto& offsets, const auto& indices,
                            const auto& values) {
        CsrMatrix<double> made(Context::cpu(1), end - first, columns, Offset(values.size()));
        std::ranges::copy(offsets, made.row_offsets().data());
        std::ranges::copy(indices, made.column_indices().data());
        std::ranges::copy(values, made.values().data());
        return made;
    };
    part.own = matrix(end - first, own_offsets, own_columns, own_values);
    part.others = matrix(Index(part.columns.size()), other_offsets, other_columns, other_values);
    part.options.block = block;
    const NodeCoordinates& points = problem.coordinates;
    if (!points.values.empty()) {
        const auto begin = points.values.begin();
        part.options.coordinates = NodeCoordinates{
            points.dimensions, std::vector<double>(begin + first / block * points.dimensions,
                                                   begin + end / block * points.dimensions)};
    }
    return part;
}

/// What one application gives, and nodes of levels on each rank.
struct Applied {
    std::vector<double> z;
    std::vector<double> twice_half;  ///< Two times that of two times the matrix.
    std::vector<Offset> nodes;
};

Applied apply_on(const Communicator& ranks, const Context& context,
                 const problems::Problem<double>& problem) {
    const OwnPart part = part_of(problem, ranks.rank(), ranks.size());
    const CsrMatrix<double> own = copy_to(context, part.own),
                            others = copy_to(context, part.others);
    AmgOverRanks m(context, ranks, {own.view(), others.view(), part.columns}, part.options, 50);
    Applied applied;
    const Buffer<double> r = copy_to_buffer(context, part.r);
    Buffer<double> z(context, r.size());
    m.apply(context, r.view(), z.view());
    applied.z = copy_to_host(context, z);
    // Other values, and the first ones again, which give the first bits.
    CsrMatrix<double> twice = copy_to(context, part.own),
                      other_twice = copy_to(context, part.others);
    axpby<double>(context, 1.0, own.values().view(), 1.0, twice.values().view());
    axpby<double>(context, 1.0, others.values().view(), 1.0, other_twice.values().view());
    m.update(context, {twice.view(), other_twice.view(), part.columns});
    Buffer<double> half(context, r.size());
    m.apply(context, r.view(), half.view());
    m.update(context, {own.view(), others.view(), part.columns});
    m.apply(context, r.view(), z.view());
    expect(copy_to_host(context, z) == applied.z, "another update gives other bits");
    axpby<double>(context, 0.0, r.view(), 2.0, half.view());
    applied.twice_half = copy_to_host(context, half);
    for (std::size_t l = 0; l < m.levels().size(); ++l) {
        const std::vector<Offset> nodes = m.nodes_of_ranks(int(l));
        applied.nodes.insert(applied.nodes.end(), nodes.begin(), nodes.end());
        applied.nodes.push_back(m.levels()[l].nodes);
    }
    return applied;
}

double largest(const std::vector<double>& z) {
    double bound = 0;
    for (const double value : z) bound = std::max(bound, std::abs(value));
    return bound;
}

/// Processes and threads compute the same bits, and so do two runs.
void amg(const MpiCommunicator& ranks, const Context& context) {
    for (const char* text : {"elasticity3d:9", "poisson2d:60"}) {
        const auto problem = problems::generate<double>(Context::cpu(1), text);
        Applied by_processes, again;
        ranks.run([&] { by_processes = apply_on(ranks, context, problem); });
        ranks.run([&] { again = apply_on(ranks, context, problem); });
        expect(by_processes.z == again.z, std::string(text) + ": another run has other bits");
        for (std::size_t i = 0; i < again.z.size(); ++i) {
            // Rounding of a cycle in float.
            expect(std::abs(again.z[i] - again.twice_half[i]) <= 1e-4 * largest(again.z),
                   std::string(text) + ": new values are not taken");
        }
        std::vector<Applied> by_threads(std::size_t(ranks.size()));
        run_ranks(ranks.size(), [&](const Communicator& threads) {
            by_threads[std::size_t(threads.rank())] =
                apply_on(threads, context_of(threads.rank()), problem);
        });
        const Applied& same = by_threads[std::size_t(ranks.rank())];
        expect(same.nodes == by_processes.nodes, std::string(text) + ": aggregates differ");
        expect(same.z == by_processes.z, std::string(text) + ": threads give other bits");
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    on_gpu = argc > 1 && std::string(argv[1]) == "cuda";
    {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        const Context context = context_of(rank);
        const MpiCommunicator ranks(MPI_COMM_WORLD, false);
        messages(ranks, context);
        faults(ranks, context);
        amg(ranks, context);
        if (rank == 0) std::printf("passed\n");
    }
    MPI_Finalize();
    return 0;
}
