#pragma once

#include <array>
#include <string>
#include <vector>

#include "tessera/device_group.hpp"
#include "tessera/elasticity.hpp"
#include "tessera/krylov.hpp"

namespace tessera::cli {

/// The report of one run of `tessera solve`; to_json writes the schema "tessera-run/2".
struct RunReport {
    std::string solver, preconditioner, device;  ///< Normalised texts; device as described.
    int threads = 0;
    std::vector<DeviceShare> devices;  ///< The parts of a group; empty: one device.
    std::string partition;             ///< By what rows were dealt out to a group.
    double partition_seconds = 0;      ///< In the seconds of the setup.
    struct Matrix {
        std::string name;
        Offset rows = 0;
        Offset nonzeros = 0;
        std::string format = "csr";  ///< Format of its products, normalised.
    } matrix;
    /// What auto tried, in this order; empty unless it chose.
    struct Tried {
        std::string solver, preconditioner, format, reason;
        Offset iterations = 0;  ///< Sum up to this attempt.
    };
    std::vector<Tried> attempts;
    Offset singular_blocks = 0;
    PreconditionerReport setup;
    SolveReport solve;  ///< The report of the right-hand side that ended worst.
    int right_hand_sides = 1, solved_right_hand_sides = 0;
    /// Size and results of a system made from a mesh.
    struct Structure {
        std::string load_case;  ///< Name; empty for one right-hand side alone.
        Offset nodes = 0;
        Offset elements = 0;
        int dimensions = 3;
        std::string plane;  ///< stress, strain or axisymmetric; empty: solid.
        /// The largest value at a node, and where that is; NaN counts as the largest.
        struct Largest {
            double value = 0;
            std::array<double, 3> at{};
        };
        Largest displacement;  ///< By its length.
        Largest von_mises;
        /// The displacement of each group that is one node.
        std::vector<std::pair<std::string, std::array<double, 3>>> points;
        double strain_energy = 0;
        double error_estimate = 0;    ///< Relative, in the energy norm.
        bool has_reactions = false;   ///< Otherwise a right-hand side replaced the loads.
        elasticity::Resultant loads;  ///< All loads together.
        /// The forces of each fixed group on the structure.
        std::vector<std::pair<std::string, elasticity::Resultant>> reactions;
        /// The forces of rigid bodies and other equations on the structure, by their names.
        std::vector<std::pair<std::string, elasticity::Resultant>> constraints;
        std::vector<std::pair<std::string, elasticity::Section>> sections;
        /// Options that were not given, without dashes, and their values.
        std::vector<std::pair<std::string, double>> defaults;
    };
    std::vector<Structure> structures;  ///< One for each load case; empty: not made of a mesh.
    struct Seconds {
        double read = 0;
        double find_blocks = 0;
        double setup = 0;
        double solve = 0;
    } seconds;
    std::vector<PhaseRecord> phases;
    double copy_bandwidth = 0;  ///< Bytes per second; phases are shares of it.
    Offset peak_memory_bytes = 0;
    double forward_error = -1;  ///< ||x - x*|| / ||x*|| if the solution is known, else negative.
};

/// JSON text of a report; non-finite numbers are null.
std::string to_json(const RunReport& report);

/// The report as a table.
std::string to_table(const RunReport& report);

}  // namespace tessera::cli
