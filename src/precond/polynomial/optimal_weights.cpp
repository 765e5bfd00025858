#include "precond/polynomial/optimal_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace tessera {

namespace {

using Vector = std::vector<double>;

/// visit(k, R_k - R_(k+1)) for k = 0..m-1, at t.
template <class Visit>
void visit_directions(std::size_t m, double t, Visit&& visit) {
    double direction = 0, residual = 1;
    for (std::size_t k = 0; k < m; ++k) {
        const double below = 2 * double(k) + 3;
        direction = (k == 0 ? 0 : (2 * double(k) - 1) * direction / below) +
                    (8 * double(k) + 4) * t * residual / below;
        residual -= direction;
        visit(k, direction);
    }
}

double residual_at(const Vector& weights, double t) {
    double value = 1;
    visit_directions(weights.size(), t,
                     [&](std::size_t k, double direction) { value -= weights[k] * direction; });
    return value;
}

/// Gaussian elimination with partial pivoting; a has b.size() rows.
Vector solve(std::vector<Vector> a, Vector b) {
    const std::size_t n = b.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k; i < n; ++i) {
            if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
        }
        std::swap(a[k], a[pivot]);
        std::swap(b[k], b[pivot]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
    return b;
}

/// 1 - R(point) where R(point) sqrt(1 + point / gamma) is -1 at even points, +1 at odd ones.
double wanted(const Vector& points, std::size_t i, double gamma) {
    return 1 - (i % 2 == 0 ? -1 : 1) / std::sqrt(1 + points[i] / gamma);
}

/// Solves with the directions at the points, a row each, or with the transposed matrix.
Vector solve_at(const Vector& points, bool transposed, Vector right) {
    const std::size_t m = points.size();
    std::vector<Vector> rows(m, Vector(m));
    for (std::size_t i = 0; i < m; ++i) {
        visit_directions(m, points[i], [&](std::size_t k, double direction) {
            (transposed ? rows[k][i] : rows[i][k]) = direction;
        });
    }
    return solve(std::move(rows), std::move(right));
}

/// The weights for which R is as wanted at all points.
Vector interpolate(const Vector& points, double gamma) {
    Vector right(points.size());
    for (std::size_t i = 0; i < right.size(); ++i) right[i] = wanted(points, i, gamma);
    return solve_at(points, false, std::move(right));
}

/// What multiplies 1 - R at the points in -R'(0) of the R that takes these values. The directions
/// have the slopes of W_k, R_k'(0) = -2 k (k + 1) / 3.
Vector slopes(const Vector& points) {
    Vector right(points.size());
    for (std::size_t k = 0; k < right.size(); ++k) right[k] = 4 * double(k + 1) / 3;
    return solve_at(points, true, std::move(right));
}

/// The gamma with -R'(0) = 1 / (2 gamma), by bisection of its logarithm: gamma is near that of the
/// fourth kind, 3 / (4 m (m + 1)).
double matching_gamma(const Vector& points) {
    const Vector factors = slopes(points);
    const double m = double(points.size());
    double low = std::log(0.1 / (m * (m + 1))), high = std::log(3 / (m * (m + 1)));
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2, gamma = std::exp(middle);
        double slope = 0;
        for (std::size_t i = 0; i < points.size(); ++i) {
            slope += factors[i] * wanted(points, i, gamma);
        }
        (slope < 1 / (2 * gamma) ? low : high) = middle;
    }
    return std::exp((low + high) / 2);
}

/// The point of the largest |R sqrt(1 + t / gamma)| in [low, high], by golden sections.
double extremum(const Vector& weights, double gamma, double low, double high) {
    const auto size = [&](double t) {
        return std::abs(residual_at(weights, t)) * std::sqrt(1 + t / gamma);
    };
    const double section = std::numbers::phi - 1;
    double left = high - section * (high - low), right = low + section * (high - low);
    double at_left = size(left), at_right = size(right);
    for (int step = 0; step < 60; ++step) {
        if (at_left > at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - section * (high - low);
            at_left = size(left);
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + section * (high - low);
            at_right = size(right);
        }
    }
    return (low + high) / 2;
}

}  // namespace

std::vector<double> optimal_weights(int m) {
    Vector points;
    for (int i = 1; i <= m; ++i) {
        points.push_back((1 - std::cos(std::numbers::pi * (2 * i + 1) / (2 * m + 1))) / 2);
    }
    Vector weights(std::size_t(m), 1);
    for (int exchange = 0; exchange < 12; ++exchange) {
        const double gamma = matching_gamma(points);
        weights = interpolate(points, gamma);
        Vector next = points;
        double moved = 0;
        for (std::size_t i = 0; i + 1 < points.size(); ++i) {
            const double before = i == 0 ? points[0] / 2 : points[i - 1];
            next[i] =
                extremum(weights, gamma, (before + points[i]) / 2, (points[i] + points[i + 1]) / 2);
            moved = std::max(moved, std::abs(next[i] / points[i] - 1));
        }
        points = next;
        if (moved < 1e-7) break;  // The weights are known to the square of that.
    }
    return weights;
}

}  // namespace tessera
