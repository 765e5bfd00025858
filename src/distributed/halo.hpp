#pragma once

#include <optional>

#include "base/scratch/scratch.hpp"
#include "distributed/communicator.hpp"
#include "distributed/numbering.hpp"

namespace tessera {

/// The ghosts of a numbering: which ranks own them, and which own nodes other ranks have as ghosts.
/// As ghosts ascend, those of one rank follow one another, and are received in place.
class Halo {
  public:
    /// Rank r owns the nodes starts[r] .. starts[r + 1] - 1; `ghosts` are global numbers of nodes
    /// of other ranks, ascending. Collective; waits.
    Halo(const Context& context, const Communicator& communicator, std::vector<Offset> starts,
         std::vector<Offset> ghosts);

    const Communicator& communicator() const { return *communicator_; }
    const std::vector<Offset>& starts() const { return starts_; }
    const Numbering& numbering() const { return numbering_; }
    Offset all_nodes() const { return starts_.back(); }
    Index own() const { return numbering_.own; }
    Index ghosts() const { return Index(numbering_.ghosts.size()); }
    Index nodes() const { return numbering_.nodes(); }
    /// Ranks that this one receives from.
    int neighbours() const { return int(receive_.size()); }

    /// The items of ghosts, `width` numbers each, from their owners: between its construction and
    /// `finish` they are on their way. Objects of a Context end in the reverse order of their
    /// construction. Collective.
    template <class T>
    class Exchange {
      public:
        Exchange(const Halo& halo, const Context& context, int width, const T* own, T* ghosts);
        void finish() { pending_->end(); }

      private:
        Scratch<T> packed_;
        std::optional<PendingExchange> pending_;
    };
    template <class T>
    void exchange(const Context& context, int width, const T* own, T* ghosts) const {
        Exchange<T>(*this, context, width, own, ghosts).finish();
    }
    /// exchange within an array of own items and, after them, those of ghosts.
    template <class T>
    void exchange(const Context& context, int width, Buffer<T>& items) const {
        exchange(context, width, std::as_const(items).data(), items.data() + Offset(own()) * width);
    }

    /// Which blocks are sent where each rank has the rows of its nodes, and gets those of its
    /// ghosts.
    struct RowMessages {
        Buffer<Offset> packed_offsets;       ///< Where the rows that are sent begin among these.
        Buffer<Offset> row_offsets;          ///< Where those of ghosts begin.
        std::vector<Offset> sent, received;  ///< Where those of each other rank do; on the host.
    };
    /// For own rows of `row_offsets`. Collective; waits.
    RowMessages row_messages(const Context& context, const Offset* row_offsets) const;
    /// The items of the blocks of ghosts' rows from those of own rows, `width` numbers for each
    /// block. Collective.
    void exchange_rows(const Context& context, const RowMessages& messages,
                       const Offset* row_offsets, int width, const double* own,
                       double* ghosts) const;
    /// The global numbers of the columns of ghosts' rows from own rows, with columns in
    /// `numbering`. Collective.
    Buffer<Offset> columns_of_ghosts(const Context& context, const RowMessages& messages,
                                     const BsrView<double>& own, const Numbering& numbering) const;

  private:
    /// Listed nodes first .. end - 1 belong to one other rank.
    struct Part {
        int peer;
        Offset first, end;
    };
    void find_nodes_to_send(const Context& context);
    template <class T>
    Buffer<T> pack_rows(const Context& context, const RowMessages& messages,
                        const Offset* row_offsets, int width, const T* own) const;
    template <class T>
    void exchange_packed(const Context& context, const RowMessages& messages, int width,
                         Buffer<T>& packed, T* ghosts) const;

    const Communicator* communicator_;
    std::vector<Offset> starts_;
    Numbering numbering_;
    std::vector<Part> receive_;  ///< Parts of the ghosts.
    std::vector<Part> send_;     ///< Parts of nodes_to_send_.
    Buffer<Index> nodes_to_send_;
};

}  // namespace tessera
