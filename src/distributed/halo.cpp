#include "distributed/halo.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "distributed/distributed_rows.hpp"

namespace tessera {

using namespace distributed;

namespace {

Numbering number(const Context& context, const Communicator& communicator,
                 const std::vector<Offset>& starts, std::vector<Offset> ghosts) {
    const auto rank = std::size_t(communicator.rank());
    require(starts.size() == std::size_t(communicator.size()) + 1 && starts.front() == 0 &&
                std::ranges::is_sorted(starts),
            "the first nodes of ranks must ascend from 0, and end with the number of all nodes");
    const Offset first = starts[rank], end = starts[rank + 1];
    require(end - first <= std::numeric_limits<Index>::max(), "a rank has at most 2^31 - 1 nodes");
    for (std::size_t k = 0; k < ghosts.size(); ++k) {
        const Offset node = ghosts[k];
        require((k == 0 || ghosts[k - 1] < node) && node >= 0 && node < starts.back() &&
                    (node < first || node >= end),
                "ghosts must ascend and be nodes of other ranks; rank ", rank, " has ", node);
    }
    return {context, first, Index(end - first), std::move(ghosts)};
}

}  // namespace

Halo::Halo(const Context& context, const Communicator& communicator, std::vector<Offset> starts,
           std::vector<Offset> ghosts)
    : communicator_(&communicator), starts_(std::move(starts)) {
    on_all_ranks(communicator,
                 [&] { numbering_ = number(context, communicator, starts_, std::move(ghosts)); });
    const std::vector<Offset>& nodes = numbering_.ghosts;
    const auto position = [&](Offset node) {
        return std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin();
    };
    for (int r = 0; r < communicator.size(); ++r) {
        const Offset first = position(starts_[std::size_t(r)]),
                     end = position(starts_[std::size_t(r) + 1]);
        if (first < end) receive_.push_back({r, first, end});
    }
    find_nodes_to_send(context);
}

/// Asks for the ghosts: their owners learn by it what to send.
void Halo::find_nodes_to_send(const Context& context) {
    const auto size = std::size_t(communicator_->size()), rank = std::size_t(communicator_->rank());
    std::vector<Offset> counts(size, 0);
    for (const Part& part : receive_) counts[std::size_t(part.peer)] = part.end - part.first;
    const std::vector<Offset> all = gather_to_host<Offset>(*communicator_, context, counts);
    Offset total = 0;
    for (std::size_t r = 0; r < size; ++r) {
        const Offset count = all[r * size + rank];
        if (count > 0) send_.push_back({int(r), total, total + count});
        total += count;
    }
    Buffer<Offset> wanted(context, total);
    std::vector<Communicator::Message> ask, answer;
    for (const Part& part : receive_) {
        ask.push_back({part.peer, bytes_of(numbering_.ghosts_of_device.data() + part.first,
                                           part.end - part.first)});
    }
    for (const Part& part : send_) {
        answer.push_back({part.peer, bytes_of(wanted.data() + part.first, part.end - part.first)});
    }
    communicator_->begin(context, ask, answer);
    communicator_->end(context);
    const std::vector<Offset> global = copy_to_host(context, wanted);
    std::vector<Index> nodes;
    nodes.reserve(global.size());
    for (const Offset node : global) nodes.push_back(Index(node - numbering_.first));
    nodes_to_send_ = copy_to_buffer(context, nodes);
}

template <class T>
Halo::Exchange<T>::Exchange(const Halo& halo, const Context& context, int width, const T* own,
                            T* ghosts)
    : packed_(context, halo.nodes_to_send_.size() * width) {
    for_each_index(context, halo.nodes_to_send_.size() * width,
                   PackItems<T>{width, halo.nodes_to_send_.data(), own, packed_.data()});
    std::vector<Communicator::Message> send, receive;
    for (const Part& part : halo.send_) {
        send.push_back({part.peer, bytes_of(packed_.data() + part.first * width,
                                            (part.end - part.first) * width)});
    }
    for (const Part& part : halo.receive_) {
        receive.push_back(
            {part.peer, bytes_of(ghosts + part.first * width, (part.end - part.first) * width)});
    }
    pending_.emplace(*halo.communicator_, context, send, receive);
}

Halo::RowMessages Halo::row_messages(const Context& context, const Offset* row_offsets) const {
    const Offset count = nodes_to_send_.size();
    Buffer<Index> lengths(context, nodes());
    for_each_index(context, own(), RowLengths{row_offsets, lengths.data()});
    exchange(context, 1, lengths);
    RowMessages made{
        Buffer<Offset>(context, count + 1), Buffer<Offset>(context, Offset(ghosts()) + 1), {}, {}};
    exclusive_scan(context, count, ListedLength{nodes_to_send_.data(), row_offsets},
                   made.packed_offsets.data());
    exclusive_scan(context, ghosts(), CountAt{lengths.data() + own()}, made.row_offsets.data());
    const auto starts = [&](const std::vector<Part>& parts, const Buffer<Offset>& offsets) {
        const std::vector<Offset> of_rows = copy_to_host(context, offsets);
        std::vector<Offset> found{0};
        for (const Part& part : parts) found.push_back(of_rows[std::size_t(part.end)]);
        return found;
    };
    made.sent = starts(send_, made.packed_offsets);
    made.received = starts(receive_, made.row_offsets);
    return made;
}

/// The rows that are sent, one after the other.
template <class T>
Buffer<T> Halo::pack_rows(const Context& context, const RowMessages& messages,
                          const Offset* row_offsets, int width, const T* own) const {
    const Offset count = nodes_to_send_.size();
    Buffer<T> packed(context, messages.sent.back() * width);
    const int lanes = sharing_threads(context, count, 8);
    for_each_index(context, count * lanes,
                   PackRows<T>{lanes, width, nodes_to_send_.data(), row_offsets,
                               messages.packed_offsets.data(), own, packed.data()});
    return packed;
}

template <class T>
void Halo::exchange_packed(const Context& context, const RowMessages& messages, int width,
                           Buffer<T>& packed, T* ghosts) const {
    const auto parts_of = [&](const std::vector<Part>& parts, const std::vector<Offset>& starts,
                              T* items) {
        std::vector<Communicator::Message> made;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            made.push_back({parts[k].peer, bytes_of(items + starts[k] * width,
                                                    (starts[k + 1] - starts[k]) * width)});
        }
        return made;
    };
    communicator_->begin(context, parts_of(send_, messages.sent, packed.data()),
                         parts_of(receive_, messages.received, ghosts));
    communicator_->end(context);
}

void Halo::exchange_rows(const Context& context, const RowMessages& messages,
                         const Offset* row_offsets, int width, const double* own,
                         double* ghosts) const {
    Buffer<double> packed = pack_rows(context, messages, row_offsets, width, own);
    exchange_packed(context, messages, width, packed, ghosts);
}

Buffer<Offset> Halo::columns_of_ghosts(const Context& context, const RowMessages& messages,
                                       const BsrView<double>& own,
                                       const Numbering& numbering) const {
    const Buffer<Index> local =
        pack_rows(context, messages, own.row_offsets, 1, own.column_indices);
    Buffer<Offset> packed = global_columns(context, local.view(), numbering),
                   columns(context, messages.received.back());
    exchange_packed(context, messages, 1, packed, columns.data());
    return columns;
}

template class Halo::Exchange<Index>;
template class Halo::Exchange<float>;
template class Halo::Exchange<double>;

}  // namespace tessera
