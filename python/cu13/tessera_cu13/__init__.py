"""The extension of the package tessera with the CUDA backend; import tessera, which uses it."""
