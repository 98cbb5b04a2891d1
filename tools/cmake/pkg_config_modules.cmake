# The libraries that have no CMake package, for the build and for the installed package alike.
#
# Of Debian's OpenBLAS variants the OpenMP one is taken, whatever /etc/alternatives points at: it shares its threads
# with our own kernels. CMake writes its folder into the run path, so the same one is loaded.
set(ENV{PKG_CONFIG_PATH} "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp/pkgconfig:$ENV{PKG_CONFIG_PATH}")
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET GLOBAL openblas)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET GLOBAL sentencepiece)
