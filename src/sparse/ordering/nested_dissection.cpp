#include <dlfcn.h>

#include <limits>
#include <numeric>

#include "sparse/ordering/pair_graph.hpp"

namespace tessera::ordering {

namespace {

/// METIS 5 with 32-bit integers, as Debian's libmetis5 is. Loaded when it is first asked for, so
/// that programs start without it; Debian has no static library.
class Metis {
  public:
    using SetDefaults = int(std::int32_t* options);
    using NodeNd = int(std::int32_t* vertices, std::int32_t* offsets, std::int32_t* neighbours,
                       std::int32_t* weights, std::int32_t* options, std::int32_t* vertex_at,
                       std::int32_t* position_of);

    Metis() {
        for (const char* name : {"libmetis.so.5", "libmetis.so"}) {
            if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
        if (handle_ == nullptr) {
            throw NotBuilt(
                "ordering=metis: libmetis.so.5 is not there (Debian package libmetis5, or a folder "
                "in LD_LIBRARY_PATH); ordering=amd needs no library");
        }
        set_defaults = reinterpret_cast<SetDefaults*>(dlsym(handle_, "METIS_SetDefaultOptions"));
        node_nd = reinterpret_cast<NodeNd*>(dlsym(handle_, "METIS_NodeND"));
        if (set_defaults == nullptr || node_nd == nullptr || !has_32_bit_integers()) {
            throw NotBuilt(
                "ordering=metis: the libmetis.so found is not METIS 5 with 32-bit "
                "integers; ordering=amd needs no library");
        }
    }

    static constexpr int option_count = 40;
    SetDefaults* set_defaults;
    NodeNd* node_nd;

  private:
    /// METIS_SetDefaultOptions writes -1 to all of its options; with 64-bit integers it reaches the
    /// second half.
    bool has_32_bit_integers() const {
        std::int32_t options[2 * option_count] = {};
        set_defaults(options);
        return options[option_count - 1] == -1 && options[option_count] == 0;
    }

    void* handle_ = nullptr;
};

}  // namespace

std::vector<Index> nested_dissection(const PairGraph& graph) {
    static const Metis metis;
    std::vector<Index> order(std::size_t(graph.vertices()));
    std::iota(order.begin(), order.end(), 0);
    if (graph.neighbours.empty()) return order;
    if (graph.neighbours.size() > std::size_t(std::numeric_limits<std::int32_t>::max())) {
        throw InvalidArgument(
            "ordering=metis takes graphs with up to 2^31 - 1 entries; take "
            "ordering=amd");
    }
    std::vector<std::int32_t> offsets(graph.offsets.begin(), graph.offsets.end());
    std::vector<std::int32_t> neighbours = graph.neighbours;  // METIS takes no const.
    std::vector<std::int32_t> weights(order.size());
    for (Index v = 0; v < graph.vertices(); ++v) weights[v] = graph.rows(v);
    std::int32_t options[Metis::option_count];
    metis.set_defaults(options);
    std::int32_t vertices = graph.vertices();
    std::vector<std::int32_t> position(order.size());
    constexpr int metis_ok = 1;
    if (metis.node_nd(&vertices, offsets.data(), neighbours.data(), weights.data(), options,
                      order.data(), position.data()) != metis_ok) {
        throw OutOfMemory("ordering=metis: METIS_NodeND failed on a graph with " +
                          std::to_string(neighbours.size()) + " entries");
    }
    return order;
}

}  // namespace tessera::ordering
