#include "base/check_cuda.hpp"
#include "base/check_time.hpp"
#include "base/find_csr_entry.hpp"
#include "base/zeros.hpp"
#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "problems/elasticity/assembly/kernels.hpp"

namespace tessera::elasticity::cuda {

using namespace tessera::cuda;

namespace {

constexpr int warps_per_block = 4;

/// The lanes of a warp share the work of one element.
struct WarpLanes {
    static constexpr int count = 32;
    int first;
    __host__ __device__ void wait() const {
#ifdef __CUDA_ARCH__
        __syncwarp();
#endif
    }
};

/// The column indices of the rows of the node at each place, one warp a place. `near_nodes` are its
/// neighbours in the order of their unknowns.
template <int D>
__global__ void __launch_bounds__(32 * warps_per_block)
    columns_kernel(Index places, const Index* nodes, const Offset* near_starts,
                   const Index* near_nodes, const Index* unknowns, const Offset* row_offsets,
                   Index* columns) {
    const Index place = Index(blockIdx.x) * warps_per_block + Index(threadIdx.x) / 32;
    if (place >= places) return;
    const int lane = int(threadIdx.x) % 32;
    const Index* const rows = unknowns + Offset(nodes[place]) * D;
    int before = 0;  // Columns of the neighbours before these 32.
    for (Offset first = near_starts[place]; first < near_starts[place + 1]; first += 32) {
        const Offset at = first + lane;
        Index found[D];
        int count = 0;
        if (at < near_starts[place + 1]) {
            for (int i = 0; i < D; ++i) {
                const Index unknown = unknowns[Offset(near_nodes[at]) * D + i];
                if (unknown >= 0) found[count++] = unknown;
            }
        }
        const int end = warp_inclusive_scan(count);
        for (int i = 0; i < D; ++i) {
            if (rows[i] < 0) continue;
            Index* const to = columns + row_offsets[rows[i]] + before + end - count;
            for (int k = 0; k < count; ++k) to[k] = found[k];
        }
        before += __shfl_sync(full_warp, end, 31);
    }
}

/// Elements of one shape in the memory of a GPU: their nodes, and the laws of all elements.
struct DeviceElements {
    Index first;           ///< The number of the first one of this shape.
    const Index* nodes;    ///< Nodes from the first one on.
    const double* points;  ///< Coordinates of all nodes.
    const ElasticLaw* laws;
    const int* law_of_element;  ///< By the number of the element.
};

/// The stiffness of element `begin` + blockIdx.x of a shape, n x n numbers by rows, at that place
/// of `results`.
template <CellShape S, int M>
__global__ void __launch_bounds__(32)
    stiffnesses_kernel(DeviceElements elements, Index begin,
                       const Reference<S, point_count(S)>* reference, const Reference<S, 1>* centre,
                       Thickness thickness, double* results) {
    using Form = ElementForm<S, M>;
    constexpr int d = Form::d, n = Form::nodes * d;
    __shared__ alignas(Form) unsigned char form_bytes[sizeof(Form)];
    Form& form = reinterpret_cast<Form&>(form_bytes);
    const WarpLanes lanes{int(threadIdx.x)};
    const Index element = begin + Index(blockIdx.x);
    const Index* const nodes = elements.nodes + Offset(element - elements.first) * Form::nodes;
    double points[Form::nodes][d];
    for (int c = 0; c < Form::nodes; ++c) {
        for (int i = 0; i < d; ++i) points[c][i] = elements.points[Offset(nodes[c]) * d + i];
    }
    if (lanes.first < Form::points) {
        const typename Form::Centre at_centre(*centre, points, thickness);
        for (int p = lanes.first; p < Form::points; p += lanes.count) {
            form.set_point(p, *reference, at_centre, points, thickness);
        }
    }
    if (lanes.first == 0) form.axisymmetric = thickness.axisymmetric;
    lanes.wait();
    const ElasticLaw& law = elements.laws[elements.law_of_element[element]];
    double* const result = results + Offset(blockIdx.x) * (n * n);
    if constexpr (M == 0) {
        form.find_stiffness_matrix(law, *reinterpret_cast<double(*)[n][n]>(result), lanes);
    } else {
        __shared__ CondensedStiffness<Form::functions, M, d> condensed;
        for (int k = lanes.first; k < Form::functions * d; k += lanes.count) {
            condensed.forces[k] = 0;
        }
        form.find_stiffness_matrix(law, condensed.full, lanes);
        lanes.wait();
        condensed.condense(lanes);
        for (int k = lanes.first; k < n * n; k += lanes.count) {
            result[k] = condensed.full[k / n][k % n];
        }
    }
}

/// Stiffnesses of the elements first .. last - 1, of one shape: n x n numbers each.
struct Batch {
    Index first, last;
    int node_count;
    const Index* nodes;  ///< Nodes from element `first` on.
    const double* results;
};

/// Adds the stiffnesses of a batch to the rows of each node, one warp a node; without those of
/// elements with a flag.
template <int D>
__global__ void __launch_bounds__(32 * warps_per_block)
    add_rows_kernel(Batch batch, Index node_count, const Offset* starts, const Index* elements,
                    const unsigned char* changed, const Index* unknowns, CsrView<double> matrix,
                    double* values) {
    const Index node = Index(blockIdx.x) * warps_per_block + Index(threadIdx.x) / 32;
    if (node >= node_count) return;
    const int lane = int(threadIdx.x) % 32;
    const Index* const rows = unknowns + Offset(node) * D;
    Index some_row = -1;  // All rows of a node have the same columns.
    for (int i = 0; i < D; ++i) some_row = rows[i] >= 0 ? rows[i] : some_row;
    if (some_row < 0) return;
    const int n = batch.node_count * D;
    static_assert(max_cell_nodes <= 32, "a lane for each node of an element");
    for (Offset at = starts[node]; at < starts[node + 1]; ++at) {
        const Index element = elements[at];
        if (element < batch.first) continue;
        if (element >= batch.last) break;
        if (changed != nullptr && changed[element] != 0) continue;
        const Offset k = element - batch.first;
        const Index* const nodes = batch.nodes + k * batch.node_count;
        const bool is_node = lane < batch.node_count && nodes[lane] == node;
        const int a = __ffs(int(__ballot_sync(full_warp, is_node))) - 1;
        const double* const block = batch.results + (k * n + a * D) * n;
        for (int j = lane; j < n; j += 32) {
            const Index column = unknowns[Offset(nodes[j / D]) * D + j % D];
            if (column < 0) continue;
            const Offset place =
                find_csr_entry(matrix, some_row, column) - matrix.row_offsets[some_row];
            for (int i = 0; i < D; ++i) {
                if (rows[i] >= 0) values[matrix.row_offsets[rows[i]] + place] += block[i * n + j];
            }
        }
        __syncwarp();
    }
}

/// The arrays that the sums of all batches need.
struct DeviceSums {
    Buffer<Offset> starts;   ///< Where the elements of each node begin.
    Buffer<Index> elements;  ///< Elements of the nodes, ascending at each.
    Buffer<unsigned char> changed;
    Buffer<Index> unknowns;

    void add(const Context& context, const Batch& batch, int d, CsrMatrix<double>& matrix) const {
        const auto kernel = d == 2 ? add_rows_kernel<2> : add_rows_kernel<3>;
        const auto node_count = Index(starts.size()) - 1;
        kernel<<<blocks_for(node_count, warps_per_block), 32 * warps_per_block, 0,
                 stream_of(context)>>>(batch, node_count, starts.data(), elements.data(),
                                       changed.empty() ? nullptr : changed.data(), unknowns.data(),
                                       std::as_const(matrix).view(), matrix.values().data());
        TESSERA_CUDA(cudaGetLastError());
    }
};

/// visit(find): find(begin, count, results) finds the stiffnesses of so many elements of a shape.
template <class Visit>
void with_stiffnesses_kernel(const Context& context, const ElementData& data,
                             const DeviceElements& elements, Visit&& visit) {
    with_form(data.elements, elements.first, data.model.formulation, data.thickness.axisymmetric,
              [&](auto shape, auto modes) {
                  constexpr CellShape s = decltype(shape)::value;
                  const auto on_device = [&](const auto& reference) {
                      return copy_to_buffer(context, std::span(&reference, 1));
                  };
                  const auto reference = on_device(reference_points<s>());
                  const auto centre = on_device(reference_points<s, Rule::centre>());
                  visit([&](Index begin, Index count, double* results) {
                      stiffnesses_kernel<s, decltype(modes)::value>
                          <<<unsigned(count), 32, 0, stream_of(context)>>>(
                              elements, begin, reference.data(), centre.data(), data.thickness,
                              results);
                      TESSERA_CUDA(cudaGetLastError());
                  });
              });
}

}  // namespace

CsrMatrix<double> make_matrix(const Context& context, const Neighbours& neighbours, int d,
                              const System& system, Index rows) {
    const Context cpu = Context::cpu(context.threads());
    const std::vector<Offset> row_offsets = find_row_offsets(cpu, neighbours, d, system, rows);
    CsrMatrix<double> matrix(context, rows, rows, row_offsets.back());
    copy_from_host<Offset>(context, row_offsets, matrix.row_offsets().view());
    context.state().fill_bytes(matrix.values().data(), 0,
                               matrix.nonzeros() * Offset(sizeof(double)));
    std::vector<Offset> starts{0};
    std::vector<Index> nodes;
    for (Index place = 0; place < neighbours.places(); ++place) {
        nodes.push_back(neighbours.node_at(place));
        starts.push_back(starts.back() + Offset(neighbours[place].size()));
    }
    std::vector<Index> near_nodes(std::size_t(starts.back()));
    neighbours.each(cpu, [&](Index place, std::span<const Index> near) {
        Index* to = &near_nodes[std::size_t(starts[std::size_t(place)])];
        for (const Index other : near) *to++ = neighbours.node_at(other);
    });
    const auto device_nodes = copy_to_buffer(context, nodes);
    const auto device_starts = copy_to_buffer(context, starts);
    const auto device_near = copy_to_buffer(context, near_nodes);
    const auto unknowns = copy_to_buffer(context, system.unknowns);
    const auto kernel = d == 2 ? columns_kernel<2> : columns_kernel<3>;
    kernel<<<blocks_for(neighbours.places(), warps_per_block), 32 * warps_per_block, 0,
             stream_of(context)>>>(neighbours.places(), device_nodes.data(), device_starts.data(),
                                   device_near.data(), unknowns.data(), matrix.row_offsets().data(),
                                   matrix.column_indices().data());
    TESSERA_CUDA(cudaGetLastError());
    return matrix;
}

void add_stiffnesses(const Context& context, const ElementData& data,
                     std::span<const unsigned char> changed, const NodeElements& node_elements,
                     System& system) {
    constexpr Offset bytes_together = Offset(1) << 28;
    const Mesh& mesh = data.model.mesh;
    const int d = mesh.dimensions;
    std::vector<int> law_of_element(std::size_t(data.elements.count()));
    for (Index element = 0; element < data.elements.count(); ++element) {
        law_of_element[std::size_t(element)] = int(data.stiffness.number(element));
    }
    const DeviceSums sums{copy_to_buffer(context, node_elements.starts()),
                          copy_to_buffer(context, node_elements.all()),
                          copy_to_buffer(context, changed),
                          copy_to_buffer(context, system.unknowns)};
    const auto points = copy_to_buffer(context, mesh.points);
    const auto laws = copy_to_buffer(context, data.stiffness.laws());
    const auto device_laws = copy_to_buffer(context, law_of_element);
    Index first = 0;
    for (const Cells& cells : mesh.elements) {
        if (cells.nodes.empty()) continue;
        const int nodes = node_count(cells.shape);
        const auto count = Index(cells.nodes.size() / std::size_t(nodes));
        const Offset numbers = Offset(nodes) * d * nodes * d;
        const auto length = Index(std::clamp<Offset>(bytes_together / (8 * numbers), 1, count));
        Buffer<double> results(context, length * numbers);
        const auto cell_nodes = copy_to_buffer(context, cells.nodes);
        const DeviceElements elements{first, cell_nodes.data(), points.data(), laws.data(),
                                      device_laws.data()};
        with_stiffnesses_kernel(context, data, elements, [&](const auto& find_stiffnesses) {
            for (Index begin = first; begin < first + count; begin += length) {
                check_time();
                const Index last = std::min(begin + length, first + count);
                find_stiffnesses(begin, last - begin, results.data());
                sums.add(context,
                         {begin, last, nodes, cell_nodes.data() + Offset(begin - first) * nodes,
                          results.data()},
                         d, system.matrix);
            }
        });
        first += count;
    }
}

}  // namespace tessera::elasticity::cuda
