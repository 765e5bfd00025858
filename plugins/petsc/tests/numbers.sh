# shellcheck shell=bash disable=SC2154 # variables of run.sh
# Sourced by run.sh: iterations, bits, products, and calls of PETSc.

# 3x3 block Jacobi takes the iterations of PETSc's own, and as many on all ranks.
test_block_jacobi() {
    local n own reference='' type iterations
    for n in 1 2 4; do
        own=$(elast "$n" -pc_type pbjacobi | result iterations)
        : "${reference:=$own}"
        for type in tesserabjacobi tessera; do
            iterations=$(elast "$n" -pc_type "$type" | result iterations)
            echo "$n ranks: pbjacobi $own, $type $iterations iterations"
            within_one "$iterations" "$own" && within_one "$iterations" "$reference" || fail "too different"
        done
    done
}

# A polynomial over all ranks takes as many iterations on any number of them.
test_chebyshev() {
    local n reference='' values iterations
    for values in working f16; do
        for n in 1 2 4; do
            iterations=$(elast "$n" -pc_type tesserachebyshev -pc_tesserachebyshev_values $values |
                result iterations)
            : "${reference:=$iterations}"
            echo "$n ranks, values $values: $iterations iterations"
            within_one "$iterations" "$reference" || fail "too different"
        done
    done
    ((reference < 40)) || fail "$reference iterations are no better than block Jacobi's"
}

# Two runs on the same number of ranks give the same bits.
test_bitwise() {
    local n type first second
    for n in 2 4; do
        for type in tesserabjacobi tesserachebyshev tesserabildl tesserailu tesseraamg; do
            first=$(elast "$n" -pc_type $type "-pc_${type}_product" sbell | result bits)
            second=$(elast "$n" -pc_type $type "-pc_${type}_product" sbell | result bits)
            [[ -n $first && $first == "$second" ]] || fail "$type on $n ranks: $first, then $second"
        done
    done
}

# count EVENT: calls of an event of -log_view in stage 0.
count() {
    awk -v event="$1" '/Event Stage 1/ { exit } $1 == event { print $2; exit }' "$scratch/log"
}

# Both local blocks multiply in Tessera's format as often as the matrix does; values are converted
# once and after they change; PETSc's log has the operations.
test_products() {
    local way iterations
    local -A ways=([option]="-pc_type tesserabjacobi -pc_tesserabjacobi_product sbell"
        [type]="-pc_type pbjacobi -mat_seqaij_type seqaijtessera")
    for way in "${!ways[@]}"; do
        # shellcheck disable=SC2086 # words
        elast 2 ${ways[$way]} -solves 2 -log_view >"$scratch/log"
        iterations=$(result iterations <"$scratch/log")
        echo "$way: $iterations iterations, MatMult $(count MatMult), TesseraMultDiag" \
            "$(count TesseraMultDiag), TesseraMultOff $(count TesseraMultOff)," \
            "TesseraConvert $(count TesseraConvert)"
        (($(count MatMult) > iterations && $(count TesseraMultDiag) == $(count MatMult) &&
            $(count TesseraMultOff) == $(count MatMult) && $(count TesseraConvert) == 2)) ||
            fail "not all products are Tessera's"
        awk '/Event Stage .*: Later solves/ { later = 1 } later && $1 == "TesseraConvert" { found = $2 }
            END { exit found != 2 }' "$scratch/log" || fail "new values are not converted once"
        awk '$1 == "TesseraMultDiag" { exit !($6 > 1e6) }' "$scratch/log" ||
            fail "the operations of products are not counted"
    done
    elast 2 -pc_type tesserachebyshev -log_view >"$scratch/log"
    (($(count TesseraMultDiag) >= 6 * $(count TesseraApply) &&
        $(count TesseraMultOff) == $(count TesseraMultDiag))) ||
        fail "the products of the polynomial are not Tessera's"
    local n
    for n in 1 2; do
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product ell
        run_case $n products -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell:3 -mat_type baij
        run_case $n products -pc_type none -mat_seqaij_type seqaijtessera -mat_tessera_format sell
    done
}

# BAIJ and SBAIJ are taken as AIJ is; other types are refused by their names.
test_matrices() {
    local n type matrix reference iterations
    for n in 1 2; do
        for type in tesserabjacobi tesserachebyshev tesserabildl tesserailu; do
            reference=$(elast $n -pc_type $type | result iterations)
            for matrix in baij sbaij; do
                iterations=$(elast $n -pc_type $type -dm_mat_type $matrix -solves 2 \
                    "-pc_${type}_product" sbell | result iterations)
                echo "$type, $matrix, $n ranks: $iterations iterations, with aij $reference"
                within_one "$iterations" "$reference" || fail "too different"
            done
        done
    done
    # What PETSc reads of BAIJ does not count as a change.
    elast 2 -pc_type tesserabjacobi -pc_tesserabjacobi_product sbell -dm_mat_type baij -log_view \
        >"$scratch/log"
    (($(count TesseraConvert) == 2 && $(count PCSetUp) == 1)) || fail "BAIJ is converted repeatedly"
    for type in tesserabjacobi tesserachebyshev tesseraamg; do
        expect_error 1 "this one is seqdense" types -pc_type $type
        expect_error 2 "this one is mpidense" types -pc_type $type
        expect_error 2 "this one is mpisell" types -pc_type $type -case_mat_type sell
    done
}

# PCMatApply, PCApplyTranspose, new values, a new pattern, ranks without rows.
test_calls() {
    local n options
    for n in 1 2; do
        for options in "tesserabjacobi -skew" tesserachebyshev tesserabildl "tesserailu -skew" \
            "tessera -pc_tessera_spec amg,precision=working" "tessera -pc_tessera_spec jacobi -skew" \
            "tesseraamg -pc_tesseraamg_precision working" \
            "tesserachebyshev -skew -has_transpose 0" \
            "tessera -pc_tessera_spec chebyshev -skew -has_transpose 0"; do
            # shellcheck disable=SC2086
            run_case $n apply -pc_type $options
        done
        for options in tesserabjacobi tesserachebyshev tesserabildl "tessera -pc_tessera_spec amg" \
            "tesserachebyshev -mat_type baij" "tesseraamg -pc_tesseraamg_gather_nodes 10"; do
            # shellcheck disable=SC2086
            run_case $n updates -pc_type $options
        done
    done
}

# Ranks without rows, and one that owns all.
test_few_rows() {
    local n options
    for n in 1 2 4; do
        for options in "tesserabjacobi -pc_tesserabjacobi_product sbell" \
            "tesserachebyshev -pc_tesserachebyshev_product sbell" tesserabildl tesserailu tesseraamg \
            "tessera -pc_tessera_spec amg"; do
            # shellcheck disable=SC2086
            run_case $n few -pc_type $options
            [[ $(grep -c CONVERGED_RTOL "$scratch/case") == 2 ]] || fail "not solved: $options"
        done
    done
}

# Within PETSc's own preconditioners.
test_inside() {
    local n options iterations reference
    for n in 1 2; do
        for options in "bjacobi -sub_pc_type tessera -sub_pc_tessera_spec amg" \
            "bjacobi -sub_pc_type tesserabildl" \
            "asm -pc_asm_type basic -sub_pc_type tesserachebyshev" \
            "fieldsplit -pc_fieldsplit_type additive -pc_fieldsplit_block_size 3
                -fieldsplit_ksp_type preonly -fieldsplit_pc_type tesserachebyshev"; do
            # shellcheck disable=SC2086
            iterations=$(elast $n -pc_type $options | result iterations)
            echo "$n ranks, ${options%% *}: $iterations iterations"
            ((iterations < 79)) || fail "no better than block Jacobi: $options"
        done
        reference=$(elast $n -pc_type gamg -elements 12 | result iterations)
        iterations=$(elast $n -pc_type gamg -elements 12 -mg_levels_pc_type tesserabjacobi \
            -mg_levels_pc_tesserabjacobi_singular generalised -mat_seqaij_type seqaijtessera |
            result iterations)
        echo "$n ranks: GAMG $reference iterations, with smoothers and products of Tessera $iterations"
        ((iterations <= reference + 1)) || fail "GAMG needs more iterations"
    done
}

# tesserailu of the subdomains of ASM and bjacobi: nonsymmetric matrices, their transposes, new values,
# and at most a tenth more iterations than with ILU of PETSc.
test_subdomains() {
    local n outer own ours
    for outer in bjacobi asm; do
        for n in 1 2 4; do
            run_case $n apply -pc_type $outer -sub_pc_type tesserailu -skew
            run_case $n updates -pc_type $outer -sub_pc_type tesserailu
            own=$(elast $n -ksp_type gmres -pc_type $outer -sub_pc_type ilu | result iterations)
            ours=$(elast $n -ksp_type gmres -pc_type $outer -sub_pc_type tesserailu |
                result iterations)
            echo "$n ranks, $outer: ilu $own, tesserailu $ours iterations"
            ((10 * ours <= 11 * own)) || fail "more iterations than with ILU"
        done
        elast 2 -ksp_type gmres -pc_type $outer -sub_pc_type tesserailu -sub_pc_tesserailu_block 3 \
            -sub_pc_tesserailu_fill 1 -ksp_view >"$scratch/log"
        grep -q 'ilu:3,fill=1' "$scratch/log" || fail "the options of subdomains are not read"
    done
}

# Blocks, near-null vectors and formats come from the matrix where the options name none.
test_defaults() {
    elast 2 -pc_type tesserabjacobi -ksp_view >"$scratch/log"
    grep -qF '729 blocks, largest of 3 rows' "$scratch/log" || fail "not the blocks of the matrix"
    elast 2 -pc_type tesserabjacobi -nodes_per_block 10 -ksp_view >"$scratch/log"
    grep -qF 'largest of 30 rows' "$scratch/log" || fail "not MatSetVariableBlockSizes"
    elast 2 -pc_type tesserachebyshev -ksp_view >"$scratch/log"
    grep -qF 'matrix: sbell:3' "$scratch/log" || fail "not the block size of the matrix"
    local with without
    with=$(elast 1 -pc_type tessera -pc_tessera_spec amg | result iterations)
    without=$(elast 1 -pc_type tessera -pc_tessera_spec amg,near_null=translations |
        result iterations)
    echo "amg: $with iterations with the matrix's near-null vectors, $without with translations"
    ((with < without)) || fail "the near-null vectors of the matrix are not used"
    # coarse=100 leaves levels above the one that is solved directly.
    run_case 1 coordinates -pc_type tessera -pc_tessera_spec amg,coarse=100
    run_case 2 coordinates -pc_type tessera -pc_tessera_spec amg,coarse=100
}
