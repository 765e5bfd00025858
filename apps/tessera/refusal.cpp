#include "refusal.hpp"

#include <limits>

#include "commands.hpp"
#include "text.hpp"

namespace tessera::cli {

template <class T>
SingularBlocks describe_blocks(const Preconditioner<T>* preconditioner, RunReport::Blocks& blocks) {
    if (preconditioner == nullptr) return {};
    SingularBlocks singular{preconditioner->singular_blocks(), {}};
    blocks.singular = singular.count;
    if (const auto* jacobi = dynamic_cast<const Jacobi<T>*>(preconditioner)) {
        blocks.count = jacobi->rows();
        blocks.largest = jacobi->rows() > 0 ? 1 : 0;
        singular.first = jacobi->first_singular();
    } else if (const auto* block = dynamic_cast<const BlockJacobi<T>*>(preconditioner)) {
        blocks.count = block->blocks().count;
        blocks.largest = block->blocks().largest;
        blocks.jacobi = block->report();
        singular.first_non_finite_row = blocks.jacobi.first_non_finite_row;
        singular.first = block->first_singular();
    }
    return singular;
}

template <class T>
BlockLdltReport describe_block_ldlt(const Preconditioner<T>* preconditioner) {
    const auto* ldlt = dynamic_cast<const BlockLdlt<T>*>(preconditioner);
    return ldlt == nullptr ? BlockLdltReport() : ldlt->report();
}

template <class T>
PolynomialReport describe_polynomial(const Preconditioner<T>* preconditioner) {
    const auto* polynomial = dynamic_cast<const PolynomialPreconditioner<T>*>(preconditioner);
    return polynomial == nullptr ? PolynomialReport() : polynomial->report();
}

void refuse_overflow(const RunReport::Blocks& blocks) {
    if (!blocks.jacobi.overflow) return;
    throw InvalidArgument(
        "the inverse of a block holds a value beyond the range of the precision it was to be "
        "stored in; take precision=adaptive, or scale the system");
}

bool stops_at_singular(const std::string& preconditioner) {
    return Spec::parse(preconditioner).word("singular", "stop") == "stop";
}

SolveReport refusal(const SingularBlocks& singular, Offset blocks) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    SolveReport report;
    report.status = Status::singular_block;
    report.message = std::to_string(singular.count) + " of " + std::to_string(blocks) +
                     (blocks == 1 ? " block is" : " blocks are") +
                     " singular, so the solve was not started; use singular=shift";
    report.relative_residual = unknown;
    report.true_relative_residual = unknown;
    return report;
}

SolveReport refusal(const PolynomialReport& polynomial) {
    SolveReport report = refusal(SingularBlocks{polynomial.not_positive, {}}, 0);
    report.message =
        "row " + std::to_string(polynomial.first_not_positive) + " (the first of " +
        std::to_string(polynomial.not_positive) +
        ") has no positive pivot, so the matrix is not positive definite and the solve was not "
        "started; take --solver idr --precond block_jacobi";
    return report;
}

std::string refusal_text(const SingularBlocks& singular,
                         const std::vector<std::string>& command_line) {
    if (singular.first_non_finite_row >= 0) {
        return "tessera: row " + std::to_string(singular.first_non_finite_row) +
               " of the matrix holds NaN or infinity; no policy for singular blocks helps\n";
    }
    std::string text = "tessera: " + std::to_string(singular.count) + " singular block" +
                       (singular.count == 1 ? "" : "s") +
                       (singular.count > Index(singular.first.size()) ? "; the first ones:" : ":") +
                       "\n";
    for (const SingularBlock& block : singular.first) {
        const char* inverse = block.info == block.rows ? ", or an entry of the inverse," : "";
        text += format("  block %d, rows %d..%d, pivot %d of %d%s is zero or not finite\n",
                       block.block, block.first_row, block.first_row + block.rows - 1, block.info,
                       block.rows, inverse);
    }
    return text + "To shift these blocks until they can be inverted, try:\n  " +
           shifted_command(command_line) + "\n";
}

std::string shifted_command(std::vector<std::string> command_line) {
    const std::string option = "--precond";
    const std::string stop = ",singular=stop";
    const auto shift = [&](std::string text) {
        if (const auto at = text.find(stop); at != std::string::npos) text.erase(at, stop.size());
        return text + ",singular=shift";
    };
    bool found = false;
    for (std::size_t k = 0; k < command_line.size() && !found; ++k) {
        if (command_line[k] == option && k + 1 < command_line.size()) {
            command_line[k + 1] = shift(command_line[k + 1]);
            found = true;
        } else if (command_line[k].starts_with(option + "=")) {
            command_line[k] = shift(command_line[k]);
            found = true;
        }
    }
    if (!found) {
        command_line.push_back(option);
        command_line.push_back(shift(SolveArguments{}.preconditioner));
    }
    std::string command;
    for (const std::string& word : command_line) {
        command += (command.empty() ? "" : " ") + shell_word(word);
    }
    return command;
}

template SingularBlocks describe_blocks<float>(const Preconditioner<float>*, RunReport::Blocks&);
template BlockLdltReport describe_block_ldlt<float>(const Preconditioner<float>*);
template BlockLdltReport describe_block_ldlt<double>(const Preconditioner<double>*);
template PolynomialReport describe_polynomial<float>(const Preconditioner<float>*);
template PolynomialReport describe_polynomial<double>(const Preconditioner<double>*);
template SingularBlocks describe_blocks<double>(const Preconditioner<double>*, RunReport::Blocks&);

}  // namespace tessera::cli
