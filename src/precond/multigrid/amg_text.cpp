#include <filesystem>

#include "base/concat.hpp"
#include "base/dispatch.hpp"
#include "precond/choose.hpp"
#include "precond/multigrid/config.hpp"
#include "precond/multigrid/symmetric_part/symmetric_part.hpp"
#include "tessera/detail/bsr.hpp"
#include "tessera/io.hpp"

namespace tessera {

const char* to_string(AmgStrength strength) {
    return strength == AmgStrength::both       ? "both"
           : strength == AmgStrength::distance ? "distance"
                                               : "frobenius";
}

const char* to_string(AmgNearNull near_null) {
    return near_null == AmgNearNull::automatic    ? "auto"
           : near_null == AmgNearNull::rigid_body ? "rigid_body"
                                                  : "translations";
}

namespace {

/// A dense array of at most `max_columns` columns (near-null vectors, coordinates) from a matrix
/// file; `what` names it in errors.
NearNullSpace read_array(const std::string& path, const char* what, int max_columns) {
    const auto matrix = io::read_matrix<double>(Context::cpu(1), path, nullptr, true);
    require(matrix.columns() >= 1 && matrix.columns() <= max_columns && matrix.rows() >= 1, path,
            ": ", what, " have at least one row and 1 to ", max_columns, " columns, not ",
            matrix.rows(), " rows and ", matrix.columns(), " columns");
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

void read_near_null(const std::string& text, AmgOptions& options) {
    if (text == "constant") {
        require(options.block <= 1, "near_null=constant is for block=1; with block=", options.block,
                " use near_null=translations");
        options.block = 1;
        options.near_null_kind = AmgNearNull::translations;
        return;
    }
    for (const AmgNearNull kind :
         {AmgNearNull::automatic, AmgNearNull::rigid_body, AmgNearNull::translations}) {
        options.near_null_kind = kind;
        if (text == to_string(kind)) return;
    }
    options.near_null_kind = AmgNearNull::automatic;
    if (std::error_code error; !std::filesystem::exists(text, error)) {
        throw InvalidArgument(
            unknown_word_message("near_null", text,
                                 {"auto", "rigid_body", "translations", "constant"}) +
            "; nor is there a file of this name");
    }
    options.near_null = read_array(text, "near-null spaces", max_bsr_block);
}

}  // namespace

AmgConfig::AmgConfig(const Spec& text) {
    Spec spec = text;
    options.block = int(auto_or_integer(spec, "block", 0, 1, max_bsr_block));
    const std::string coordinates = spec.word("coordinates", "");
    names_coordinates = !coordinates.empty();
    if (names_coordinates) {
        NearNullSpace array = read_array(coordinates, "coordinates", 3);
        options.coordinates = NodeCoordinates{array.columns, std::move(array.values)};
    }
    const std::string near_null = spec.word("near_null", "auto");
    names_near_null = near_null != "auto";
    read_near_null(near_null, options);
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
    options.coarse_rows = Index(auto_or_integer(spec, "coarse", 0, 1, 6000));
    options.max_levels = int(spec.integer("levels", options.max_levels, 1, 50));
    options.single_precision = spec.word("precision", "f32", {"f32", "working"}) == "f32";
    const std::string values = spec.word("values", "auto", {"auto", "working", "f16"});
    if (values != "auto")
        options.values = values == "f16" ? ValueFormat::f16 : ValueFormat::working;
    symmetric_part = spec.word("symmetric_part", "off", {"on", "off"}) == "on";
    spec.finish();
}

PreconditionerInputs AmgConfig::inputs_for(Index rows, const PreconditionerInputs& given) const {
    PreconditionerInputs used = given;
    if (names_coordinates) used.coordinates = options.coordinates;
    if (names_near_null) used.near_null = options.near_null;
    const NodeCoordinates& points = *used.coordinates;
    require(!points.values.empty() || options.near_null_kind != AmgNearNull::rigid_body,
            "near_null=rigid_body needs the coordinates of the nodes, which this matrix came "
            "without: name a file (coordinates=FILE), or leave near_null out");
    // Coordinates of a problem do not matter where the text wants other nodes.
    if (!names_coordinates && options.block != 0 && options.block != points.dimensions &&
        (!points.unknowns.empty() ||
         Offset(points.values.size()) * options.block != Offset(rows) * points.dimensions)) {
        used.coordinates = {};
    }
    require(
        !used.coordinates->values.empty() || options.strength != AmgStrength::distance,
        "strength=distance needs the coordinates of the nodes, which are not known: name a file "
        "(coordinates=FILE), or leave strength out");
    return used;
}

template <class T>
std::unique_ptr<Preconditioner<T>> AmgConfig::make(const Context& context, const CsrView<T>& matrix,
                                                   const PreconditionerInputs& inputs) const {
    const PreconditionerInputs used = inputs_for(matrix.rows, inputs);
    AmgOptions chosen = options;
    chosen.coordinates = used.coordinates;
    chosen.near_null = used.near_null;
    chosen.natural_blocks = inputs.natural_blocks;
    chosen.refuses_fill = inputs.has_alternative;
    if (!symmetric_part) {
        chosen.matrix_stays = inputs.matrix_stays;
        return std::make_unique<Amg<T>>(context, matrix, chosen);
    }
    return std::make_unique<OfSymmetricPart<T>>(context, matrix, [&](const CsrView<T>& part) {
        return std::make_unique<Amg<T>>(context, part, chosen);
    });
}

Offset AmgConfig::bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const {
    // As measured for Poisson's equation and elasticity in 2 and 3 dimensions, 0 to 50 % above
    // them; stretched elements may take several times as much.
    const Offset entry = 22 + (options.single_precision ? 0 : bytes_per_value);
    const Offset part = symmetric_part ? 2 * (bytes_per_value + Offset(sizeof(Index))) : 0;
    return (entry + part) * nonzeros + 240 * Offset(rows);
}

template <class T>
std::string Amg<T>::describe() const {
    return text_of(options());
}

std::string text_of(const AmgOptions& given) {
    const AmgOptions usual;
    std::string text = "amg,block=" + std::to_string(given.block);
    if (given.near_null_kind != usual.near_null_kind) {
        text += std::string(",near_null=") + to_string(given.near_null_kind);
    }
    if (given.smoothing_steps != usual.smoothing_steps) {
        text += ",smoother=chebyshev4_optimal:" + std::to_string(given.smoothing_steps);
    }
    if (given.strength != usual.strength)
        text += std::string(",strength=") + to_string(given.strength);
    if (given.theta != usual.theta) text += ",theta=" + number_text(given.theta);
    if (given.second_pass >= 0) text += ",second_pass=" + std::to_string(given.second_pass);
    if (given.coarse_rows != usual.coarse_rows)
        text += ",coarse=" + std::to_string(given.coarse_rows);
    if (given.max_levels != usual.max_levels) text += ",levels=" + std::to_string(given.max_levels);
    if (!given.single_precision) text += ",precision=working";
    if (given.values) text += std::string(",values=") + to_string(*given.values);
    return text;
}

std::string near_null_name(AmgNearNull kind, int block) {
    if (kind == AmgNearNull::rigid_body) return to_string(kind);
    return block == 1 ? "constant" : to_string(AmgNearNull::translations);
}

std::string translations_warning(const NodeCoordinates& points, int block) {
    if (block != 2 && block != 3) return {};
    const int dimensions = points.dimensions;
    const std::string reason =
        points.values.empty()
            ? "no coordinates are known"
            : concat("coordinates of ", dimensions, dimensions == 1 ? " dimension" : " dimensions",
                     " do not fit nodes of ", block, " unknowns");
    return "the near-null space is translations, as " + reason +
           ": systems of elasticity take 2 to 9 times the iterations; give coordinates=FILE with " +
           std::to_string(block) +
           " numbers for each node (or near_null=translations, if these are meant)";
}

ReportValue amg_report(const std::string& near_null, int vectors, double operator_complexity,
                       const char* values, Offset recoveries, const std::vector<AmgLevel>& levels) {
    ReportValues rows;
    for (const AmgLevel& level : levels) {
        rows.push_back({"", ReportValues{{"nodes", Offset(level.nodes)},
                                         {"block", Offset(level.block)},
                                         {"blocks", level.blocks},
                                         {"prolongator_blocks", level.transfers},
                                         {"lambda", level.lambda}}});
    }
    return {"amg", ReportValues{{"near_null", near_null},
                                {"near_null_vectors", Offset(vectors)},
                                {"operator_complexity", operator_complexity},
                                {"values", std::string(values)},
                                {"recoveries", recoveries},
                                {"levels", rows}}};
}

template std::string Amg<float>::describe() const;
template std::string Amg<double>::describe() const;
template std::unique_ptr<Preconditioner<float>> AmgConfig::make(const Context&,
                                                                const CsrView<float>&,
                                                                const PreconditionerInputs&) const;
template std::unique_ptr<Preconditioner<double>> AmgConfig::make(const Context&,
                                                                 const CsrView<double>&,
                                                                 const PreconditionerInputs&) const;

}  // namespace tessera
