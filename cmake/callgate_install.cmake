# What `cmake --install` lays down: both libraries, include/callgate, the CMake package with a component for each library,
# callgate.pc and callgate-mcp.pc, licence and the schema of policies; with the program, callgate-launch, man pages and completion.
# tests/install/run.sh has the whole list.
include(CMakePackageConfigHelpers)

set(callgate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/callgate)

install(TARGETS callgate EXPORT callgate_core FILE_SET HEADERS)
install(EXPORT callgate_core NAMESPACE callgate:: FILE callgateCoreTargets.cmake DESTINATION ${callgate_package_dir})
install(TARGETS callgate_mcp EXPORT callgate_mcp FILE_SET HEADERS)
install(EXPORT callgate_mcp NAMESPACE callgate:: FILE callgateMcpTargets.cmake DESTINATION ${callgate_package_dir})

get_target_property(callgate_library_type callgate TYPE)
configure_package_config_file(cmake/callgateConfig.cmake.in ${PROJECT_BINARY_DIR}/callgateConfig.cmake
  INSTALL_DESTINATION ${callgate_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/callgateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/callgateConfig.cmake ${PROJECT_BINARY_DIR}/callgateConfigVersion.cmake
  DESTINATION ${callgate_package_dir})

# A static library cannot name its dependencies itself, so pkg-config has to, without being asked for --static.
set(callgate_pc_dependencies "libcrypto >= 3, sqlite3 >= 3.40, fmt, re2, libpcre2-8, libidn2")
set(callgate_mcp_pc_dependencies "libssl >= 3")
set(callgate_mcp_pc_requires "callgate = ${PROJECT_VERSION}")  # it uses what may change with any version
if(callgate_library_type STREQUAL "SHARED_LIBRARY")
  set(callgate_pc_requires_private ${callgate_pc_dependencies})
  set(callgate_mcp_pc_requires_private ${callgate_mcp_pc_dependencies})
else()
  set(callgate_pc_requires ${callgate_pc_dependencies})
  set(callgate_pc_libs " -lunistring -ldate-tz")
  string(APPEND callgate_mcp_pc_requires ", ${callgate_mcp_pc_dependencies}")
endif()
# The prefix is found from the file's own place, so that an installed tree can be moved.
file(RELATIVE_PATH callgate_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name callgate callgate-mcp)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/policy.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/callgate)

# callgate_install_texts(TARGET): the program's man pages and completion, as it tells them itself once it is built.
function(callgate_install_texts program)
  set(texts ${PROJECT_BINARY_DIR}/texts)
  set(script ${PROJECT_SOURCE_DIR}/cmake/callgate_texts.cmake)
  add_custom_command(OUTPUT ${texts}.stamp
    COMMAND ${CMAKE_COMMAND} -DCALLGATE=$<TARGET_FILE:${program}> -DTO=${texts} -P ${script}
    COMMAND ${CMAKE_COMMAND} -E touch ${texts}.stamp
    DEPENDS ${program} ${script}
    COMMENT "Writing the man pages and completion")
  add_custom_target(callgate_texts ALL DEPENDS ${texts}.stamp)
  install(DIRECTORY ${texts}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endfunction()
