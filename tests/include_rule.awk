# The rule of include_rule.sh; run in the source tree on its files.
BEGIN {
    rank["base"] = 0
    rank["simd"] = rank["gpu"] = 1
    rank["io"] = rank["sparse"] = rank["batched"] = rank["problems"] = 2
    rank["distributed"] = 2.5
    rank["precond"] = 3
    rank["krylov"] = 4
    # The layer of each public header.
    split("types context spec time_limit", list, " ")
    for (i in list) public["tessera/" list[i] ".hpp"] = 0
    split("csr borrow mesh blocks batched factor systems", list, " ")
    for (i in list) public["tessera/" list[i] ".hpp"] = 1
    split("vector_ops operator ranks formats io elasticity problems products spectrum solution_errors", list, " ")
    for (i in list) public["tessera/" list[i] ".hpp"] = 2
    public["tessera/nccl.hpp"] = 2
    public["tessera/detail/memory.hpp"] = public["tessera/detail/owners.hpp"] = 0
    public["tessera/detail/floating_point.hpp"] = 0
    public["tessera/detail/spmv_plan.hpp"] = public["tessera/detail/blocks.hpp"] = 1
    public["tessera/detail/cells.hpp"] = public["tessera/detail/ldlt_by_rows.hpp"] = 1
    public["tessera/detail/orientation.hpp"] = 2
    split("sliced vector_steps ordering bsr rank_rows symmetric_product largest_element norm accurate_residual equilibrated_errors", list, " ")
    for (i in list) public["tessera/detail/" list[i] ".hpp"] = 2
    public["tessera/precond.hpp"] = 3
    public["tessera/amg.hpp"] = public["tessera/amg_over_ranks.hpp"] = 3
    public["tessera/polynomial.hpp"] = 3
    public["tessera/block_jacobi.hpp"] = 3
    public["tessera/block_ldlt.hpp"] = public["tessera/ilu.hpp"] = 3
    public["tessera/block_triangular_solve.hpp"] = 3
    public["tessera/direct.hpp"] = 3
    public["tessera/krylov.hpp"] = public["tessera/detail/report_json.hpp"] = 4
    public["tessera/solver.hpp"] = public["tessera/device_group.hpp"] = 4
    public["tessera/choice.hpp"] = 4
    public["tessera/tessera.hpp"] = 5
}
function wrong(rule) { printf "%s:%d: %s: %s\n", FILENAME, FNR, target, rule }
# The folder of an operation, of which `path` may be a subfolder.
function operation(path,   at) {
    split(path, at, "/")
    return at[1] "/" at[2] "/" at[3]
}
function is_toolkit(name) {
    return name ~ /^(cuda|cublas|cusparse|cusolver|curand|nvtx|cub\/|thrust\/|cooperative)/ ||
           name ~ /^(nvToolsExt|device_launch|math_constants|mma)/
}
function is_public(name) { return name in public }
# A program's own file, from its folder: no file of src or of a relative path.
function is_own(name,   to) {
    split(name, to, "/")
    return name !~ /\.\./ && !(to[1] in rank) && to[1] != "tessera"
}
function is_standard(name) { return name ~ /^[a-z_]+$/ }
function is_posix(name) {
    return name ~ /^(sys\/[a-z]+|unistd|fcntl|signal|termios|pthread|poll|dlfcn|spawn)\.h$/
}
!/^[ \t]*#[ \t]*include[ \t]*[<"]/ { next }
{
    match($0, /[<"][^>"]*[>"]/)
    target = substr($0, RSTART, RLENGTH)
    name = substr(target, 2, length(target) - 2)
    quoted = substr(target, 1, 1) == "\""
    count = split(FILENAME, part, "/")
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
}
part[1] == "include" {
    own = substr(FILENAME, length("include/") + 1)
    if (!(own in public))
        wrong("add this header to the layers of the rule")
    else if (quoted ? !is_public(name) : !is_standard(name))
        wrong("public headers include the standard library and each other only")
    else if (quoted && public[name] > public[own])
        wrong("a header of a higher layer")
    next
}
part[1] == "apps" {
    fine = quoted ? is_public(name) || is_own(name) : is_standard(name) || is_posix(name)
    if (name ~ /^(CLI|nlohmann)\//) fine = 1
    if (part[2] == "bench") {
        if (name ~ /^(Eigen|suitesparse|superlu)\// || name == "dmumps_c.h") fine = 1  # Peers.
        if (is_toolkit(name) && FILENAME ~ /cuda\.(cu|cpp|hpp|cuh)$/) fine = 1
        # The papers' variants of the library's kernels are made of the same parts.
        if (part[3] == "papers" && name ~ /^(papers|batched)\//) fine = 1
    }
    if (!fine)
        wrong("programs include the public headers, their own folder, the standard library, CLI11, JSON")
    next
}
part[1] == "python" {
    if (quoted ? !is_public(name) && !is_own(name) : !is_standard(name) && name !~ /^nanobind\//)
        wrong("the extension includes the public headers, its own folder, the standard library, nanobind")
    next
}
{
    family = part[2]
    if (!(family in rank)) {
        wrong("add the folder src/" family " to the layers of the rule")
        next
    }
    if (is_toolkit(name)) {
        if (name ~ /^(cublas|cusparse|cusolver|thrust\/)/)
            wrong("the library uses none of the toolkit libraries")
        else if (FILENAME !~ /\.cuh?$/ && family != "gpu" &&
                 !(family == "base" && part[count] ~ /cuda/))
            wrong("CUDA headers only in .cu, src/gpu and src/base/*cuda*")
    }
    if (name ~ /^(CLI|gtest|nlohmann)\//) wrong("not a library for src")
    if (name ~ /^tessera\//) {
        if (!(name in public)) wrong("no such public header is known to the rule")
        else if (public[name] > rank[family]) wrong("a header of a higher layer")
        next
    }
    if (!quoted) next
    split(name, to, "/")
    if (!(to[1] in rank)) {
        if (name !~ /^(hwy|fmt|fast_float)\//)
            wrong("write internal includes from src: \"family/operation/file\"")
        next
    }
    home = "src/" name
    sub(/\/[^\/]*$/, "", home)
    if (rank[to[1]] > rank[family])
        wrong("a header of a higher layer")
    else if (to[1] == "base" || to[1] == "distributed" || home == folder || home == "src/" family)
        next
    else if (folder == "src/" family && part[count] == "registry.cpp" && name ~ /\/config\.hpp$/)
        next  # A registry lists its family.
    else if (operation(home) == operation(folder))
        next
    else if (to[1] == "simd" || to[1] == "gpu") {
        if (rank[family] == 1 && to[1] != family)
            wrong("simd and gpu do not know each other")
    } else
        wrong("another operation is called through its public function; share tiles instead")
}
