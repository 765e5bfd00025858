#include <cstring>

#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using problems::Problem;
using test::expect_contains;

template <class T = double>
Problem<T> make(const std::string& text) {
    return problems::generate<T>(test::host(), Spec(text));
}

std::string error_message(const std::string& text) {
    return test::message_of([&] { make(text); });
}

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool same_matrix(const CsrView<double>& a, const CsrView<double>& b) {
    return same_bits(a.row_offsets_span(), b.row_offsets_span()) &&
           same_bits(a.column_indices_span(), b.column_indices_span()) &&
           same_bits(a.values_span(), b.values_span());
}

/// The sum of the load over the unknowns of each component; all nodes have all components.
std::vector<double> total_load(const Problem<double>& problem) {
    std::vector<double> total(problem.natural_block, 0);
    for (std::size_t k = 0; k < problem.load.size(); ++k) {
        total[k % problem.natural_block] += problem.load[k];
    }
    return total;
}

TEST(models, elements_of_uniform_grids_change_nothing_when_named) {
    EXPECT_TRUE(same_matrix(make("elasticity2d:7").matrix.view(),
                            make("elasticity2d:7,element=q4,seed=3").matrix.view()));
    EXPECT_TRUE(same_matrix(make("elasticity3d:4,free").matrix.view(),
                            make("elasticity3d:4,element=hex8,jitter=0,free").matrix.view()));
}

TEST(models, texts_give_the_meshes_they_say) {
    for (const CellShape shape : test::element_shapes) {
        const int d = dimensions(shape);
        const bool simplex = corners(shape) == d + 1;
        const std::string word = d == 2 ? (simplex ? "t3" : "q4") : (simplex ? "tet4" : "hex8");
        const std::string text =
            "elasticity" + std::to_string(d) + "d:5,element=" + word + ",jitter=0.25,seed=7";
        SCOPED_TRACE(text);
        elasticity::Model model;
        model.formulation = elasticity::Formulation::full_integration;
        meshes::GridOptions options;
        options.jitter = 0.25;
        options.seed = 7;
        model.mesh =
            d == 2 ? meshes::rectangle(shape, 5, 5, options) : meshes::box(shape, 5, 5, 5, options);
        const auto free = make(text + ",free");
        EXPECT_TRUE(same_matrix(free.matrix.view(),
                                elasticity::assemble(test::host(), model).matrix.view()));
        EXPECT_TRUE(free.known_singular);
        EXPECT_TRUE(free.load.empty());
        const auto held = make(text);
        EXPECT_EQ(held.matrix.rows(), free.matrix.rows() / 6 * 5);
        EXPECT_FALSE(held.known_singular);
        EXPECT_EQ(held.natural_block, d);
        EXPECT_NEAR(total_load(held)[1], -1, test::gamma<double>(1000));
        EXPECT_FALSE(same_matrix(held.matrix.view(), make(text + "7").matrix.view()));
    }
}

TEST(models, gradings_are_those_of_every_axis) {
    for (const CellShape shape : test::element_shapes) {
        const int d = dimensions(shape);
        const bool simplex = corners(shape) == d + 1;
        const std::string word = d == 2 ? (simplex ? "t3" : "q4") : (simplex ? "tet4" : "hex8");
        const std::string name = "elasticity" + std::to_string(d) + "d:5,element=" + word;
        for (const auto& [grading, jitter] :
             {std::pair{"3", "0"}, std::pair{"0.2", "0.5"}, std::pair{"1e6", "0.99"},
              std::pair{"1e-6", "0.99"}}) {
            const std::string text = name + ",grading=" + grading + ",jitter=" + jitter;
            SCOPED_TRACE(text);
            elasticity::Model model;
            model.formulation = elasticity::Formulation::full_integration;
            meshes::GridOptions options;
            options.jitter = std::stod(jitter);
            options.gradings.fill(std::stod(grading));
            model.mesh = d == 2 ? meshes::rectangle(shape, 5, 5, options)
                                : meshes::box(shape, 5, 5, 5, options);
            EXPECT_TRUE(same_matrix(make(text + ",free").matrix.view(),
                                    elasticity::assemble(test::host(), model).matrix.view()));
            const auto held = make(text);
            EXPECT_NEAR(total_load(held)[1], -1, test::gamma<double>(1000));
            EXPECT_FALSE(same_matrix(held.matrix.view(), make(name).matrix.view()));
        }
    }
    EXPECT_FALSE(same_matrix(make("cantilever2d:4,grading=3").matrix.view(),
                             make("cantilever2d:4").matrix.view()));
    EXPECT_NEAR(total_load(make("cantilever3d:3,grading=0.3"))[1], -1, test::gamma<double>(1000));
}

TEST(models, simplices_have_uneven_rows) {
    const auto lengths = [](const std::string& text) {
        const auto problem = make(text);
        const auto a = problem.matrix.view();
        std::pair<Offset, Offset> ends{a.nonzeros, 0};
        for (Index i = 0; i < a.rows; ++i) {
            ends.first = std::min(ends.first, a.row_offsets[i + 1] - a.row_offsets[i]);
            ends.second = std::max(ends.second, a.row_offsets[i + 1] - a.row_offsets[i]);
        }
        return ends;
    };
    // The fewest neighbours: 3 in the plane, 5 in space, at nodes of odd index on an edge.
    EXPECT_EQ(lengths("elasticity2d:8,element=t3,free"), (std::pair<Offset, Offset>(8, 18)));
    EXPECT_EQ(lengths("elasticity3d:4,element=tet4,free"), (std::pair<Offset, Offset>(18, 81)));
}

TEST(models, wrong_texts_are_rejected_with_a_way_out) {
    expect_contains(error_message("elasticity2d:4,element=tet4"), "Valid: t3, q4");
    expect_contains(error_message("elasticity3d:4,element=t3"), "Valid: tet4, hex8");
    expect_contains(error_message("cantilever3d:4,element=hex"), "Valid: tet4, hex8");
    expect_contains(error_message("plate_hole:4,element=t4"), "Valid: t3, q4");
    expect_contains(error_message("elasticity2d:4,jitter=1"), "is not within 0..");
    expect_contains(error_message("cantilever2d:4,jitter=-0.1"), "is not within 0..");
    for (const char* grading : {"0", "-2", "1e-7", "2e6"}) {
        const std::string text = std::string("elasticity3d:4,grading=") + grading;
        expect_contains(error_message(text),
                        "grading: " + std::string(grading) + " is not within 1e-06..1e+06");
    }
    expect_contains(error_message("elasticity2d:4,grading=nan"), "'nan' is not finite");
    expect_contains(error_message("cantilever3d:4,grading=fine"), "'fine' is not a number");
    expect_contains(error_message("plate_hole:4,grading=2"), "option 'grading'");
    expect_contains(error_message("cantilever2d:4,length=0"), "is not within 1..1000");
    expect_contains(error_message("plate_hole:4,jitter=0.1"), "option 'jitter'");
    expect_contains(error_message("elasticity2d:4,elment=t3"),
                    "option 'elment'; did you mean 'element'?");
    for (const std::string text : {"elasticity2d:40000,element=t3", "elasticity3d:900,jitter=0.5",
                                   "cantilever2d:20000", "cantilever3d:500", "plate_hole:30000"}) {
        expect_contains(error_message(text), "has more than 2^31 - 1 unknowns");
    }
}

/// Work of the load, load' A^-1 load.
double compliance(const std::string& text) {
    const auto problem = make(text);
    elasticity::System system;
    system.matrix = copy_to(test::host(), problem.matrix.view());
    system.load = problem.load;
    system.prescribed.assign(problem.load.size(), 0);
    for (Index k = 0; k < problem.matrix.rows(); ++k) system.unknowns.push_back(k);
    const std::vector<double> x = test::solve(system, 1e-10);
    double work = 0;
    for (std::size_t k = 0; k < x.size(); ++k) work += x[k] * problem.load[k];
    return work;
}

/// Timoshenko's beam of length L, height and width 1 under the force 1: L^3 / (3 E I) + L / (k G)
/// with I = 1/12, k = 5/6, G = E / (2 (1 + nu)). The work of nested elements grows towards that of
/// the body, which differs from the beam near the clamped end, over a length of 1 of the 8.
TEST(models, cantilevers_bend_as_beams) {
    const double length = 8;
    const double beam = 4 * length * length * length + length * 1.2 * 2.6;
    for (const std::string element : {"t3", "q4"}) {
        std::vector<double> works;
        for (const char* size : {"2", "4", "8", "16"}) {
            works.push_back(
                compliance(std::string("cantilever2d:") + size + ",element=" + element));
        }
        for (int k = 1; k < 4; ++k) EXPECT_GT(works[k], works[k - 1]);
        for (int k = 2; k < 4; ++k) {  // second order: gaps fall to a quarter, in the end
            EXPECT_LT(works[k] - works[k - 1], 0.4 * (works[k - 1] - works[k - 2]));
        }
        // Extrapolated to cells of size zero.
        EXPECT_NEAR(works[3] + (works[3] - works[2]) / 3, beam, beam / length / length) << element;
    }
    EXPECT_LT(compliance("cantilever3d:2,element=tet4"), compliance("cantilever3d:4,element=tet4"));
    EXPECT_LT(compliance("cantilever3d:4,element=tet4"), 1.02 * beam);
    EXPECT_NEAR(total_load(make("cantilever3d:3,jitter=0.5"))[1], -1, test::gamma<double>(1000));
}

TEST(models, plate_is_pulled_and_held_by_its_symmetry) {
    for (const std::string element : {"t3", "q4"}) {
        const auto plate = make("plate_hole:6,element=" + element);
        EXPECT_EQ(plate.natural_block, 1);
        EXPECT_FALSE(plate.known_singular);
        EXPECT_EQ(plate.matrix.rows(), 2 * 7 * 13 - 2 * 7);
        double total = 0;
        for (const double force : plate.load) total += force;
        EXPECT_NEAR(total, 4, test::gamma<double>(1000) * 4);
        // More than a plate without a hole: work = force x stretch = 4 x 4 / E of the strip.
        EXPECT_GT(compliance("plate_hole:6,element=" + element), 16);
    }
}

}  // namespace
}  // namespace tessera
