#include <cstdio>

#include "base/dispatch.hpp"
#include "precond/choose.hpp"
#include "precond/multigrid/config.hpp"
#include "tessera/detail/bsr.hpp"
#include "tessera/io.hpp"

namespace tessera {

const char* to_string(AmgStrength strength) {
    return strength == AmgStrength::both       ? "both"
           : strength == AmgStrength::distance ? "distance"
                                               : "frobenius";
}

namespace {

/// The rows of an array in a file.
NearNullSpace read_array(const std::string& path, const char* what, int max_columns) {
    const auto matrix = io::read_matrix<double>(Context::cpu(1), path, nullptr, true);
    require(matrix.columns() <= max_columns, path, ": ", what, " have at most ", max_columns,
            " columns, not ", matrix.columns());
    NearNullSpace array{matrix.columns(), {}};
    const auto width = std::size_t(matrix.columns());
    array.values.assign(std::size_t(matrix.rows()) * width, 0.0);
    const CsrView<double> view = matrix.view();
    for (std::size_t i = 0; i < std::size_t(view.rows); ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            array.values[i * width + std::size_t(view.column_indices[k])] = view.values[k];
        }
    }
    return array;
}

Offset auto_or_integer(Spec& spec, const char* key, Offset automatic, Offset low, Offset high) {
    Spec copy = spec;
    return copy.word(key, "auto") == "auto" ? (spec.word(key, "auto"), automatic)
                                            : spec.integer(key, automatic, low, high);
}

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

}  // namespace

AmgConfig::AmgConfig(const Spec& text) {
    Spec spec = text;
    options.block = int(auto_or_integer(spec, "block", 0, 1, max_bsr_block));
    const std::string coordinates = spec.word("coordinates", "");
    if (!coordinates.empty()) {
        NearNullSpace array = read_array(coordinates, "coordinates", 3);
        options.coordinates = {array.columns, std::move(array.values)};
        takes_coordinates = false;
    }
    const std::string near_null = spec.word("near_null", "auto");
    needs_coordinates = near_null == "rigid_body";
    if (near_null == "constant") {
        require(options.block <= 1, "near_null=constant is for block=1; with block=", options.block,
                " use near_null=translations");
        options.block = 1;
    }
    if (near_null == "constant" || near_null == "translations") {
        names_translations = true;
    } else if (near_null != "auto" && !needs_coordinates) {
        options.near_null = read_array(near_null, "near-null spaces", max_bsr_block);
    }
    options.strength = choose(spec, "strength",
                              {AmgStrength::both, AmgStrength::distance, AmgStrength::frobenius});
    options.theta = spec.real("theta", options.theta, 0, 1);
    options.second_pass = int(auto_or_integer(spec, "second_pass", -1, 0, 1000));
    Spec smoother = spec.word("smoother", "chebyshev4_optimal:2");
    if (smoother.name() != "chebyshev4_optimal") {
        throw InvalidArgument(
            unknown_word_message("smoother", smoother.name(), {"chebyshev4_optimal"}));
    }
    options.smoothing_steps = int(smoother.integer(0, 2, 2, 16));
    smoother.finish();
    options.coarse_rows = Index(spec.integer("coarse", options.coarse_rows, 1, 6000));
    options.max_levels = int(spec.integer("levels", options.max_levels, 1, 50));
    options.single_precision = spec.word("precision", "f32", {"f32", "working"}) == "f32";
    options.values = choose(spec, "values", {ValueFormat::working, ValueFormat::f16});
    spec.finish();
}

template <class T>
std::unique_ptr<Preconditioner<T>> AmgConfig::make(const Context& context,
                                                   const CsrView<T>& matrix) const {
    require(!needs_coordinates || !options.coordinates.values.empty(),
            "near_null=rigid_body needs the coordinates of the nodes, which this matrix came "
            "without: name a file (coordinates=FILE), or leave near_null out");
    AmgOptions chosen = options;
    if (names_translations) {
        chosen.block = amg_block(context, matrix, options);
        require(matrix.rows % chosen.block == 0, "amg: nodes of ", chosen.block,
                " unknowns do not divide a matrix of ", matrix.rows, " rows");
        chosen.near_null = translations(matrix.rows / chosen.block, chosen.block);
    }
    return std::make_unique<Amg<T>>(context, matrix, chosen);
}

Offset AmgConfig::bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const {
    const Offset value = options.single_precision ? 4 : bytes_per_value;
    // Coarser levels have about half of the entries, transfers a third.
    return 2 * nonzeros * (value + 1) + Offset(rows) * (6 * value + 8 + 4 * bytes_per_value);
}

void AmgConfig::use_coordinates(const NodeCoordinates& coordinates) {
    if (takes_coordinates) options.coordinates = coordinates;
}

template <class T>
std::string Amg<T>::describe() const {
    const AmgOptions& given = options();
    const AmgOptions usual;
    std::string text = "amg,block=" + std::to_string(given.block);
    if (given.smoothing_steps != usual.smoothing_steps) {
        text += ",smoother=chebyshev4_optimal:" + std::to_string(given.smoothing_steps);
    }
    if (given.strength != usual.strength)
        text += std::string(",strength=") + to_string(given.strength);
    if (given.theta != usual.theta) text += ",theta=" + text_of(given.theta);
    if (given.second_pass >= 0) text += ",second_pass=" + std::to_string(given.second_pass);
    if (given.coarse_rows != usual.coarse_rows)
        text += ",coarse=" + std::to_string(given.coarse_rows);
    if (given.max_levels != usual.max_levels) text += ",levels=" + std::to_string(given.max_levels);
    if (!given.single_precision) text += ",precision=working";
    if (given.values != usual.values) text += ",values=f16";
    return text;
}

template std::string Amg<float>::describe() const;
template std::string Amg<double>::describe() const;
template std::unique_ptr<Preconditioner<float>> AmgConfig::make(const Context&,
                                                                const CsrView<float>&) const;
template std::unique_ptr<Preconditioner<double>> AmgConfig::make(const Context&,
                                                                 const CsrView<double>&) const;

}  // namespace tessera
