#include "precond/polynomial/optimal_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {

namespace {

using Vector = std::vector<double>;

/// R_(k-1) - R_k for k = 1..m at t.
Vector directions(int m, double t) {
    Vector values;
    double before = 0, residual = 1;
    for (int k = 1; k <= m; ++k) {
        const double direction = (k == 1 ? 0 : (2 * k - 3) * before / (2 * k + 1)) +
                                 (8 * k - 4) * t * residual / (2 * k + 1);
        residual -= direction;
        values.push_back(direction);
        before = direction;
    }
    return values;
}

double residual_at(const Vector& weights, double t) {
    const Vector steps = directions(int(weights.size()), t);
    double value = 1;
    for (std::size_t k = 0; k < weights.size(); ++k) value -= weights[k] * steps[k];
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

/// The weights for which R(points[i]) sqrt(1 + points[i] / gamma) = -1, +1, ...
Vector interpolate(const Vector& points, double gamma) {
    std::vector<Vector> rows;
    Vector right;
    for (std::size_t i = 0; i < points.size(); ++i) {
        rows.push_back(directions(int(points.size()), points[i]));
        right.push_back(1 - (i % 2 == 0 ? -1 : 1) / std::sqrt(1 + points[i] / gamma));
    }
    return solve(std::move(rows), std::move(right));
}

/// -R'(0): directions have the slopes of W_k, R_k'(0) = -2 k (k + 1) / 3.
double slope(const Vector& weights) {
    double sum = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        sum += weights[k] * 4 * double(k + 1) / 3;
    }
    return sum;
}

/// The gamma with -R'(0) = 1 / (2 gamma), by bisection of its logarithm: gamma is near that of the
/// fourth kind, 3 / (4 m (m + 1)).
double matching_gamma(const Vector& points) {
    const double m = double(points.size());
    double low = std::log(0.1 / (m * (m + 1))), high = std::log(3 / (m * (m + 1)));
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2, gamma = std::exp(middle);
        (slope(interpolate(points, gamma)) < 1 / (2 * gamma) ? low : high) = middle;
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
        for (std::size_t i = 0; i + 1 < points.size(); ++i) {
            const double before = i == 0 ? points[0] / 2 : points[i - 1];
            next[i] =
                extremum(weights, gamma, (before + points[i]) / 2, (points[i] + points[i + 1]) / 2);
        }
        points = next;
    }
    return weights;
}

}  // namespace tessera
