# `cmake --install`: the program, the libraries with their headers, and a CMake package for programs that use them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms core autograd models data train)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gyre)

# The run path keeps the folders of the libraries that the program was linked with: OpenBLAS's is not the default one.
set_target_properties(gyre PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS gyre)

list(TRANSFORM rooms PREPEND gyre_ OUTPUT_VARIABLE libraries)
install(TARGETS ${libraries} EXPORT gyre-targets ARCHIVE)
# The kernels' own headers stay: core/kernels.h is what others see of them.
install(DIRECTORY ${rooms} DESTINATION include/gyre FILES_MATCHING PATTERN "*.h" PATTERN core/cpu EXCLUDE
        PATTERN core/cuda EXCLUDE)

install(EXPORT gyre-targets NAMESPACE gyre:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gyre-config.cmake.in gyre-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(gyre-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gyre-config.cmake ${PROJECT_BINARY_DIR}/gyre-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/pkg_config_modules.cmake DESTINATION ${package_dir})

# What the program itself writes: completion scripts and the man page.
function(install_output arguments destination file)
  set(path ${PROJECT_BINARY_DIR}/share/${file})
  install(CODE "execute_process(COMMAND [[$<TARGET_FILE:gyre>]] ${arguments} OUTPUT_FILE [[${path}]]
                                COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${path} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination})
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
install_output("completion bash" bash-completion/completions gyre)
install_output("completion zsh" zsh/site-functions _gyre)
install_output(man man/man1 gyre.1)
