# cmake --install: everything that is built; with --component, `cpp` (the library, its headers,
# find_package(tessera), tessera.pc), `c` (plugins/c) or `cli` (the command line).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS tessera EXPORT tesseraTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT cpp)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera
        COMPONENT cpp)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tesseraConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tesseraConfig.cmake
        ${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera COMPONENT cpp)
# tessera.pc takes its prefix from its own folder, so that the installed tree can be moved.
file(RELATIVE_PATH TESSERA_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
set(TESSERA_PC_PRIVATE "-pthread -lz")
if(TESSERA_WITH_CUDA)
  list(GET CUDAToolkit_LIBRARY_DIR 0 cuda_library_dir)
  string(APPEND TESSERA_PC_PRIVATE " -L${cuda_library_dir} -lcudart_static -ldl -lrt -lpthread")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT cpp)
