#include "system/system.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "run/interrupt.hpp"
#include "tessera/operator.hpp"
#include "tessera/problems.hpp"
#include "tessera/spec.hpp"

namespace tessera::cli {

namespace {

std::vector<std::string> files_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        if (at->is_regular_file(error)) names.push_back(at->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// One sentence for a text that is not a file or a problem.
std::string not_found_message(const std::string& text, const std::vector<std::string>& problems) {
    const std::filesystem::path path(text);
    const std::filesystem::path folder = path.parent_path();
    const std::string file =
        nearest_word(path.filename().string(), files_in(folder.empty() ? "." : folder));
    const std::size_t colon = std::min({text.find(':'), text.find(','), text.size()});
    const std::string problem = nearest_word(text.substr(0, colon), problems);
    std::string message = "there is no file or problem '" + text + "'";
    if (text == "-") return message + "; the standard input is /dev/stdin";
    if (!problem.empty()) return message + "; did you mean '" + problem + text.substr(colon) + "'?";
    if (!file.empty()) return message + "; did you mean '" + (folder / file).string() + "'?";
    message += "; give a matrix file, a mesh (.msh) or one of the problems";
    const char* separator = " ";
    for (const std::string& name : problems) {
        message += separator + name;
        separator = ", ";
    }
    return message;
}

/// Throws unless a matrix or vector, called `name`, can be rounded to T.
template <class T, class Values>
void check_range(const std::string& name, const Values& values) {
    if (std::is_same_v<T, double>) return;
    const std::string fault = float_range_fault(values);
    if (!fault.empty()) throw InvalidArgument(name + ": " + fault);
}

/// The matrix in the type of the solve, moved out of `from`.
template <class T>
CsrMatrix<T> release_as(const Context& host, CsrMatrix<double>& from) {
    if constexpr (std::is_same_v<T, double>) {
        return std::exchange(from, CsrMatrix<double>());
    } else {
        CsrMatrix<T> to(host, from.rows(), from.columns(), from.nonzeros());
        to.row_offsets() = std::move(from.row_offsets());
        to.column_indices() = std::move(from.column_indices());
        std::copy_n(from.values().data(), from.nonzeros(), to.values().data());
        from = {};
        return to;
    }
}

template <class T>
System<T> load_structure(const Context& host, const std::string& text,
                         const MeshArguments* arguments, bool needs_load,
                         const AssemblyContext& where) {
    if (arguments == nullptr) {
        throw InvalidArgument(
            "'" + text + "' is a mesh, not a matrix; solve, tune, convert and info read meshes");
    }
    System<T> system;
    system.structure = std::make_shared<Structure>();
    Structure& structure = *system.structure;
    structure.model = make_model(io::read_mesh(host, text), *arguments, needs_load);
    Context context = host;
    if (std::is_same_v<T, double> && where) {
        context = where(elasticity::estimate_nonzeros(structure.model.mesh));
    }
    system.is_on_gpu = context.on_gpu();
    assemble_structure(context, host, *arguments, needs_load, structure);
    check_range<T>(text + ": the stiffness matrix", std::as_const(structure.system.matrix).view());
    const auto add_load = [&](const std::vector<double>& load) {
        check_range<T>(text + ": the load", load);
        system.load.insert(system.load.end(), load.begin(), load.end());
    };
    if (structure.cases.empty()) add_load(structure.system.load);
    for (const LoadCase& load_case : structure.cases) add_load(load_case.load);
    system.known_singular = structure.system.known_singular;
    NodeCoordinates coordinates = structure.system.coordinates(structure.model.mesh);
    if (!structure.system.node_axes.empty()) {
        NearNullSpace modes = rigid_body_modes(coordinates);
        modes.values = structure.system.to_rows(structure.model.mesh, modes.values, modes.columns);
        system.near_null = std::move(modes);
    }
    system.coordinates = std::move(coordinates);
    system.matrix = release_as<T>(host, structure.system.matrix);
    system.name = text;
    return system;
}

}  // namespace

bool is_file_name(const std::string& text) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(text, error);
    return std::filesystem::exists(status) || error == std::errc::permission_denied;
}

template <class T>
System<T> load_system(const Context& host, const std::string& text, bool allow_empty_rows,
                      const MeshArguments* mesh, bool needs_load, const AssemblyContext& where) {
    System<T> system;
    std::error_code error;
    if (std::filesystem::is_directory(text, error)) {
        throw InvalidArgument("'" + text + "' is a folder; name a file in it");
    }
    if (mesh != nullptr && !is_mesh_file(text) && !mesh->first_option_given().empty()) {
        throw InvalidArgument(mesh->first_option_given() +
                              " is for meshes, files that end in .msh or " + ".msh.gz; '" + text +
                              "' is not a mesh");
    }
    const bool is_file = is_file_name(text);
    const InterruptNote note((is_file ? "reading " : "generating ") + text);
    if (is_file) {
        if (is_mesh_file(text)) return load_structure<T>(host, text, mesh, needs_load, where);
        system.matrix = io::read_matrix<T>(host, text, &system.file, allow_empty_rows);
        const std::vector<double>& load = system.file.right_hand_side;
        check_range<T>(text + ": the right-hand side", load);
        system.load.assign(load.begin(), load.end());
        system.name = text;
        return system;
    }
    const std::vector<std::string> problems = problems::generator_names();
    const std::string name = text.substr(0, std::min(text.find(':'), text.find(',')));
    if (std::find(problems.begin(), problems.end(), name) == problems.end()) {
        throw InvalidArgument(not_found_message(text, problems));
    }
    auto problem = problems::generate<T>(host, Spec(text));
    system.matrix = std::move(problem.matrix);
    system.load = std::move(problem.load);
    system.known_singular = problem.known_singular;
    system.coordinates = std::move(problem.coordinates);
    system.name = std::move(problem.name);
    return system;
}

template System<float> load_system<float>(const Context&, const std::string&, bool,
                                          const MeshArguments*, bool, const AssemblyContext&);
template System<double> load_system<double>(const Context&, const std::string&, bool,
                                            const MeshArguments*, bool, const AssemblyContext&);

}  // namespace tessera::cli
