# Builds Debian packages of the program (gyre) and of the libraries (libgyre-dev) with `cpack -G DEB` or `make package`.
# dpkg-shlibdeps determines the dependencies of the program.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packaging does not build the tests
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The Gyre authors")
set(CPACK_PACKAGE_CONTACT "The Gyre authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)  # gyre_0.1.0_amd64.deb
set(CPACK_COMPONENTS_ALL gyre libgyre-dev)

set(CPACK_COMPONENT_GYRE_DESCRIPTION "trains transformers from scratch, over MPI
The program gyre trains, evaluates and inspects translation models, masked
language models and causal language models.")
set(CPACK_DEBIAN_GYRE_PACKAGE_NAME gyre)
set(CPACK_DEBIAN_GYRE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_GYRE_PACKAGE_SHLIBDEPS ON)
if(GYRE_MPI)
  set(CPACK_DEBIAN_GYRE_PACKAGE_RECOMMENDS openmpi-bin)
endif()
set(CPACK_DEBIAN_GYRE_PACKAGE_SUGGESTS "gnuplot-nox, graphviz")

set(CPACK_COMPONENT_LIBGYRE-DEV_DESCRIPTION "trains transformers from scratch, over MPI: libraries
Static libraries, headers and the CMake package of Gyre, for find_package(gyre).")
set(CPACK_DEBIAN_LIBGYRE-DEV_PACKAGE_NAME libgyre-dev)
set(CPACK_DEBIAN_LIBGYRE-DEV_PACKAGE_SECTION libdevel)
# Packages for the find_dependency() calls of gyre-config.cmake.in and for pkg_config_modules.cmake.
set(depends libicu-dev liblzma-dev libsentencepiece-dev libspdlog-dev libzstd-dev nlohmann-json3-dev pkg-config zlib1g-dev)
if(GYRE_MPI)
  list(APPEND depends libopenmpi-dev)
endif()
if(GYRE_OPENBLAS)
  list(APPEND depends libopenblas-openmp-dev)
endif()
list(JOIN depends ", " CPACK_DEBIAN_LIBGYRE-DEV_PACKAGE_DEPENDS)

include(CPack)
