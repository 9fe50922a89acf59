# callgate_folder(NAME): the sources of src/NAME and its subfolders go into the library. What stands beside them becomes programs:
#   *_test.cpp          NAME_test
#   *_threads_test.cpp  NAME_threads_test, which runs under ThreadSanitizer too
#   *_bench.cpp         NAME_bench
function(callgate_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  set(threads_tests ${tests})
  list(FILTER tests EXCLUDE REGEX "_threads_test\\.cpp$")
  list(FILTER threads_tests INCLUDE REGEX "_threads_test\\.cpp$")

  target_sources(callgate PRIVATE ${sources})
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

# What may use the library's inner headers.
function(callgate_inner name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE callgate OpenSSL::Crypto SQLite::SQLite3 fmt::fmt PkgConfig::callgate_text)
endfunction()

# callgate_program(NAME SOURCES...): a program that tests or benchmarks run; it keeps out of the user's state directory.
function(callgate_program name)
  add_executable(${name} ${ARGN} ${PROJECT_SOURCE_DIR}/tests/support/own_state.cpp)
  callgate_inner(${name})
endfunction()

# For a target that only tests run: halves the time to compile it; the library under test keeps its optimisation.
function(callgate_compile_fast name)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# What most tests include, compiled once. Nothing of ours, as in the library.
set(callgate_test_includes
  <algorithm> <array> <atomic> <chrono> <filesystem> <fstream> <functional> <future> <map> <memory> <mutex> <optional> <set>
  <span> <string> <string_view> <thread> <utility> <variant> <vector> <boost/json/value.hpp> <fmt/format.h>
  <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h> <tl/expected.hpp>)
function(callgate_precompile_test name)
  if(NOT CALLGATE_PCH)
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

# Builds the programs that run under ThreadSanitizer, and nothing else.
add_custom_target(callgate_threads_tests)

# callgate_test(NAME SOURCES...): a GoogleTest program, its cases known to ctest one by one as NAME.Suite.Case.
# One whose name ends in _threads_test is labelled `threads`.
function(callgate_test name)
  callgate_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck)
  callgate_compile_fast(${name})
  callgate_precompile_test(${name})
  set(label unit)
  if(name MATCHES "_threads_test$")
    set(label threads)
    add_dependencies(callgate_threads_tests ${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
