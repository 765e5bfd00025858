#include "distributed/distributed_rows.hpp"
#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"

namespace tessera::cuda {

using namespace distributed;

#define TESSERA_FOR_EACH(F) template void for_each_index(const Context&, Offset, const F&);
TESSERA_FOR_EACH_REAL(PackNumbers)
TESSERA_FOR_EACH_REAL(AddRanks)
TESSERA_FOR_EACH_REAL(PackItems)
TESSERA_FOR_EACH_REAL(AddListed)
TESSERA_FOR_EACH(PackItems<Index>)
TESSERA_FOR_EACH(RowLengths)
TESSERA_FOR_EACH(PackRows<Index>)
TESSERA_FOR_EACH(PackRows<double>)
TESSERA_FOR_EACH(PlaceBlocks)
TESSERA_FOR_EACH(ShiftOffsets)
TESSERA_FOR_EACH(GlobalColumns)
TESSERA_FOR_EACH(RenumberColumns)
TESSERA_FOR_EACH(LocalColumns)
TESSERA_FOR_EACH(SortBlocks)
TESSERA_FOR_EACH(CountForeign)
TESSERA_FOR_EACH(CopyForeign)
TESSERA_FOR_EACH(MarkListed)
TESSERA_FOR_EACH(CopyMarked)
TESSERA_FOR_EACH(CountInRange)
TESSERA_FOR_EACH(CopyRange)
TESSERA_FOR_EACH(ListRows)
TESSERA_FOR_EACH(AddOffsets)
TESSERA_FOR_EACH(JoinRows)
template void exclusive_scan(const Context&, Offset, ListedLength, Offset*);
template void exclusive_scan(const Context&, Offset, HasBlocks, Offset*);

}  // namespace tessera::cuda
