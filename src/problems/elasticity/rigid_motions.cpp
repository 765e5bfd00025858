#include <limits>
#include <map>
#include <numeric>

#include "problems/elasticity/elements/elements.hpp"

// Elements whose common nodes do not lie on a line (in the plane: are not one node) deform without
// strain only if they move as one rigid body. The motions without strain of a mesh are therefore
// rigid motions of its bodies that agree at the nodes which bodies share and fulfil the equations
// of the model. In axisymmetry the only rigid motion is the translation along the axis.

namespace tessera::elasticity {

namespace {

/// Clusters of more bodies count as one body: the work grows with the third power.
constexpr std::size_t max_bodies = 64;

/// Union-find; the representative of a set is its least number.
class DisjointSets {
  public:
    explicit DisjointSets(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), Index(0));
    }
    Index operator[](Index k) {
        while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
        return k;
    }
    void join(Index a, Index b) {
        a = (*this)[a];
        b = (*this)[b];
        parent_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<Index> parent_;
};

/// An orthonormal basis of the span of vectors of n numbers.
class Basis {
  public:
    explicit Basis(std::size_t n = 0) : n_(n) {}
    bool is_complete() const { return vectors_.size() == n_; }
    const std::vector<std::vector<double>>& vectors() const { return vectors_; }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
    }
    /// Subtracts the projection to the span, by Gram-Schmidt, twice for orthogonality.
    void project(std::vector<double>& vector) const {
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& other : vectors_) {
                const double share = dot(vector, other);
                for (std::size_t k = 0; k < n_; ++k) vector[k] -= share * other[k];
            }
        }
    }
    void add(std::vector<double> vector) {
        if (is_complete()) return;
        const double length = std::sqrt(dot(vector, vector));
        project(vector);
        const double rest = std::sqrt(dot(vector, vector));
        if (!(rest > 1e-7 * length)) return;  // dependent up to rounding
        for (double& component : vector) component /= rest;
        vectors_.push_back(std::move(vector));
    }
    /// A vector of length 1 that is orthogonal to an incomplete basis.
    std::vector<double> orthogonal_vector() const {
        std::vector<double> best;
        double best_length = 0;
        for (std::size_t k = 0; k < n_; ++k) {
            std::vector<double> unit(n_, 0);
            unit[k] = 1;
            project(unit);
            const double length = std::sqrt(dot(unit, unit));
            if (!(length > best_length)) continue;
            best_length = length;
            best = std::move(unit);
        }
        for (double& component : best) component /= best_length;
        return best;
    }

  private:
    std::size_t n_;
    std::vector<std::vector<double>> vectors_;
};

/// The kinds of rigid motions of a body.
struct MotionKind {
    int dimensions = 2;
    bool axisymmetric = false;
    std::size_t count() const { return axisymmetric ? 1 : dimensions == 2 ? 3 : 6; }
};

/// Translations, and rotations about the middle of a box in units of its size.
struct RigidMotions {
    MotionKind kind;
    Vector low{}, high{};

    RigidMotions() = default;
    RigidMotions(const MotionKind& k, const Vector& point) : kind(k), low(point), high(point) {}

    void include(const Vector& point) {
        for (int k = 0; k < 3; ++k) {
            low[k] = std::min(low[k], point[k]);
            high[k] = std::max(high[k], point[k]);
        }
    }
    /// Component i of each motion at a point.
    std::vector<double> at(const Vector& point, int i) const {
        if (kind.axisymmetric) return {i == 1 ? 1. : 0.};
        const int dimensions = kind.dimensions;
        double size = 0;
        Vector x{};
        for (int k = 0; k < dimensions; ++k) size = std::max(size, high[k] - low[k]);
        for (int k = 0; k < dimensions; ++k) x[k] = (point[k] - (low[k] + high[k]) / 2) / size;
        std::vector<double> motion(kind.count(), 0);
        motion[std::size_t(i)] = 1;
        for (int axis = dimensions == 2 ? 2 : 0; axis < 3; ++axis) {
            const int from = (axis + 1) % 3, to = (axis + 2) % 3;
            motion[std::size_t(dimensions == 2 ? 2 : 3 + axis)] = i == from ? -x[to]
                                                                  : i == to ? x[from]
                                                                            : 0;
        }
        return motion;
    }
    /// The component along a direction of each motion at a point.
    std::vector<double> along(const Vector& point, const Vector& direction) const {
        std::vector<double> sum(kind.count(), 0);
        for (int i = 0; i < kind.dimensions; ++i) {
            const std::vector<double> component = at(point, i);
            for (std::size_t k = 0; k < sum.size(); ++k) {
                sum[k] += direction[std::size_t(i)] * component[k];
            }
        }
        return sum;
    }
};

/// A rigid body of elements.
struct Body {
    RigidMotions motions;
    Basis prevented;  ///< By prescribed displacements and springs.
};

/// Bodies that hang together by nodes or equations.
struct Cluster {
    std::vector<Index> bodies;
    RigidMotions motions;  ///< All bodies move together.
    Basis prevented;
};

Index shared_nodes(std::span<const Index> a, std::span<const Index> b) {
    return Index(std::ranges::count_if(
        a, [&](Index node) { return std::ranges::find(b, node) != b.end(); }));
}

/// Joins the elements that only move together.
DisjointSets find_bodies(const Elements& elements, const NodeElements& node_elements) {
    const Mesh& mesh = elements.mesh();
    DisjointSets bodies(std::size_t(elements.count()));
    std::vector<Index> joined, rest;
    for (Index node = 0; node < mesh.node_count(); ++node) {
        // Grows one body after the other from an element at the node.
        rest.assign(node_elements[node].begin(), node_elements[node].end());
        while (!rest.empty()) {
            joined.assign(1, rest.back());
            rest.pop_back();
            for (std::size_t k = 0; k < joined.size() && !rest.empty(); ++k) {
                const auto is_joined = [&](Index other) {
                    if (bodies[other] != bodies[joined[k]]) {
                        if (shared_nodes(elements.corner_nodes(joined[k]),
                                         elements.corner_nodes(other)) < mesh.dimensions) {
                            return false;
                        }
                        bodies.join(joined[k], other);
                    }
                    joined.push_back(other);
                    return true;
                };
                std::erase_if(rest, is_joined);
            }
        }
    }
    return bodies;
}

class MotionCheck {
  public:
    MotionCheck(const Elements& elements, const NodeElements& node_elements, bool axisymmetric,
                const std::vector<HeldDirection>& held, const std::vector<Equation>& equations,
                System& system)
        : mesh_(elements.mesh()),
          kind_{mesh_.dimensions, axisymmetric},
          node_elements_(node_elements),
          held_(held),
          equations_(equations),
          system_(system),
          body_of_element_(find_bodies(elements, node_elements)),
          clusters_of_elements_(std::size_t(elements.count())) {
        for (Index element = 0; element < elements.count(); ++element) {
            clusters_of_elements_.join(element, body_of_element_[element]);
        }
        each_hinge([&](Index, Index a, Index b) { clusters_of_elements_.join(a, b); });
        for (const Equation& equation : equations_) {
            for (const EquationTerm& term : equation.terms) {
                clusters_of_elements_.join(body_at(equation.terms.front().node),
                                           body_at(term.node));
            }
        }
    }

    void run() {
        find_clusters();
        add_supports();
        add_equations();
        for (auto& [first, cluster] : clusters_) {
            if (!cluster.prevented.is_complete()) system_.known_singular = true;
        }
        if (!system_.known_singular) find_mechanism();
    }

  private:
    Vector point(Index node) const {
        Vector found{};
        for (int i = 0; i < mesh_.dimensions; ++i) {
            found[i] = mesh_.points[std::size_t(node) * mesh_.dimensions + i];
        }
        return found;
    }

    /// visit(node, body, other body) for nodes of several bodies.
    template <class Visit>
    void each_hinge(Visit&& visit) {
        for (Index node = 0; node < mesh_.node_count(); ++node) {
            if (node_elements_[node].empty()) continue;
            const Index first = body_of_element_[node_elements_[node][0]];
            for (const Index element : node_elements_[node]) {
                const Index other = body_of_element_[element];
                if (other != first) visit(node, first, other);
            }
        }
    }

    Basis basis() const { return Basis(kind_.count()); }

    /// One of the bodies with a node.
    Index body_at(Index node) { return body_of_element_[node_elements_[node][0]]; }

    void find_clusters() {
        for (Index node = 0; node < mesh_.node_count(); ++node) {
            const Vector x = point(node);
            for (const Index element : node_elements_[node]) {
                const RigidMotions motions(kind_, x);
                const Index body = body_of_element_[element];
                bodies_.try_emplace(body, Body{motions, basis()}).first->second.motions.include(x);
                Cluster& cluster =
                    clusters_
                        .try_emplace(clusters_of_elements_[element], Cluster{{}, motions, basis()})
                        .first->second;
                cluster.motions.include(x);
            }
        }
        for (const auto& [body, motions] : bodies_) {
            clusters_.at(clusters_of_elements_[body]).bodies.push_back(body);
        }
    }

    void add_supports() {
        for (const auto& [node, direction] : held_) {
            const Vector x = point(node);
            for (const Index element : node_elements_[node]) {
                Body& body = bodies_.at(body_of_element_[element]);
                if (!body.prevented.is_complete()) {
                    body.prevented.add(body.motions.along(x, direction));
                }
                Cluster& cluster = clusters_.at(clusters_of_elements_[element]);
                if (cluster.prevented.is_complete()) continue;
                cluster.prevented.add(cluster.motions.along(x, direction));
            }
        }
    }

    /// What an equation prevents, as a combination of n motions: those of a node are those that
    /// `motions_of(node)` returns, from a position on.
    template <class MotionsOf>
    std::vector<double> prevented_by(const Equation& equation, std::size_t n,
                                     const MotionsOf& motions_of) const {
        std::vector<double> sum(n, 0);
        double size = 0;
        for (const auto& [node, axis, coefficient] : equation.terms) {
            const auto [motions, first] = motions_of(node);
            const std::vector<double> motion = motions->at(point(node), axis);
            for (std::size_t k = 0; k < motion.size(); ++k)
                sum[first + k] += coefficient * motion[k];
            size += std::abs(coefficient);
        }
        for (double& component : sum) {  // Those that cancel are rounding errors.
            if (std::abs(component) < 1e-10 * size) component = 0;
        }
        return sum;
    }

    /// Adds what equations prevent where all bodies of a cluster move together.
    void add_equations() {
        for (const Equation& equation : equations_) {
            const Index body = body_at(equation.terms.front().node);
            Cluster& cluster = clusters_.at(clusters_of_elements_[body]);
            if (cluster.prevented.is_complete()) continue;
            cluster.prevented.add(prevented_by(equation, kind_.count(), [&](Index) {
                return std::pair(&cluster.motions, std::size_t(0));
            }));
        }
    }

    /// Finds a motion of bodies against each other.
    void find_mechanism() {
        using Pair = std::pair<Index, Index>;
        const std::size_t m = kind_.count();
        std::map<Pair, Basis> joints;  // Coefficients of the motions of both that are prevented.
        each_hinge([&](Index node, Index a, Index b) {
            if (clusters_.at(clusters_of_elements_[a]).bodies.size() > max_bodies) return;
            Basis& joint = joints.try_emplace({a, b}, Basis(2 * m)).first->second;
            for (int i = 0; i < mesh_.dimensions; ++i) {
                std::vector<double> row = bodies_.at(a).motions.at(point(node), i);
                for (const double value : bodies_.at(b).motions.at(point(node), i)) {
                    row.push_back(-value);
                }
                joint.add(std::move(row));
            }
        });
        for (const auto& [first, cluster] : clusters_) {
            const std::vector<Index>& bodies = cluster.bodies;
            if (bodies.size() == 1 || bodies.size() > max_bodies) continue;
            const std::size_t n = bodies.size() * m;
            const auto column = [&](Index body) {
                return std::size_t(std::ranges::lower_bound(bodies, body) - bodies.begin()) * m;
            };
            Basis prevented(n);
            for (const Index body : bodies) {
                for (const std::vector<double>& support : bodies_.at(body).prevented.vectors()) {
                    std::vector<double> row(n, 0);
                    std::ranges::copy(support, row.begin() + std::ptrdiff_t(column(body)));
                    prevented.add(std::move(row));
                }
            }
            for (const auto& [pair, joint] : joints) {
                if (clusters_of_elements_[pair.first] != first) continue;
                for (const std::vector<double>& both : joint.vectors()) {
                    std::vector<double> row(n, 0);
                    const auto middle = both.begin() + std::ptrdiff_t(m);
                    std::copy(both.begin(), middle,
                              row.begin() + std::ptrdiff_t(column(pair.first)));
                    std::copy(middle, both.end(),
                              row.begin() + std::ptrdiff_t(column(pair.second)));
                    prevented.add(std::move(row));
                }
            }
            for (const Equation& equation : equations_) {
                const Index body = body_at(equation.terms.front().node);
                if (clusters_of_elements_[body] != first || prevented.is_complete()) continue;
                prevented.add(prevented_by(equation, n, [&](Index node) {
                    const Index other = body_at(node);
                    return std::pair(&bodies_.at(other).motions, column(other));
                }));
            }
            if (prevented.is_complete()) continue;
            system_.known_singular = true;
            const std::vector<double> motion = prevented.orthogonal_vector();
            return name_hinges(cluster, [&](Index body, const Vector& x, int i) {
                const std::vector<double> row = bodies_.at(body).motions.at(x, i);
                return std::inner_product(row.begin(), row.end(),
                                          motion.begin() + std::ptrdiff_t(column(body)), 0.);
            });
        }
    }

    /// The nodes of bodies that move against each other: displacement(body, point, component).
    template <class Displacement>
    void name_hinges(const Cluster& cluster, Displacement&& displacement) {
        const int d = mesh_.dimensions;
        each_hinge([&](Index node, Index a, Index b) {
            if (std::ranges::find(cluster.bodies, a) == cluster.bodies.end()) return;
            double difference = 0, size = 0;
            for (int corner = 0; corner < 1 << d; ++corner) {
                Vector x{};
                for (int k = 0; k < d; ++k) {
                    x[k] = (corner >> k & 1) != 0 ? bodies_.at(b).motions.high[k]
                                                  : bodies_.at(b).motions.low[k];
                }
                for (int i = 0; i < d; ++i) {
                    const double of_a = displacement(a, x, i), of_b = displacement(b, x, i);
                    difference = std::max(difference, std::abs(of_a - of_b));
                    size = std::max({size, std::abs(of_a), std::abs(of_b)});
                }
            }
            if (!(difference > 1e-6 * size)) return;
            if (!system_.hinge_nodes.empty() && system_.hinge_nodes.back() == node) return;
            system_.hinge_nodes.push_back(node);
        });
    }

    const Mesh& mesh_;
    MotionKind kind_;
    const NodeElements& node_elements_;
    const std::vector<HeldDirection>& held_;
    const std::vector<Equation>& equations_;
    System& system_;
    DisjointSets body_of_element_, clusters_of_elements_;
    std::map<Index, Body> bodies_;       // by the least element
    std::map<Index, Cluster> clusters_;  // by the least element
};

}  // namespace

void find_rigid_motions(const Elements& elements, const NodeElements& node_elements,
                        bool axisymmetric, const std::vector<HeldDirection>& held,
                        const std::vector<Equation>& equations, System& system) {
    MotionCheck(elements, node_elements, axisymmetric, held, equations, system).run();
}

}  // namespace tessera::elasticity
