#include <algorithm>

#include "sparse/stored_value.hpp"

namespace tessera {

namespace {

constexpr Index largest_slice = 1 << 20;
constexpr Index largest_window = 1 << 30;

constexpr MatrixFormat formats[] = {MatrixFormat::csr,  MatrixFormat::ell,  MatrixFormat::ellr,
                                    MatrixFormat::sell, MatrixFormat::bell, MatrixFormat::bcsr,
                                    MatrixFormat::sbell};
constexpr ValueFormat value_formats[] = {ValueFormat::working, ValueFormat::f32, ValueFormat::f16,
                                         ValueFormat::bf16};

bool is_blocked(MatrixFormat format) {
    return format == MatrixFormat::bell || format == MatrixFormat::bcsr ||
           format == MatrixFormat::sbell;
}

bool has_slices(MatrixFormat format) {
    return format == MatrixFormat::sell || format == MatrixFormat::sbell;
}

Index parse_block(Spec& spec) {
    const Index block = Index(spec.integer(std::size_t(0), 0, 1, 6));
    if (block != 0 && std::ranges::find(block_sizes, block) == std::end(block_sizes)) {
        throw InvalidArgument(spec.name() + ": there are blocks of 1, 2, 3, 4 and 6 rows, not of " +
                              std::to_string(block));
    }
    return block;
}

int parse_lanes(Spec& spec, MatrixFormat format) {
    const bool many = format == MatrixFormat::csr || format == MatrixFormat::bcsr;
    const int lanes = int(spec.integer("lanes", 0, 1, many ? 32 : 4));
    if ((lanes & (lanes - 1)) != 0) {
        throw InvalidArgument("lanes: " + std::to_string(lanes) + " is not a power of two");
    }
    return lanes;
}

void parse_slices(Spec& spec, FormatOptions& options) {
    if (options.format == MatrixFormat::sell) {
        options.slice_height = Index(spec.integer(std::size_t(0), 0, 1, largest_slice));
    } else {
        options.slice_height = Index(spec.integer("slice", 0, 1, largest_slice));
    }
    if (spec.word("sort_window", "") == "all") {
        options.sort_window = 0;
    } else {
        options.sort_window = Index(spec.integer("sort_window", -1, 1, largest_window));
    }
    options.threads = int(spec.integer("threads", 0, 32, 1024));
    if (options.threads % 32 != 0) {
        throw InvalidArgument("threads: " + std::to_string(options.threads) +
                              " is not a multiple of 32");
    }
    const std::string index = spec.word("index", "auto", {"auto", "16", "32"});
    options.index_bits = index == "auto" ? 0 : index == "16" ? 16 : 32;
    if (options.index_bits == 16 && options.threads > 0) {
        throw InvalidArgument("index: with threads=N a product reads columns of 32 bits");
    }
}

}  // namespace

const char* to_string(MatrixFormat format) {
    switch (format) {
        case MatrixFormat::csr:
            return "csr";
        case MatrixFormat::ell:
            return "ell";
        case MatrixFormat::ellr:
            return "ellr";
        case MatrixFormat::sell:
            return "sell";
        case MatrixFormat::bell:
            return "bell";
        case MatrixFormat::bcsr:
            return "bcsr";
        case MatrixFormat::sbell:
            return "sbell";
    }
    return "";
}

const char* to_string(ValueFormat format) {
    switch (format) {
        case ValueFormat::working:
            return "working";
        case ValueFormat::f32:
            return "f32";
        case ValueFormat::f16:
            return "f16";
        case ValueFormat::bf16:
            return "bf16";
    }
    return "";
}

std::vector<std::string> format_names() {
    std::vector<std::string> names;
    for (const MatrixFormat format : formats) names.emplace_back(to_string(format));
    return names;
}

FormatOptions parse_format(Spec spec) {
    const auto named = std::ranges::find_if(
        formats, [&](MatrixFormat format) { return spec.name() == to_string(format); });
    if (named == std::end(formats)) {
        throw InvalidArgument(unknown_word_message("format", spec.name(), format_names()));
    }
    FormatOptions options;
    options.format = *named;
    options.block = is_blocked(*named) ? parse_block(spec) : 1;
    if (has_slices(*named)) parse_slices(spec, options);
    if (*named != MatrixFormat::csr) {
        std::vector<std::string> words;
        for (const ValueFormat format : value_formats) words.emplace_back(to_string(format));
        const std::string word = spec.word("values", "working", words);
        options.values = value_formats[std::ranges::find(words, word) - words.begin()];
    }
    if (*named != MatrixFormat::ell) options.lanes = parse_lanes(spec, *named);
    spec.finish();
    return options;
}

std::string to_string(const FormatOptions& options) {
    std::string text = to_string(options.format);
    const auto number = [](Offset value) { return std::to_string(value); };
    const bool sell = options.format == MatrixFormat::sell;
    if (sell && options.slice_height > 0) text += ":" + number(options.slice_height);
    if (is_blocked(options.format) && options.block > 0) text += ":" + number(options.block);
    if (options.index_bits > 0 && has_slices(options.format)) {
        text += ",index=" + number(options.index_bits);
    }
    if (options.lanes > 0) text += ",lanes=" + number(options.lanes);
    if (options.format == MatrixFormat::sbell && options.slice_height > 0) {
        text += ",slice=" + number(options.slice_height);
    }
    if (has_slices(options.format) && options.sort_window >= 0) {
        text += ",sort_window=" +
                (options.sort_window == 0 ? std::string("all") : number(options.sort_window));
    }
    if (options.threads > 0) text += ",threads=" + number(options.threads);
    if (options.values != ValueFormat::working) {
        text += std::string(",values=") + to_string(options.values);
    }
    return text;
}

}  // namespace tessera
