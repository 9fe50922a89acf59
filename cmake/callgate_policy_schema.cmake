# docs/policy.schema.json becomes part of the library, as policy_schema().
set(callgate_policy_schema_file ${PROJECT_SOURCE_DIR}/docs/policy.schema.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${callgate_policy_schema_file})
file(READ ${callgate_policy_schema_file} callgate_policy_schema)
configure_file(${PROJECT_SOURCE_DIR}/src/policy/policy_schema.cpp.in ${PROJECT_BINARY_DIR}/policy_schema.cpp @ONLY)
target_sources(callgate PRIVATE ${PROJECT_BINARY_DIR}/policy_schema.cpp)
