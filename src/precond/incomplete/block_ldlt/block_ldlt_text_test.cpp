#include "precond/incomplete/test_symmetric.hpp"

namespace tessera::test {

namespace {

CsrMatrix<double> some_matrix(const Context& context) {
    auto random = generator();
    return copy_to(context, symmetric_csr<double>(90, random_indefinite(random, 90, 2)).view());
}

}  // namespace

TEST(block_ldlt_text, is_described_as_it_was_given) {
    const Context device = context();
    const auto matrix = some_matrix(device);
    for (const char* text :
         {"block_ldlt:8,fill=0,method=jacobi,sweeps=8,delta=0.95,pivoting=complete,"
          "matching=on,ordering=amd",
          "block_ldlt:32,fill=2,method=level,epsilon=1e-06,"
          "pivoting=bunch_kaufman,matching=off,ordering=natural,safeguard=off,positive_definite",
          "block_ldlt:4,fill=1,method=jacobi,sweeps=3,epsilon=0.25,delta=1,"
          "pivoting=static,matching=on,ordering=rcm,solve_sweeps=4"}) {
        EXPECT_EQ(make_preconditioner<double>(device, Spec(text), matrix.view())->describe(), text);
    }
}

TEST(block_ldlt_text, ordering_follows_the_fill_where_none_is_given) {
    const Context device = context();
    const auto matrix = some_matrix(device);
    const auto ordering_of = [&](const char* text) {
        const BlockLdlt<double> ldlt(device, matrix.view(), parse_block_ldlt(Spec(text)));
        EXPECT_NE(
            ldlt.describe().find(std::string(",ordering=") + to_string(ldlt.report().ordering)),
            std::string::npos)
            << ldlt.describe();
        return ldlt.report().ordering;
    };
    EXPECT_EQ(ordering_of("block_ldlt:8"), OrderingMethod::rcm);
    EXPECT_EQ(ordering_of("block_ldlt:8,fill=1"), OrderingMethod::amd);
    EXPECT_EQ(ordering_of("block_ldlt:8,fill=2,ordering=auto"), OrderingMethod::amd);
    EXPECT_EQ(ordering_of("block_ldlt:8,fill=1,ordering=rcm"), OrderingMethod::rcm);
    EXPECT_EQ(ordering_of("block_ldlt:8,ordering=natural"), OrderingMethod::natural);
}

TEST(block_ldlt_text, wrong_values_are_rejected) {
    const Context device = context();
    const auto matrix = some_matrix(device);
    for (const char* text :
         {":5", ":0", ":64", ":8,fill=-1", ":8,sweeps=0", ":8,method=multi", ":8,pivoting=partial",
          ":8,delta=1.5", ":8,matching=maybe", ":8,ordering=best", ":8,swep=3"}) {
        const Spec spec = Spec(std::string("block_ldlt") + text);
        EXPECT_THROW(BlockLdlt<double>(device, matrix.view(), parse_block_ldlt(spec)),
                     InvalidArgument)
            << text;
    }
}

}  // namespace tessera::test
