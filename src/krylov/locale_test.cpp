#include <clocale>
#include <locale>

#include "base/concat.hpp"
#include "base/host_memory/host_memory.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

// Texts do not depend on the locales that the program around the library has set.
namespace tessera::test {

namespace {

/// Decimal commas, and points between thousands.
class Commas : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

/// Sets the locale of C++ and, where the system has one with decimal commas, that of C.
class InLocaleWithCommas {
  public:
    InLocaleWithCommas()
        : before_(std::locale::global(std::locale(std::locale::classic(), new Commas))) {
        for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
            if (std::setlocale(LC_ALL, name) != nullptr) break;
        }
    }
    InLocaleWithCommas(const InLocaleWithCommas&) = delete;
    InLocaleWithCommas& operator=(const InLocaleWithCommas&) = delete;
    ~InLocaleWithCommas() {
        std::setlocale(LC_ALL, "C");
        std::locale::global(before_);
    }

  private:
    std::locale before_;
};

/// The outcome of f() is the same in both locales.
template <class F>
void expect_same(F&& f, const std::string& expected_part) {
    const std::string usual = f();
    expect_contains(usual, expected_part);
    const InLocaleWithCommas locale;
    EXPECT_EQ(f(), usual);
}

}  // namespace

TEST(locale, numbers_in_messages) {
    expect_same([] { return concat(12345, " and ", 0.25, " and ", 1234567.0); },
                "12345 and 0.25 and 1.23457e+06");
    expect_same([] { return bytes_text(1234567); }, "1.2 MB");
    expect_same([] { return message_of([] { parse_preconditioner("direct,threshold=1.5"); }); },
                "is not within 0..0.5");
    expect_same([] { return message_of([] { parse_preconditioner("amg,levels=12345"); }); },
                "12345 is not within");
}

TEST(locale, texts_of_preconditioners_are_read_again) {
    const Context cpu = Context::cpu(1);
    const auto matrix = problems::generate<double>(cpu, "poisson2d:12").matrix;
    for (const char* text :
         {"amg,theta=0.125", "block_jacobi:8,precision=adaptive,accuracy=0.125",
          "block_ldlt:4,epsilon=0.125,delta=0.75,outer=on,outer_threshold=0.0625",
          "chebyshev:4,bound=gershgorin,lower=ratio:20.125",
          "direct,threshold=0.125,max_flops=1.5e9", "least_squares:4,alpha=0.25,beta=0.125"}) {
        expect_same(
            [&] {
                const std::string described =
                    make_preconditioner(cpu, Spec(text), matrix.view())->describe();
                const auto again = make_preconditioner(cpu, Spec(described), matrix.view());
                EXPECT_EQ(again->describe(), described);
                return described;
            },
            "0.125");
    }
}

TEST(locale, messages_of_solves) {
    const Context cpu = Context::cpu(1);
    const auto problem = problems::generate<double>(cpu, "poisson2d:12");
    expect_same(
        [&] {
            Solver<double> solver(cpu, "cg", "none");
            solver.setup(problem.matrix);
            std::vector<double> b(144, 1.0), x(144, 0.0);
            SolveOptions options;
            options.max_iterations = 2;
            return solver.solve(b, x, options).message;
        },
        "the relative residual is ");
}

}  // namespace tessera::test
