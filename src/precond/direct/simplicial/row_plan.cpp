#include "precond/direct/simplicial/row_plan.hpp"

#include <algorithm>

#include "base/check_time.hpp"

namespace tessera::direct {

std::optional<RowPlan> plan_rows(const PatternView& pattern, const Arrangement& arrangement,
                                 const std::vector<Index>& order) {
    const Index rows = pattern.rows;
    const auto size = std::size_t(rows);
    RowPlan plan;
    plan.number.resize(size);
    for (Index k = 0; k < rows; ++k) plan.number[order[k]] = k;
    if (!arrangement.partner.empty()) {
        plan.is_first.assign(size, 0);
        for (Index k = 0; k + 1 < rows; ++k) {
            plan.is_first[k] = arrangement.partner[order[k]] == order[k + 1];
        }
    }
    // Milliseconds of analysis, factors and a solve:
    //   operations a row   by rows  fronts
    //   1138_bus        7     0.34    0.69
    //   add20          58     1.42    2.15
    //   young3c       388     0.70    0.80
    //   bcsstm12      517     1.28    1.50
    //   bcsstk07      929     0.54    0.57
    //   rdb1250l    1,120     1.79    1.38
    //   nos3        1,417     1.29    1.10
    //   gre_343     1,843     0.60    0.80, after a matching for rows
    //   sqd_aug3dcqp_3x3_it5, 770 and 1.3e7 in all  9.7  7.6
    //   dw2048, 1,377 and 2.8e6 in all              2.9  2.6, after a matching for rows
    const double max_flops = arrangement.by_pattern ? std::min(2500 * double(rows), 1e6)
                                                    : std::min(800 * double(rows), 1e7);
    const double triangles = arrangement.symmetric ? 1 : 2;
    plan.parent.assign(size, -1);
    std::vector<Index> counts(size, 0), seen(size, -1);
    Offset products = 0;
    // Both columns of a pair have entries in the same rows: who is coupled with the second one is
    // coupled with the first one.
    const auto first_of_pair = [&](Index k) {
        return !plan.is_first.empty() && k > 0 && plan.is_first[k - 1] ? k - 1 : k;
    };
    for (Index k = 0; k < rows; ++k) {
        if (k % 1024 == 0) check_time();
        seen[k] = k;
        const Index parent = first_of_pair(k);
        for (const Index neighbour : pattern.row(order[k])) {
            Index j = plan.number[neighbour];
            if (j >= k) continue;
            for (j = first_of_pair(j); seen[j] != k; j = plan.parent[j]) {
                if (plan.parent[j] < 0) plan.parent[j] = j == parent ? k : parent;
                seen[j] = k;
                products += ++counts[j];
            }
        }
        plan.flops = triangles * 2 * double(products);
        if (plan.flops > max_flops) return {};
    }
    plan.offsets.reserve(size + 1);
    plan.offsets.push_back(0);
    for (const Index count : counts) plan.offsets.push_back(plan.offsets.back() + count);
    plan.order = order;
    return plan;
}

}  // namespace tessera::direct
