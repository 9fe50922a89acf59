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

# callgate_program(NAME SOURCES...): a program of ours that may use the library's inner headers.
function(callgate_program name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE callgate OpenSSL::Crypto SQLite::SQLite3 fmt::fmt PkgConfig::callgate_text)
endfunction()

# Builds the programs that run under ThreadSanitizer, and nothing else.
add_custom_target(callgate_threads_tests)

# callgate_test(NAME SOURCES...): a GoogleTest program, its cases known to ctest one by one as NAME.Suite.Case.
# One whose name ends in _threads_test is labelled `threads`.
function(callgate_test name)
  callgate_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # Halves the time to compile them; the library under test keeps its optimisation.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  set(label unit)
  if(name MATCHES "_threads_test$")
    set(label threads)
    add_dependencies(callgate_threads_tests ${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
