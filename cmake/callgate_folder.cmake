# callgate_folder(NAME [LIBRARY]): the sources of src/NAME and its subfolders go into the library (callgate, where none is
# named). What stands beside them becomes programs, which link it:
#   *_test.cpp          NAME_test
#   *_threads_test.cpp  NAME_threads_test, which runs under ThreadSanitizer too
#   *_bench.cpp         NAME_bench
function(callgate_folder name)
  set(library callgate)
  if(ARGC GREATER 1)
    set(library ${ARGV1})
  endif()
  set(callgate_inner_library ${library})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  set(threads_tests ${tests})
  list(FILTER tests EXCLUDE REGEX "_threads_test\\.cpp$")
  list(FILTER threads_tests INCLUDE REGEX "_threads_test\\.cpp$")

  target_sources(${library} PRIVATE ${sources})
  # In a large unit g++ inlines less, which costs a call 9 % (docs/decisions/0021): a release compiles what most of
  # its time goes to file by file.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT name MATCHES "^(json|schema|pipeline)$")
    callgate_join(${library} 12 ${sources})
  endif()
  if(CALLGATE_TESTS AND tests)
    callgate_test(${name}_test ${tests})
  endif()
  if(CALLGATE_TESTS AND threads_tests)
    callgate_test(${name}_threads_test ${threads_tests})
  endif()
  if(CALLGATE_BENCH AND benches)
    callgate_program(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE benchmark::benchmark_main)
  endif()
endfunction()

# callgate_join(TARGET SIZE SOURCES...): with CALLGATE_UNITY, these sources of a target are compiled together, those of one
# directory in groups of at most SIZE: headers are read, and what templates make is compiled, once for a group. So names in
# the anonymous namespaces of a directory differ from each other.
function(callgate_join target size)
  list(LENGTH ARGN sources)
  if(NOT CALLGATE_UNITY OR sources LESS 2)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    # A test of what is switched off switches it off for its whole translation unit.
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "_off_test\\.cpp$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE directory)
    cmake_path(GET directory PARENT_PATH directory)
    cmake_path(RELATIVE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${target}_${directory}" group)
    list(APPEND ${group} ${source})
    list(LENGTH ${group} count)
    math(EXPR chunk "(${count} - 1) / ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${chunk})
  endforeach()
endfunction()

# What may use a library's inner headers: callgate's, or those of the one named in callgate_inner_library.
function(callgate_inner name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  if(callgate_inner_library AND NOT callgate_inner_library STREQUAL "callgate")
    target_link_libraries(${name} PRIVATE ${callgate_inner_library} OpenSSL::SSL)
  endif()
  target_link_libraries(${name} PRIVATE callgate OpenSSL::Crypto SQLite::SQLite3 fmt::fmt PkgConfig::callgate_text)
endfunction()

# For a target that only tests run: halves the time to compile it; the library under test keeps its optimisation.
function(callgate_compile_fast name)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# What most programs of the tests include, compiled once. Nothing of ours, as in the library.
set(callgate_test_includes
  <algorithm> <array> <atomic> <chrono> <filesystem> <fstream> <functional> <future> <map> <memory> <mutex> <optional> <set>
  <span> <string> <string_view> <thread> <utility> <variant> <vector> <boost/json/value.hpp> <fmt/format.h>
  <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h> <tl/expected.hpp>)
function(callgate_precompile_test name)
  if(NOT CALLGATE_PCH OR NOT CALLGATE_TESTS)
    return()
  endif()
  if(NOT TARGET callgate_test_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cpp "")
    # An empty program, compiled as the others are.
    add_executable(callgate_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    callgate_inner(callgate_test_headers)
    target_link_libraries(callgate_test_headers PRIVATE GTest::gmock GTest::gtest_main rapidcheck)
    callgate_compile_fast(callgate_test_headers)
    target_precompile_headers(callgate_test_headers PRIVATE ${callgate_test_includes})
  endif()
  target_precompile_headers(${name} REUSE_FROM callgate_test_headers)
endfunction()

# Keeps a program that tests or benchmarks run out of the user's state directory. Compiled once for all of them.
function(callgate_own_state name)
  if(NOT TARGET callgate_own_state)
    add_library(callgate_own_state OBJECT ${PROJECT_SOURCE_DIR}/tests/support/own_state.cpp)
    target_include_directories(callgate_own_state PRIVATE ${PROJECT_SOURCE_DIR}/src)
    callgate_compile_fast(callgate_own_state)
  endif()
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:callgate_own_state>)
endfunction()

# callgate_program(NAME [OPTIMISED] SOURCES...): a program that tests or benchmarks run. OPTIMISED: it computes so much
# itself that compiling it with the library's optimisation pays.
function(callgate_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "" "")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  callgate_join(${name} 8 ${arg_UNPARSED_ARGUMENTS})
  callgate_own_state(${name})
  callgate_inner(${name})
  if(NOT arg_OPTIMISED)
    callgate_compile_fast(${name})
    callgate_precompile_test(${name})
    if(NOT name MATCHES "_test$")
      target_compile_definitions(${name} PRIVATE GTEST_HAS_PTHREAD=1)  # as programs that link GoogleTest have it
    endif()
  endif()
endfunction()

# Builds the programs that run under ThreadSanitizer, and nothing else.
add_custom_target(callgate_threads_tests)

# callgate_test(NAME SOURCES...): a GoogleTest program. ctest starts it once for every ten of its sources, as NAME or as
# shards NAME.1, NAME.2 …, and keeps its report in results/. One whose name ends in _threads_test is labelled `threads`.
function(callgate_test name)
  callgate_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck)
  set(label unit)
  if(name MATCHES "_threads_test$")
    set(label threads)
    add_dependencies(callgate_threads_tests ${name})
  endif()
  list(LENGTH ARGN sources)
  math(EXPR shards "(${sources} + 9) / 10")
  math(EXPR last "${shards} - 1")
  foreach(index RANGE ${last})
    set(test ${name})
    if(shards GREATER 1)
      math(EXPR number "${index} + 1")
      set(test ${name}.${number})
    endif()
    add_test(NAME ${test} COMMAND ${name} --gtest_output=xml:${PROJECT_BINARY_DIR}/results/${test}.xml)
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
