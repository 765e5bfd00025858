#include <algorithm>

#include "sparse/sliced/steps.hpp"

namespace tessera {

namespace {

using sliced::has_slices;

constexpr Index largest_slice = 1 << 20;
constexpr Index largest_window = 1 << 30;

/// Names in the order of MatrixFormat and ValueFormat.
constexpr const char* formats[] = {"csr", "ell", "sell", "bell", "bcsr", "sbell"};
constexpr const char* value_formats[] = {"working", "f32", "f16", "bf16"};

bool is_blocked(MatrixFormat format) {
    return format == MatrixFormat::bell || format == MatrixFormat::bcsr ||
           format == MatrixFormat::sbell;
}

Index parse_block(Spec& spec) {
    const Index block = Index(spec.integer(0, 0, 1, 6));
    if (block != 0 && std::ranges::find(block_sizes, block) == std::end(block_sizes)) {
        throw InvalidArgument(spec.name() + ": there are blocks of 1, 2, 3, 4 and 6 rows, not of " +
                              std::to_string(block));
    }
    return block;
}

void parse_slices(Spec& spec, FormatOptions& options) {
    if (options.format == MatrixFormat::sell) {
        options.slice_height = Index(spec.integer(0, 0, 1, largest_slice));
    } else {
        options.slice_height = Index(spec.integer("slice", 0, 1, largest_slice));
    }
    if (spec.word("sort_window", "") == "all") {
        options.sort_window = 0;
    } else {
        options.sort_window = Index(spec.integer("sort_window", -1, 1, largest_window));
    }
    const std::string index = spec.word("index", "auto", {"auto", "16", "32"});
    options.index_bits = index == "auto" ? 0 : index == "16" ? 16 : 32;
}

}  // namespace

const char* to_string(MatrixFormat format) { return formats[std::size_t(format)]; }

const char* to_string(ValueFormat format) { return value_formats[std::size_t(format)]; }

std::vector<std::string> format_names() { return {std::begin(formats), std::end(formats)}; }

namespace {

FormatOptions parse_named_format(Spec spec) {
    const auto* const named = std::ranges::find(formats, spec.name());
    if (named == std::end(formats)) {
        throw InvalidArgument(unknown_word_message("format", spec.name(), format_names()));
    }
    FormatOptions options;
    options.format = MatrixFormat(named - formats);
    options.block = is_blocked(options.format) ? parse_block(spec) : 1;
    if (has_slices(options.format)) parse_slices(spec, options);
    if (options.format != MatrixFormat::csr) {
        const std::string word =
            spec.word("values", "working", {std::begin(value_formats), std::end(value_formats)});
        options.values = ValueFormat(std::ranges::find(value_formats, word) - value_formats);
    }
    spec.finish();
    return options;
}

}  // namespace

FormatOptions parse_format(Spec spec) {
    return naming_argument("format", [&] { return parse_named_format(std::move(spec)); });
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
    if (options.format == MatrixFormat::sbell && options.slice_height > 0) {
        text += ",slice=" + number(options.slice_height);
    }
    if (has_slices(options.format) && options.sort_window >= 0) {
        text += ",sort_window=" +
                (options.sort_window == 0 ? std::string("all") : number(options.sort_window));
    }
    if (options.values != ValueFormat::working) {
        text += std::string(",values=") + to_string(options.values);
    }
    return text;
}

}  // namespace tessera
