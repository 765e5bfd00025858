#pragma once

#include <algorithm>

#include "distributed/preconditioner.hpp"
#include "tessera/amg.hpp"

namespace tessera {

/// The default of AmgOptions::coarse_rows. On the CPU the inverse of 1,450 rows took 0.21 of the
/// 0.35 s of plate_hole:200, another level 0.01 s.
constexpr Index automatic_coarse_rows(Index rows, bool on_gpu) {
    return on_gpu ? std::clamp(rows / 20, 1000, 1500) : std::clamp(rows / 200, 300, 600);
}

/// Smoothed aggregation as registered.
struct AmgConfig {
    static constexpr const char* help =
        R"([,near_null=auto|rigid_body|translations|constant|FILE][,coordinates=FILE]
              [,block=auto|B][,strength=both|distance|frobenius][,theta=T]
              [,second_pass=auto|N][,smoother=chebyshev4_optimal:M][,coarse=auto|ROWS]
              [,levels=N][,precision=f32|working][,values=auto|working|f16]
              [,symmetric_part=on|off]
                           multigrid by smoothed aggregation, for fcg (or cg) and symmetric positive
                           definite matrices from elasticity and diffusion; iterations hardly grow
                           with the size. near_null: near-kernel vectors; auto: rigid body modes if
                           coordinates are known (generated problems, meshes, coordinates=FILE),
                           else translations; constant: translations, one unknown per node. Each
                           FILE is a Matrix Market array with a row for each node (coordinates) or
                           each row of the matrix (near_null). M 2..16 (2): products of the
                           smoother; theta (0.02): strength threshold; second_pass: minimum number
                           of neighbours for a node to start an aggregate in pass 2; coarse: a
                           level of at most ROWS rows is solved directly; levels (10): maximum
                           number of levels; values: of matrices in the cycle, auto: f16 unless the
                           matrix seems to have eigenvalues below 1e-7, on a GPU 1e-6
                           (of 1 on the diagonal);
                           symmetric_part: of (A + A^T) / 2, for gmres, bicgstab and mild convection
)";
    AmgOptions options;
    bool names_coordinates = false, names_near_null = false;  ///< The text does.
    bool symmetric_part = false;                              ///< Multigrid of (A + A^T) / 2.

    /// Reads the files named. Throws InvalidArgument for other options.
    explicit AmgConfig(const Spec& text);
    template <class T>
    std::unique_ptr<Preconditioner<T>> make(const Context& context, const CsrView<T>& matrix,
                                            const PreconditionerInputs& inputs) const;
    /// In the memory of the Context, at the peak of the setup.
    Offset bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const;

    // As ConfigOverRanks.
    int unknowns_of_node() const { return options.block; }
    PreconditionerInputs inputs_for(Index rows, const PreconditionerInputs& given) const;
    std::unique_ptr<PreconditionerOverRanks> make_over_ranks(const Context& context, OwnRows matrix,
                                                             const PreconditionerInputs& own) const;
};

/// The text of the options, as Amg::describe.
std::string text_of(const AmgOptions& options);

/// Near-null vectors as reports name them.
std::string near_null_name(AmgNearNull kind, int block);

/// What translations in place of rotations mean for a matrix of such nodes; empty: nothing.
std::string translations_warning(const NodeCoordinates& points, int block);

/// The group of values of a report.
ReportValue amg_report(const std::string& near_null, int vectors, double operator_complexity,
                       const char* values, Offset recoveries, const std::vector<AmgLevel>& levels);

}  // namespace tessera
