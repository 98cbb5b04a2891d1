# Libraries without a CMake package, for the build and for the installed package.
#
# Use the OpenMP variant of Debian's OpenBLAS, independent of /etc/alternatives, because it shares its threads with
# Gyre's kernels. CMake writes its folder into the run path, so that the same variant is loaded.
set(ENV{PKG_CONFIG_PATH} "${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp/pkgconfig:$ENV{PKG_CONFIG_PATH}")
if(GYRE_OPENBLAS)
  pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET GLOBAL openblas)
endif()
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET GLOBAL sentencepiece)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET GLOBAL libzstd)
