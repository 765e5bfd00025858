#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "io/formats.hpp"
#include "io/io_test.hpp"
#include "tessera/tessera.hpp"

/// Properties that must hold for every input of the readers; shared by the fuzz targets and the
/// test that replays their corpus. Each function returns an empty text or the violated property.
namespace tessera::io::fuzz {

inline constexpr const char* refused = "(refused)";

/// Ends a fuzz target with the first text that is not empty.
inline int abort_if_broken(std::initializer_list<std::string> properties) {
    for (const std::string& broken : properties) {
        if (broken.empty()) continue;
        std::fprintf(stderr, "%s\n", broken.c_str());
        std::abort();
    }
    return 0;
}

/// read() as a matrix, or the message of its error.
template <class Read>
std::string try_read(CsrMatrix<double>& matrix, Read&& read) {
    try {
        matrix = read();
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

inline std::string check_matrix_market(const Context& cpu, std::string_view text) {
    CsrMatrix<double> matrix;
    const std::string error = try_read(matrix, [&] {
        return parse_matrix_market({cpu, text, "f"});
    });
    for (const std::size_t chunk_bytes : {1, 7}) {
        CsrMatrix<double> again;
        const std::string same = try_read(again, [&] {
            return parse_matrix_market({cpu, text, "f"}, chunk_bytes);
        });
        if (same != error) return "in other chunks: '" + same + "' and not '" + error + "'";
        if (error.empty() && !same_bits(matrix.view(), again.view())) {
            return "other chunks give another matrix";
        }
    }
    try {
        parse_matrix_market_columns({cpu, text, "f"});
    } catch (const ParseError&) {
    }
    if (!error.empty()) return "";
    validate(matrix.view());
    std::string written;
    for (const FileSection& section : matrix_market_text(cpu, matrix.view(), Symmetry::general)) {
        section.append(0, section.count, written);
    }
    const auto back = parse_matrix_market({cpu, written, "written", nullptr, true});
    return same_bits(matrix.view(), back.view()) ? "" : "what was written reads back differently";
}

inline std::string check_other_formats(const Context& cpu, std::string_view bytes) {
    CsrMatrix<double> matrix;
    if (is_harwell_boeing(bytes)) {
        const std::string error = try_read(matrix, [&] {
            return parse_harwell_boeing({cpu, bytes, "f"});
        });
        if (error.empty()) validate(matrix.view());
    }
    if (is_petsc_binary(bytes)) {
        const std::string error = try_read(matrix, [&] {
            return parse_petsc_matrix({cpu, bytes, "f"});
        });
        if (error.empty()) validate(matrix.view());
        try {
            parse_petsc_vector({cpu, bytes, "f"});
        } catch (const ParseError&) {
        }
    }
    return "";
}

/// Properties of a mesh that io::read_mesh documents.
inline std::string broken_promise(const Mesh& mesh) {
    const std::size_t nodes = std::size_t(mesh.node_count());
    if (mesh.points.size() != nodes * std::size_t(mesh.dimensions)) return "half a point";
    std::vector<bool> used(nodes, false);
    for (const Cells& cells : mesh.elements) {
        if (dimensions(cells.shape) != mesh.dimensions) return "an element of another dimension";
        if (cells.nodes.size() % std::size_t(node_count(cells.shape)) != 0)
            return "half an element";
        for (const Index node : cells.nodes) {
            if (node < 0 || std::size_t(node) >= nodes) return "an element has an unknown node";
            used[std::size_t(node)] = true;
        }
    }
    if (std::find(used.begin(), used.end(), false) != used.end()) return "a node without elements";
    if (!mesh.regions.empty() && mesh.regions.size() != std::size_t(mesh.element_count())) {
        return "not one region an element";
    }
    for (const int region : mesh.regions) {
        if (region < 0 || std::size_t(region) >= mesh.region_names.size()) {
            return "a region without a name";
        }
    }
    for (const MeshGroup& group : mesh.groups) {
        if (&mesh.group(group.name) != &group) return "a group is not found by its name";
        for (const Cells& cells : group.cells) {
            if (dimensions(cells.shape) != group.dimensions) return "a cell of another dimension";
            for (const Index node : cells.nodes) {
                if (node < 0 || std::size_t(node) >= nodes) return "a group has an unknown node";
            }
        }
    }
    return "";
}

/// f() or, if it throws an Error such as that of a file of block sizes, `refused`.
template <class F>
std::string text_or_refused(F&& f) {
    try {
        return f();
    } catch (const Error&) {
        return refused;
    }
}

/// A number that parse_real accepts is that which the C library reads, Fortran's exponents apart.
inline std::string check_number(const std::string& token) {
    double number = 0;
    if (!parse_real(token, number).empty()) return "";
    std::string text = token;
    for (char& c : text) {
        if (c == 'd' || c == 'D' || c == 'q' || c == 'Q') c = 'e';
    }
    const std::size_t sign = text.find_last_of("+-");
    if (sign != std::string::npos && sign > 0 && text[sign - 1] != 'e' && text[sign - 1] != 'E') {
        text.insert(sign, "e");
    }
    return std::strtod(text.c_str(), nullptr) == number ? "" : "another number: '" + token + "'";
}

/// What the grammar of options accepts, it accepts again in its normalised form, as the same.
inline std::string check_grammar(std::string_view bytes) {
    static const Context cpu = Context::cpu(1);
    static const auto problem = problems::generate<double>(cpu, "elasticity2d:2");
    const std::string text(bytes);
    const auto normalised = [](const std::string& of) {
        return text_or_refused([&] { return Spec(of).normalised(); });
    };
    const auto format = [](const std::string& of) {
        return text_or_refused([&] { return to_string(parse_format(of)); });
    };
    const auto preconditioner = [](const std::string& of) {
        return text_or_refused([&] {
            const auto made = make_preconditioner<double>(cpu, of, problem.matrix.view());
            return made ? made->describe() : "none";
        });
    };
    text_or_refused(
        [&] { return parse_solver(text)->numbers(1000) > 0 ? "" : "a solver without vectors"; });
    for (const auto& once : {std::function<std::string(const std::string&)>(normalised),
                             std::function<std::string(const std::string&)>(format),
                             std::function<std::string(const std::string&)>(preconditioner)}) {
        const std::string first = once(text);
        if (first == refused) continue;
        const std::string second = once(first);
        if (second != first) return "'" + first + "' becomes '" + second + "'";
    }
    return check_number(text);
}

inline std::string check_gmsh(std::string_view bytes) {
    try {
        return broken_promise(parse_gmsh({Context::cpu(1), bytes, "f"}));
    } catch (const ParseError&) {
        return "";
    }
}

}  // namespace tessera::io::fuzz
