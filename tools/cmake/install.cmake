# Installs the program, the libraries with their headers, and a CMake package for programs that use them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Two components: the program with what belongs to it, and the libraries (tools/cmake/package.cmake).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libgyre-dev)
set(folders core autograd models data train)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gyre)

# Keep the folders of linked libraries in the run path, because OpenBLAS is not in the default folder.
set_target_properties(gyre PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS gyre COMPONENT gyre)

list(TRANSFORM folders PREPEND gyre_ OUTPUT_VARIABLE libraries)
install(TARGETS ${libraries} EXPORT gyre-targets ARCHIVE)
# The headers of core/cpu and core/cuda are private; core/kernels/kernels.h is their public interface.
install(DIRECTORY ${folders} DESTINATION include/gyre FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN core/cpu EXCLUDE
        PATTERN core/cuda EXCLUDE)

install(EXPORT gyre-targets NAMESPACE gyre:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gyre-config.cmake.in gyre-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(gyre-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gyre-config.cmake ${PROJECT_BINARY_DIR}/gyre-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/pkg_config_modules.cmake DESTINATION ${package_dir})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME gyre)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY tools/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/gyre)
install(PROGRAMS tools/scripts/demo.sh tools/scripts/mpirun.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/gyre/scripts)

# Completion scripts and the man page, which the program itself generates.
function(install_output arguments destination file)
  set(path ${PROJECT_BINARY_DIR}/share/${file})
  install(CODE "execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} [[$<TARGET_FILE:gyre>]] ${arguments} OUTPUT_FILE [[${path}]]
                                COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${path} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination})
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
install_output("completion bash" bash-completion/completions gyre)
install_output("completion zsh" zsh/site-functions _gyre)
install_output(man man/man1 gyre.1)
