# shellcheck shell=bash disable=SC2154 # variables of run.sh
# Sourced by run.sh: multigrid over all ranks.

# Small problems have levels over ranks, too.
small="-pc_type tesseraamg -pc_tesseraamg_gather_nodes 50"

# solved N ARGUMENT...: a line for each problem, its iterations and the operator complexity.
solved() {
    ranks "$1" "$folder/generated" $small -ksp_view "${@:2}" | awk '
        /operator complexity/ { complexity = $NF }
        /^problem/ { print $2, $10, $12, complexity }'
}

# Iterations on 2 and 4 ranks are at most 1 more than those on one; smaller aggregates may take fewer.
test_amg_iterations() {
    local problems="elasticity3d:13;elasticity3d:12,poisson=0.45;elasticity3d:12,contrast=1e4"
    problems+=";cantilever3d:4,length=16;elasticity3d:10,element=tet4,jitter=0.3;poisson3d:26;poisson2d:110"
    local n name iterations reason complexity
    local -A alone
    for n in 1 2 4; do
        while read -r name iterations reason complexity; do
            : "${alone[$name]:=$iterations}"
            echo "$name, $n ranks: $iterations iterations, complexity $complexity"
            [[ $reason == CONVERGED_RTOL ]] || fail "$reason"
            ((iterations <= alone[$name] + 1 && 2 * iterations >= alone[$name])) ||
                fail "one rank takes ${alone[$name]}"
        done < <(solved $n -problems "$problems")
    done
    ((${#alone[@]} == 7)) || fail "${#alone[@]} problems of 7 were solved"
    for n in 1 2 4; do
        iterations=$(elast $n $small -elements 20 | result iterations)
        : "${alone[elast]:=$iterations}"
        echo "elast, $n ranks: $iterations iterations"
        ((iterations == alone[elast])) || fail "one rank takes ${alone[elast]}"
    done
}

# Nodes that are dealt out badly cost at most 2 iterations.
test_amg_partitions() {
    local n partition name iterations reason complexity count=0
    local -A alone
    for partition in slabs cyclic layers; do
        for n in 1 2 4; do
            [[ $partition == slabs ]] && ((n > 1)) && continue
            while read -r name iterations reason complexity; do
                : "${alone[$name]:=$iterations}"
                echo "$partition, $name, $n ranks: $iterations iterations, complexity $complexity"
                [[ $reason == CONVERGED_RTOL ]] || fail "$reason"
                ((iterations <= alone[$name] + 2)) || fail "one rank takes ${alone[$name]}"
                awk -v c="$complexity" 'BEGIN { exit !(c < 3.5) }' || fail "complexity $complexity"
                count=$((count + 1))
            done < <(solved $n -partition $partition -problems "elasticity3d:11;cantilever3d:4,length=8")
        done
    done
    ((count == 14)) || fail "$count problems of 14 were solved"
}

# PCView tells the levels, and where they are; new values are an update.
test_amg_view() {
    elast 2 $small -solves 2 -log_view >"$scratch/log"
    awk '/Event Stage .*: Later solves/ { later = 1 }
        $1 == "TesseraSetUp" { setups += $2 } later && $1 == "TesseraUpdate" { updates += $2 }
        END { exit !(setups == 1 && updates == 1) }' "$scratch/log" || fail "new values are no update"
    elast 2 -pc_type tesseraamg -elements 16 -ksp_view >"$scratch/log"
    grep -q 'amg,block=3 over all ranks on CPU' "$scratch/log" &&
        grep -q 'near-null vectors: given' "$scratch/log" &&
        grep -qx ' *messages by MPI' "$scratch/log" &&
        grep -qE 'level 0: 14739 rows, .* 6936 to 7803 rows on a rank' "$scratch/log" &&
        grep -qE 'level 2: .* blocks of 6 a row, all on every rank' "$scratch/log" || {
        grep -A6 'type: tesseraamg' "$scratch/log" >&2
        fail "PCView"
    }
}

# Messages by MPI, their faults, and multigrid by them beside that by threads.
test_messages() {
    local n
    [[ -x $folder/communicator ]] || skip "this PETSc has no MPI"
    for n in 1 2 4; do
        timeout 100 mpirun --bind-to none -n $n "$folder/communicator" >"$scratch/out" 2>&1 || {
            head -40 "$scratch/out" >&2
            fail "failed on $n ranks"
        }
        grep -qx passed "$scratch/out" || fail "did not pass on $n ranks"
    done
}

# Krylov methods around it, matrix types, new values, and within PETSc's own preconditioners.
test_amg_surroundings() {
    local n options iterations
    local -A alone
    for n in 1 2; do
        for options in "-ksp_type fcg" "-ksp_type gmres -ksp_pc_side right" \
            "-ksp_type fgmres" "-dm_mat_type baij -solves 2" "-dm_mat_type sbaij -solves 2" \
            "-pc_tesseraamg_product sbell" "-pc_tesseraamg_precision working -solves 2"; do
            # shellcheck disable=SC2086
            iterations=$(elast $n $small $options | result iterations)
            : "${alone[$options]:=$iterations}"
            echo "$options, $n ranks: $iterations iterations"
            ((iterations > 0)) && within_one "$iterations" "${alone[$options]}" ||
                fail "one rank takes ${alone[$options]}"
        done
        run_case $n coordinates $small -pc_tesseraamg_coarse_rows 100
        for options in \
            "fieldsplit -pc_fieldsplit_type additive -pc_fieldsplit_block_size 3
                -fieldsplit_ksp_type preonly -fieldsplit_pc_type tesseraamg
                -fieldsplit_pc_tesseraamg_gather_nodes 50" \
            "gamg -pc_mg_levels 2 -elements 12 -mg_coarse_ksp_type preonly
                -mg_coarse_pc_type tesseraamg -mg_coarse_pc_tesseraamg_gather_nodes 20"; do
            # shellcheck disable=SC2086
            elast $n -pc_type $options -ksp_view >"$scratch/log"
            iterations=$(result iterations <"$scratch/log")
            echo "${options%% *}, $n ranks: $iterations iterations"
            grep -q 'type: tesseraamg' "$scratch/log" || fail "not within ${options%% *}"
            ((iterations > 0 && iterations < 60)) || fail "too many"
        done
    done
}

# An error on one rank is one on all, with a sentence; the solve of a singular matrix ends.
test_amg_faults() {
    local n fault
    local once='DIVERGED_PC_FAILED FACTOR_NUMERIC_ZEROPIVOT CONVERGED_RTOL FACTOR_NOERROR '
    for n in 1 2 4; do
        for fault in "" -nan; do
            run_case $n singular $small $fault
            grep -qx 'DIVERGED_PC_FAILED FACTOR_NUMERIC_ZEROPIVOT' "$scratch/case" ||
                fail "singular $fault on $n ranks: $(head -1 "$scratch/case")"
        done
        run_case $n repaired $small
        [[ $(grep -E '^(CON|DI)VERGED' "$scratch/case" | tr '\n' ' ') == "$once$once" ]] ||
            fail "repaired on $n ranks: $(cat "$scratch/case")"
        run_case $n exhausted $small
        for fault in few_coordinates wrong_word; do run_case $n faults $small -fault $fault; done
    done
    for fault in coordinates_of_plane other_value; do run_case 3 faults $small -fault $fault; done
    expect_error 3 "Tessera on rank 2: amg: " faults $small -fault few_coordinates -report
    expect_error 2 "amg: rank 1 has other options than rank 0" faults $small -fault other_value -report
    expect_error 2 "f8" faults $small -fault wrong_word -report
    expect_error 2 "amg: the diagonal block of node 39" singular $small -ksp_error_if_not_converged
    expect_error 2 "smoothing_steps 1: give 2 to 16" updates $small -pc_tesseraamg_smoothing_steps 1
}
