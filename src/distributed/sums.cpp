#include "distributed/sums.hpp"

#include "base/scratch/scratch.hpp"
#include "distributed/distributed_rows.hpp"

namespace tessera {

namespace {

template <class T>
void add_ranks(const Communicator& communicator, const Context& context, T* first, Offset count,
               Offset stride) {
    const int ranks = communicator.size();
    const Scratch<T> mine(context, count), all(context, count * ranks);
    for_each_index(context, count, distributed::PackNumbers<T>{first, stride, mine.data()});
    communicator.all_gather(context, bytes_of(std::as_const(mine).data(), count),
                            bytes_of(all.data(), count * ranks));
    for_each_index(context, count,
                   distributed::AddRanks<T>{ranks, count, all.data(), first, stride});
}

}  // namespace

void SumsOver::add(const Context& context, float* first, Offset count, Offset stride) const {
    add_ranks(communicator_, context, first, count, stride);
}

void SumsOver::add(const Context& context, double* first, Offset count, Offset stride) const {
    add_ranks(communicator_, context, first, count, stride);
}

}  // namespace tessera
