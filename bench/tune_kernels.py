#!/usr/bin/env python3
"""Chooses the shapes of the small inversion kernels by measuring them.

    tune_kernels.py all FOLDER       build, run and choose, on a machine with nvcc and a GPU
    tune_kernels.py build FOLDER     writes candidates and compiles tune_f32 and tune_f64 in FOLDER
                                     (needs nvcc and a built tree, no GPU; ten minutes)
    tune_kernels.py choose FILE...   reads their output on a GPU and writes
                                     src/gpu/tuning/batched_h200.hpp

A shape is lanes per matrix, rows per lane, thread blocks per multiprocessor, and whether each step
checks its pivot (checked) or the warp repeats its matrices after an unusable pivot. The fastest is
chosen; of several within half a percent, the first in the order of the candidates. The smallest
matrices also have a kernel of one thread per matrix, of which only the thread blocks are chosen; it
is preferred when equal. FP64 shapes from n = 25 on matter only where TESSERA_TILES leaves the size
out.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "src/gpu/tuning/batched_h200.hpp"
SIZES = range(1, 33)
REGISTERS = 65536
THREADS = 128
ALL_TILES = sum(1 << width // 2 for width in range(2, 33, 2))
LANE_SIZES = range(1, 11)  # For one thread per matrix.


def candidates(value_bytes):
    """Shapes that keep a matrix in registers without much waste."""
    words = value_bytes // 4
    for width in SIZES:
        for lanes in (1, 2, 4, 8, 16):
            rows = -(-width // lanes)
            data = rows * width * words  # Registers of a lane that hold the matrix.
            if lanes > width or lanes * rows > 32 or data > (168 if lanes <= 2 else 200):
                continue
            # Hardly a row per lane; hardly a lane per matrix.
            if lanes > 1 and (lanes * 4 > 3 * width or rows > 10):
                continue
            blocks = set()
            for others in (28, 40, 54, 72):
                registers = min(255, (data + others + 7) // 8 * 8)
                blocks.add(min(REGISTERS // (THREADS * registers), 10))
            for count in sorted(blocks, reverse=True):
                if count >= 2:
                    for checked in (True, False):
                        yield width, lanes, rows, count, checked


def lane_candidates(value_bytes):
    for size in LANE_SIZES:
        data = size * size * value_bytes // 4
        for others in (24, 40, 60, 90):
            registers = min(255, (data + others + 7) // 8 * 8)
            if data + others < 256:
                yield size, min(REGISTERS // (THREADS * registers), 12)


def build(folder):
    folder = pathlib.Path(folder)
    for name, type_name, size in (("f32", "float", 4), ("f64", "double", 8)):
        part = folder / name
        part.mkdir(parents=True, exist_ok=True)
        lines = [f"candidate<{type_name}, {w}, {l}, {r}, {b}, {str(c).lower()}>(arena);"
                 for w, l, r, b, c in candidates(size)]
        lines += [f"per_thread_candidate<{type_name}, {n}, {b}>(arena);"
                  for n, b in sorted(set(lane_candidates(size)))]
        (part / "candidates.inc").write_text("\n".join(lines) + "\n")
        print(f"{name}: {len(lines)} candidates")
        subprocess.run(
            ["nvcc", "-O3", "-std=c++20", "--expt-relaxed-constexpr", "--extended-lambda",
             f"-DTUNED_TYPE={type_name}", f"-DTESSERA_TILE_MASK={ALL_TILES}",
             "-DTESSERA_WITH_CUDA=1", f"-I{part}", f"-I{ROOT}/include", f"-I{ROOT}/src",
             f"-gencode=arch=compute_{os.environ.get('TESSERA_ARCH', '90')},code=sm_"
             f"{os.environ.get('TESSERA_ARCH', '90')}", "-cudart", "static", "-Xcompiler",
             "-fopenmp", "-o", folder / f"tune_{name}", ROOT / "bench/tune/invert_small.cu",
             ROOT / "build/release/libtessera.a", "-lz"], check=True)


def choose(files):
    measured = {}
    for name in files:
        for line in pathlib.Path(name).read_text().splitlines():
            kind, *numbers, fraction = line.split()
            measured.setdefault((kind, *map(int, numbers)), []).append(float(fraction))
    best, best_lanes = {}, {}
    for (kind, width, *shape), fractions in measured.items():
        fraction = sorted(fractions)[len(fractions) // 2]
        chosen = best_lanes if len(shape) == 1 else best
        if fraction > 1.005 * chosen.get((kind, width), (0,))[0]:
            chosen[kind, width] = (fraction, shape)
    rows = []
    for width in SIZES:
        shapes = []
        for kind in ("f64", "f32"):
            fraction, (lanes, per_lane, blocks, checked) = best[kind, width]
            print(f"{kind} {width:2}: {fraction:.3f} of copy, {lanes} x {per_lane}, {blocks}")
            shapes.append(f"{{{lanes}, {per_lane}, {blocks}, {'true' if checked else 'false'}}}")
        rows.append(f"        {{{shapes[0]}, {shapes[1]}}},  // {width}")
    text = HEADER.read_text()
    begin = text.index("    constexpr SmallShape table")
    end = text.index("    };\n", begin)
    table = "    constexpr SmallShape table[32][2] = {\n" + "\n".join(rows) + "\n"
    text = text[:begin] + table + text[end:]

    def lane_blocks(kind, size):
        fraction, shape = best_lanes.get((kind, size), (0, [0]))
        return shape[0] if fraction > 0.995 * best[kind, size][0] else 0

    pairs = [f"{{{lane_blocks('f64', n)}, {lane_blocks('f32', n)}}}" for n in LANE_SIZES]
    begin = text.index("    constexpr int per_thread_table")
    end = text.index("};\n", begin) + 3
    table = "    constexpr int per_thread_table[max_per_thread_rows][2] = {" + ", ".join(pairs) + "};\n"
    HEADER.write_text(text[:begin] + table + text[end:])


def run(folder):
    """Runs the two programs of build(); their outputs."""
    files = []
    for name in ("f32", "f64"):
        files.append(pathlib.Path(folder) / f"{name}.txt")
        with files[-1].open("w") as output:
            subprocess.run([pathlib.Path(folder) / f"tune_{name}"], stdout=output, check=True)
    return files


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "all":
        build(sys.argv[2])
        choose(run(sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] == "build":
        build(sys.argv[2])
    elif len(sys.argv) > 2 and sys.argv[1] == "choose":
        choose(sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
